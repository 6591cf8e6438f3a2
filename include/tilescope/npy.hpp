// NumPy's .npy files: one array each, read through a mapping and written in place.
//
//     const tilescope::NpyFile file("A.npy");
//     const tilescope::ConstMatrixView a = tilescope::require_matrix(file);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilescope/matrix.hpp"
#include "tilescope/types.hpp"

namespace tilescope {

/// The contents of a .npy header.
struct NpyHeader {
  DataType type = DataType::float32;  ///< never bfloat16: NumPy has no such type
  bool fortran_order = false;         ///< the first index runs fastest, not the last
  std::vector<std::uint64_t> shape;   ///< extents; none for a single number

  std::uint64_t count() const;  ///< elements: the product of the extents, 1 without any
  std::uint64_t bytes() const;  ///< bytes of the elements, without the header
  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

/// The shape as Python writes it: "(3, 5)", "(7,)", "()".
std::string shape_text(const NpyHeader& header);

/// An array in a .npy file, versions 1.0 to 3.0, any number of dimensions, little-endian bool,
/// integer and floating-point types. The file is mapped: a page is read when it is touched, and
/// nothing is copied (except files whose elements lie at odd offsets, which NumPy does not write).
///
/// The constructor reads the header only. Throws Error(bad_input), one line with the file, the rule
/// and the value, for an unsupported file, or one that is shorter or longer than its header says.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path);
  ~NpyFile();
  NpyFile(NpyFile&&) noexcept;
  NpyFile& operator=(NpyFile&&) noexcept;

  const std::string& path() const noexcept;
  const NpyHeader& header() const noexcept { return header_; }

  /// The elements, aligned for their type. Valid as long as this object exists.
  std::span<const std::byte> data() const noexcept { return data_; }

  /// Throws Error(bad_input) if the file was written to after it was opened: results computed from
  /// it are then worthless. Call it after the work, before the results are kept.
  void require_unchanged() const;

 private:
  struct Source;
  std::unique_ptr<Source> source_;
  NpyHeader header_;
  std::span<const std::byte> data_;
};

/// The array as a matrix. Throws Error(bad_input) unless it has two dimensions.
ConstMatrixView require_matrix(const NpyFile& file);

/// The array as a list. Throws Error(bad_input) unless it has one dimension. Returns its length.
std::uint64_t require_list(const NpyFile& file);

/// Writes a .npy file, byte for byte as numpy.save writes the same array. The file appears under
/// its name only when `commit` succeeds; until then an existing file keeps its contents. An
/// interrupted or failed write leaves nothing.
///
/// The constructor does everything that can fail before the work: it checks the target, creates a
/// temporary file beside it and reserves the disk space. Errors: bad_input, one line; usage for the
/// name "-", bfloat16, or a shape whose bytes do not fit in 63 bits.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, const NpyHeader& header);
  ~NpyWriter();
  NpyWriter(NpyWriter&&) noexcept;
  NpyWriter& operator=(NpyWriter&&) noexcept;

  const NpyHeader& header() const noexcept { return header_; }

  /// Makes data() cheaper to write in an order of its own, as a product's sums are: the system then
  /// keeps the file in large pieces. Not for elements written one behind the other. Before data().
  void fill_with_zeros();

  /// The elements in the file, zero at first, for writing in place. Valid until `commit`.
  std::span<std::byte> data();

  /// Writes the elements in the order of the file, piece by piece; the alternative to data().
  void append(std::span<const std::byte> elements);

  /// Completes the file. Throws Error(usage) if `append` was used and did not fill it.
  void commit();

 private:
  struct Target;
  std::unique_ptr<Target> target_;
  NpyHeader header_;
};

/// The writer's elements as a matrix view. Throws Error(usage) unless the header has two
/// dimensions.
MatrixView writable_matrix(NpyWriter& writer);

/// A header for a `rows` x `columns` matrix.
NpyHeader npy_matrix_header(DataType type, std::int64_t rows, std::int64_t columns,
                            Order order = Order::row_major);

}  // namespace tilescope
