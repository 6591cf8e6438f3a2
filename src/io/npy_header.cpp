#include "io/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "io/npy_types.hpp"

namespace tilescope {

std::uint64_t NpyHeader::count() const {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : shape) product *= extent;
  return product;
}

std::uint64_t NpyHeader::bytes() const {
  return count() * size_of(type);
}

std::string shape_text(const NpyHeader& header) {
  return fmt::format("({}{})", fmt::join(header.shape, ", "), header.shape.size() == 1 ? "," : "");
}

}  // namespace tilescope

namespace tilescope::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;
// NumPy itself takes 10,000 bytes; a plain array of 64 dimensions needs less than 1,500.
constexpr std::uint64_t longest_header = 65536;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw input_error("{}: {}", quoted(path), why);
}

std::string read_text(const FileDescriptor& file, const std::string& path, std::uint64_t offset,
                      std::uint64_t size) {
  std::string text(static_cast<std::size_t>(size), '\0');
  text.resize(read_at(file, path, offset, std::as_writable_bytes(std::span(text))));
  return text;
}

void check_magic(std::string_view front, const std::string& path) {
  if (front.empty()) refuse(path, "the file is empty, and a .npy file is needed");
  if (front.substr(0, magic.size()) == magic) return;
  if (magic.substr(0, front.size()) == front) {
    refuse(path, fmt::format("the .npy header is truncated: the file has {} bytes; copy it again",
                             front.size()));
  }
  const std::string known = recognise(front);
  refuse(path, "not a .npy file" + (known.empty() ? "; save the array with numpy.save"
                                                  : ": it looks like " + known));
}

// NumPy's way to tell which order a shape has: with at most one extent above 1, or none at all,
// both orders are the same, and "C" is written.
bool order_matters(const NpyHeader& header) {
  if (header.count() == 0) return false;
  return std::count_if(header.shape.begin(), header.shape.end(),
                       [](std::uint64_t extent) { return extent > 1; }) > 1;
}

}  // namespace

bool bytes_fit(const NpyHeader& header) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = size_of(header.type);
  for (const std::uint64_t extent : header.shape) {
    if (extent == 0) continue;  // as in NumPy: a part of an empty array would wrap around
    if (bytes > largest / extent) return false;
    bytes *= extent;
  }
  return true;
}

NpyLayout read_npy_layout(const FileDescriptor& file, const std::string& path,
                          std::uint64_t file_size) {
  const std::string front = read_text(file, path, 0, std::min<std::uint64_t>(file_size, 64));
  check_magic(front, path);
  const auto truncated = [&](std::uint64_t need) {
    refuse(path, fmt::format("the .npy header is truncated: it needs {} bytes, and the file has {};"
                             " copy it again",
                             format_count(need), format_count(file_size)));
  };
  const auto byte = [&front](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(front[i]));
  };
  if (front.size() < 8) truncated(10);
  const auto major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(path, fmt::format("version {}.{} of the .npy format is not supported, only 1.0, 2.0 and "
                             "3.0; save it again with numpy.save",
                             major, minor));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::uint64_t text_begin = 8 + length_bytes;
  if (front.size() < text_begin) truncated(text_begin);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(8 + i) << (8 * i);
  if (length > file_size - text_begin) truncated(text_begin + length);
  if (length > longest_header) {
    refuse(path, fmt::format("the .npy header claims {} bytes, and at most {} are accepted",
                             format_count(length), format_count(longest_header)));
  }
  const std::string text = read_text(file, path, text_begin, length);
  if (text.size() < length) truncated(text_begin + length);

  NpyLayout layout{.header = parse_npy_dictionary(text, path), .data_offset = text_begin + length};
  const NpyHeader& header = layout.header;
  if (!bytes_fit(header)) {
    refuse(path, fmt::format("the shape {} of {} does not fit in 63 bits of bytes",
                             printable(shape_text(header), 100), name_of(header.type)));
  }
  const std::uint64_t found = file_size - layout.data_offset;
  if (found != header.bytes()) {
    refuse(path, fmt::format("{}: shape {} of {} needs {} bytes of data, and the file has {}; {}",
                             found < header.bytes() ? "the file is truncated"
                                                    : "the file is longer than its header says",
                             printable(shape_text(header), 100), name_of(header.type),
                             format_count(header.bytes()), format_count(found),
                             found < header.bytes() ? "copy it again" : "save it with numpy.save"));
  }
  return layout;
}

std::string npy_front(const NpyHeader& header) {
  std::string text = fmt::format(
      "{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr_of(header.type),
      header.fortran_order && order_matters(header) ? "True" : "False", shape_text(header));
  // NumPy leaves room for the extent that grows when an array is appended to: up to 21 digits.
  if (!header.shape.empty()) {
    constexpr std::size_t growth_digits = 21;
    const bool last = header.fortran_order && order_matters(header);
    const std::uint64_t growing = last ? header.shape.back() : header.shape.front();
    text.append(growth_digits - fmt::format("{}", growing).size(), ' ');
  }
  const std::size_t prefix = magic.size() + 2 + 2;
  const std::size_t unpadded = prefix + text.size() + 1;
  text.append(alignment - unpadded % alignment, ' ');
  text += '\n';
  std::string front(magic);
  front += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return front + text;
}

}  // namespace tilescope::io
