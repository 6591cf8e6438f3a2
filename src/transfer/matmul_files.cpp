#include "transfer/matmul_files.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "operations/gemm/problem/host_problem.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/host_array.hpp"
#include "transfer/streamed.hpp"

namespace tilescope::transfer {
namespace {

[[noreturn]] void refuse_type(const NpyFile& file) {
  const DataType type = file.header().type;
  throw input_error(
      "{}: its elements are {}; matmul takes float16, float32 and float64 (in NumPy: "
      "a.astype('<f4')){}",
      quoted(file.path()), name_of(type),
      type == DataType::uint8 ? "; bytes are 8-bit floats with --precision fp8_e4m3 or fp8_e5m2"
                              : "");
}

void require_floating(const NpyFile& file) {
  if (!is_floating(file.header().type)) refuse_type(file);
}

bool has_batch(const NpyFile& file) {
  return file.header().shape.size() == 3;
}

// An array of three dimensions is a batch along the first of them.
ConstMatrixBatch batch_of(const NpyFile& file) {
  if (!has_batch(file)) return {.first = require_matrix(file)};
  const NpyHeader& header = file.header();
  if (header.fortran_order) {
    throw input_error(
        "{}: a batch of matrices must lie in C order, one behind the other; save "
        "numpy.ascontiguousarray(a)",
        quoted(file.path()));
  }
  const auto extent = [&](std::size_t i) { return static_cast<std::int64_t>(header.shape[i]); };
  return {.first = dense_view(file.data().data(), header.type, extent(1), extent(2)),
          .count = extent(0),
          .stride = extent(1) * extent(2)};
}

// Whole numbers multiply whole numbers; the product's own checks say so.
ConstMatrixBatch operand_of(const NpyFile& file, bool transposed,
                            const std::optional<DataType>& bytes_hold) {
  ConstMatrixBatch batch = batch_of(file);
  if (batch.first.type == DataType::uint8 && bytes_hold) batch.first.type = *bytes_hold;
  const DataType type = batch.first.type;
  if (!is_floating(type) && !is_float8(type) && type != DataType::int8) refuse_type(file);
  if (transposed) {
    std::swap(batch.first.rows, batch.first.columns);
    batch.first.order =
        batch.first.order == Order::row_major ? Order::column_major : Order::row_major;
  }
  return batch;
}

// Messages name the files instead of "A" and "B".
void require_fit(const MatmulFiles& files, const ConstMatrixBatch& a, const ConstMatrixBatch& b) {
  const auto name = [](const std::string& path, bool transposed) {
    return quoted(path) + (transposed ? " transposed" : "");
  };
  const std::string a_name = name(files.a, files.transpose_a);
  const std::string b_name = name(files.b, files.transpose_b);
  if (a.first.columns != b.first.rows) {
    throw usage_error(
        "{} is {} and {} is {}: the first's {} columns must equal the second's {} rows", a_name,
        shape_text(a.first), b_name, shape_text(b.first), a.first.columns, b.first.rows);
  }
  if (a.count != b.count) {
    throw usage_error("{} has {} matrices and {} has {}: batches need equally many", a_name,
                      a.count, b_name, b.count);
  }
}

std::vector<float> read_bias(const std::string& path, std::int64_t columns) {
  const NpyFile file(path);
  require_floating(file);
  if (const std::uint64_t values = require_list(file);
      values != static_cast<std::uint64_t>(columns)) {
    throw usage_error(
        "{} has {} values: a bias needs one for each of the {} columns of the product",
        quoted(path), values, columns);
  }
  std::vector<double> wide(static_cast<std::size_t>(columns));
  operations::widen({file.header().type, wide.size(), file.data().data()}, 0, wide);
  return {wide.begin(), wide.end()};
}

}  // namespace

MatmulInputs::MatmulInputs(const MatmulFiles& files)
    : files_(files),
      a_file_(files.a),
      b_file_(files.b),
      a_(operand_of(a_file_, files.transpose_a, files.bytes_hold)),
      b_(operand_of(b_file_, files.transpose_b, files.bytes_hold)),
      is_batch_(has_batch(a_file_) || has_batch(b_file_)),
      type_(product_type(a_.first.type, b_.first.type)) {
  if (!has_batch(a_file_)) a_.count = b_.count;
  if (!has_batch(b_file_)) b_.count = a_.count;
  require_fit(files, a_, b_);
  if (!files.bias.empty()) bias_ = read_bias(files.bias, shape().n);
  if (!files.scale_a.empty()) scale_a_ = read_scales(files.scale_a, true);
  if (!files.scale_b.empty()) scale_b_ = read_scales(files.scale_b, false);
  if (files.accumulate.empty()) return;
  c_file_.emplace(files.accumulate);
  require_floating(*c_file_);
  type_ = product_type(type_, c_file_->header().type);
  const NpyHeader wanted = header(Order::row_major);
  if (c_file_->header().shape != wanted.shape) {
    throw usage_error(
        "{} has shape {} and the product {}: the matrix to which it is added must have the "
        "product's shape",
        quoted(files.accumulate), shape_text(c_file_->header()), shape_text(wanted));
  }
  batch_of(*c_file_);  // refuses a batch in an unsupported order now
}

// A number is one of the matrix, a list has one for each row of A or column of B.
MatmulInputs::Scales MatmulInputs::read_scales(const std::string& path, bool is_a) {
  const NpyFile file(path);
  require_floating(file);
  const NpyHeader& header = file.header();
  const auto extent = [&](std::size_t i) { return static_cast<std::int64_t>(header.shape[i]); };
  Scales scales{.values = {}, .rows = 1, .columns = 1};
  switch (header.shape.size()) {
    case 0:
      break;
    case 1:
      (is_a ? scales.rows : scales.columns) = extent(0);
      break;
    case 2:
      scales.rows = extent(0);
      scales.columns = extent(1);
      break;
    default:
      throw input_error("{}: scales have at most two dimensions, not {}", quoted(path),
                        header.shape.size());
  }
  if (scales.rows * scales.columns == 0) throw input_error("{} has no scales", quoted(path));
  scales.values.resize(static_cast<std::size_t>(scales.rows * scales.columns));
  const Order order = header.fortran_order ? Order::column_major : Order::row_major;
  operations::convert_matrix(
      dense_view(file.data().data(), header.type, scales.rows, scales.columns, order),
      dense_view(static_cast<void*>(scales.values.data()), DataType::float32, scales.rows,
                 scales.columns));
  return scales;
}

NpyHeader MatmulInputs::header(Order order) const {
  NpyHeader header = npy_matrix_header(type_, shape().m, shape().n, order);
  if (is_batch_) {
    header.shape.insert(header.shape.begin(), static_cast<std::uint64_t>(a_.count));
  }
  return header;
}

MatrixBatch MatmulInputs::start(NpyWriter& writer) const {
  const Order order = writer.header().fortran_order ? Order::column_major : Order::row_major;
  const MatrixBatch c{.first = dense_view(static_cast<void*>(writer.data().data()), type_,
                                          shape().m, shape().n, order),
                      .count = a_.count,
                      .stride = shape().m * shape().n};
  copy_accumulated(c);
  return c;
}

void MatmulInputs::copy_accumulated(const MatrixBatch& c) const {
  if (!c_file_) return;
  const ConstMatrixBatch from = batch_of(*c_file_);
  for (std::int64_t i = 0; i < c.count; ++i) {
    operations::convert_matrix(operations::matrix_of(from, i), operations::matrix_of(c, i));
  }
}

std::size_t MatmulInputs::memory_limit(const Device& device, bool tiles_can) const {
  const auto elements = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y);
  };
  const double operands = elements(shape().m, shape().k) + elements(shape().k, shape().n);
  // The fastest kernels may copy both operands into another layout. If there is no room for that,
  // tiles are better, as long as they can do the product.
  const double needed = (operands * (tiles_can ? 2.0 : 1.0) + elements(shape().m, shape().n)) *
                        static_cast<double>(a_.count) *
                        static_cast<double>(std::max(size_of(type_), sizeof(float)));
  return memory_limit_of(device, needed);
}

void MatmulInputs::require_unchanged() const {
  a_file_.require_unchanged();
  b_file_.require_unchanged();
  if (c_file_) c_file_->require_unchanged();
}

}  // namespace tilescope::transfer
