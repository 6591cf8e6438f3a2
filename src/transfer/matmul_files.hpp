// The operands of a product in files: matrices or batches of them, a bias, a matrix to which the
// product is added.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/npy.hpp>
#include <vector>

namespace tilescope::transfer {

/// Paths; empty: none.
struct MatmulFiles {
  std::string a, b, accumulate, bias, scale_a, scale_b;
  bool transpose_a = false, transpose_b = false;
  /// The type whose bits A and B hold in files of uint8; nothing: such files are refused.
  std::optional<DataType> bytes_hold = {};
};

/// The files, opened and checked. Throws Error(bad_input) for files, types and numbers of
/// dimensions that matmul does not take, Error(usage) for shapes that do not fit together.
class MatmulInputs {
 public:
  explicit MatmulInputs(const MatmulFiles& files);

  const MatmulFiles& files() const { return files_; }
  /// Both have the same number of matrices; a single matrix beside a batch is repeated.
  const ConstMatrixBatch& a() const { return a_; }
  const ConstMatrixBatch& b() const { return b_; }
  /// Whether one of them has three dimensions: the product then has three too.
  bool is_batch() const { return is_batch_; }
  /// Whether the product is one of whole numbers.
  bool is_integer() const { return type_ == DataType::int32; }
  MatmulShape shape() const { return product_shape(a_.first, b_.first); }
  /// The type of the result: the widest of A, B and the matrix to which it is added.
  DataType type() const { return type_; }
  std::span<const float> bias() const { return bias_; }
  OperandScales scale_a() const { return scale_a_.scales(); }
  OperandScales scale_b() const { return scale_b_.scales(); }

  /// The header of the result's file.
  NpyHeader header(Order order) const;
  /// The result's elements, in a file with that header. The matrix to which the product is added is
  /// copied there.
  MatrixBatch start(NpyWriter& writer) const;
  /// Copies the matrix to which the product is added, if there is one, to `c`.
  void copy_accumulated(const MatrixBatch& c) const;

  /// The bytes for operands and result on a GPU whose memory does not hold them all; 0: it does.
  /// `tiles_can`: products in tiles serve, so copies of the operands should fit too.
  std::size_t memory_limit(const Device& device, bool tiles_can) const;

  void require_unchanged() const;

 private:
  MatmulFiles files_;
  NpyFile a_file_, b_file_;
  std::optional<NpyFile> c_file_;
  ConstMatrixBatch a_, b_;
  bool is_batch_ = false;
  DataType type_ = DataType::float32;
  std::vector<float> bias_;
  struct Scales {
    std::vector<float> values;
    std::int64_t rows = 0, columns = 0;
    OperandScales scales() const { return {values, rows, columns}; }
  };
  static Scales read_scales(const std::string& path, bool is_a);
  Scales scale_a_, scale_b_;
};

}  // namespace tilescope::transfer
