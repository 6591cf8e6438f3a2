// The text at the front of a .npy file: a Python literal, read strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/npy.hpp>

#include "base/file.hpp"

namespace tilescope::io {

/// A header and where the elements begin.
struct NpyLayout {
  NpyHeader header;
  std::uint64_t data_offset = 0;
};

/// Reads and checks the front of an open file of `file_size` bytes, and that its size is the one
/// the header announces. Throws Error(bad_input).
NpyLayout read_npy_layout(const FileDescriptor& file, const std::string& path,
                          std::uint64_t file_size);

/// Parses the dictionary, the part after magic, version and length. Throws Error(bad_input) whose
/// text begins with `path`.
NpyHeader parse_npy_dictionary(std::string_view text, const std::string& path);

/// Everything before the elements, byte for byte as numpy.save writes it: version 1.0, padded with
/// spaces to a multiple of 64 bytes.
std::string npy_front(const NpyHeader& header);

/// Whether the number of elements times the size of one fits in 63 bits, for every part of the
/// shape too: extents of 0 do not count, as in NumPy.
bool bytes_fit(const NpyHeader& header);

/// A description of a file that begins with `front`, for a message: "a PNG picture", and what to do
/// about it. Empty if unknown.
std::string recognise(std::string_view front);

}  // namespace tilescope::io
