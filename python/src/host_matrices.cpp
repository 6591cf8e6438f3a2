#include "host_matrices.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::python {
namespace {

/// Elements between the rows of a matrix whose rows are dense; nothing if it has others.
std::optional<std::int64_t> leading_of(std::int64_t vectors, std::int64_t length,
                                       std::int64_t between_vectors,
                                       std::int64_t between_elements) {
  if (length > 1 && between_elements != 1) return std::nullopt;
  if (vectors <= 1) return std::max<std::int64_t>(length, 1);
  if (between_vectors < std::max<std::int64_t>(length, 1)) return std::nullopt;
  return between_vectors;
}

}  // namespace

MatrixLayout dense_layout(const Tensor& tensor, void* data) {
  const std::size_t row = tensor.rank() - 2;
  const std::int64_t rows = tensor.extent(row), columns = tensor.extent(row + 1);
  MatrixLayout layout;
  layout.first = dense_view(static_cast<const void*>(data), tensor.type(), rows, columns);
  if (tensor.rank() == 3) {
    layout.count = tensor.extent(0);
    layout.stride = rows * columns;
  }
  return layout;
}

std::optional<MatrixLayout> layout_of(const Tensor& tensor, bool is_result) {
  if (tensor.count() == 0) return dense_layout(tensor, tensor.data());
  MatrixLayout layout = dense_layout(tensor, tensor.data());
  const std::size_t row = tensor.rank() - 2;
  ConstMatrixView& first = layout.first;
  const std::int64_t row_step = tensor.stride(row), column_step = tensor.stride(row + 1);
  if (const auto by_rows = leading_of(first.rows, first.columns, row_step, column_step)) {
    first.leading = *by_rows;
  } else if (const auto by_columns = leading_of(first.columns, first.rows, column_step, row_step)) {
    first.order = Order::column_major;
    first.leading = *by_columns;
  } else {
    return std::nullopt;
  }
  if (layout.count > 1) {
    layout.stride = tensor.stride(0);
    const std::int64_t extent = (first.vectors() - 1) * first.leading + first.vector_length();
    if (layout.stride < (is_result ? extent : 0)) return std::nullopt;
  } else {
    layout.stride = 0;
  }
  return layout;
}

ConstMatrixBatch batch_of(const MatrixLayout& layout, std::int64_t count) {
  return {layout.first, layout.count == 1 ? count : layout.count,
          layout.count == 1 ? 0 : layout.stride};
}

void require_matrices(const Tensor& tensor) {
  const DataType type = tensor.type();
  if (!is_floating(type) && !is_float8(type) && type != DataType::int8 && type != DataType::int32) {
    throw nb::type_error(fmt::format("{} has elements of type {}; a product takes float16, "
                                     "bfloat16, float32 and float64 (x.astype('float32')), "
                                     "float8_e4m3fn, float8_e5m2 and int8",
                                     tensor.name(), name_of(tensor.type()))
                             .c_str());
  }
  if (tensor.rank() != 2 && tensor.rank() != 3) {
    throw nb::value_error(fmt::format("{} has {} dimensions; expected a matrix, or a batch of "
                                      "matrices with 3 dimensions",
                                      tensor.name(), tensor.rank())
                              .c_str());
  }
}

HostOperand::HostOperand(const Tensor& tensor) {
  if (const std::optional<MatrixLayout> there = layout_of(tensor, false)) {
    layout_ = *there;
    return;
  }
  copy_.resize(static_cast<std::size_t>(tensor.count()) * size_of(tensor.type()));
  tensor.gather(copy_.data());
  layout_ = dense_layout(tensor, copy_.data());
}

}  // namespace tilescope::python
