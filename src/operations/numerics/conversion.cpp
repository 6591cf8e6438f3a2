#include "operations/numerics/conversion.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/float8.hpp"
#include "base/half.hpp"
#include "base/parallel.hpp"

namespace tilescope::operations {
namespace {

// A tile of this side is converted at once: when the orders differ, both its rows and its columns
// stay in the L1 cache.
constexpr std::int64_t tile = 64;

const std::byte* address(const ConstMatrixView& matrix, std::int64_t row, std::int64_t column) {
  const std::int64_t offset = matrix.order == Order::row_major ? row * matrix.leading + column
                                                               : column * matrix.leading + row;
  return static_cast<const std::byte*>(matrix.data) +
         static_cast<std::size_t>(offset) * size_of(matrix.type);
}

double element(const ConstMatrixView& matrix, std::int64_t row, std::int64_t column) {
  const std::byte* at = address(matrix, row, column);
  const auto read = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (matrix.type) {
    case DataType::float16:
      return float16_to_float32(read(std::uint16_t{}));
    case DataType::bfloat16:
      return bfloat16_to_float32(read(std::uint16_t{}));
    case DataType::float8_e4m3:
      return e4m3_to_float32(read(std::uint8_t{}));
    case DataType::float8_e5m2:
      return e5m2_to_float32(read(std::uint8_t{}));
    case DataType::int8:
      return read(std::int8_t{});
    case DataType::float64:
      return read(double{});
    default:
      return read(float{});
  }
}

void set_element(const MatrixView& matrix, std::int64_t row, std::int64_t column, double value) {
  auto* at = const_cast<std::byte*>(address(matrix, row, column));
  const auto write = [at](const auto& converted) { std::memcpy(at, &converted, sizeof converted); };
  switch (matrix.type) {
    case DataType::float16:
      return write(float64_to_float16(value));
    case DataType::bfloat16:
      return write(float64_to_bfloat16(value));
    case DataType::float8_e4m3:
      return write(float64_to_e4m3(value));
    case DataType::float8_e5m2:
      return write(float64_to_e5m2(value));
    case DataType::float64:
      return write(value);
    default:
      return write(static_cast<float>(value));
  }
}

template <typename From, typename To>
std::span<To> vector_of(const From& matrix, std::int64_t index, To*) {
  const bool by_rows = matrix.order == Order::row_major;
  auto* first = const_cast<std::byte*>(address(matrix, by_rows ? index : 0, by_rows ? 0 : index));
  return {reinterpret_cast<To*>(first), static_cast<std::size_t>(matrix.vector_length())};
}

/// Handles equal types, or 16-bit and single, in the same order: whole vectors at memory speed.
/// Returns false for any other case.
bool convert_vectors(const ConstMatrixView& from, const MatrixView& to) {
  if (from.order != to.order) return false;
  // Several short vectors at once: a small matrix is not worth a second thread.
  const std::int64_t group = std::max<std::int64_t>(1, (1 << 14) / from.vector_length());
  const auto each_vector = [&](const auto& body) {
    const std::int64_t groups = (from.vectors() + group - 1) / group;
    parallel_for(static_cast<std::size_t>(groups), [&](std::size_t index) {
      const std::int64_t start = static_cast<std::int64_t>(index) * group;
      for (std::int64_t i = start; i < std::min(start + group, from.vectors()); ++i) body(i);
    });
    return true;
  };
  if (from.type == to.type) {
    const std::size_t bytes = static_cast<std::size_t>(from.vector_length()) * size_of(from.type);
    return each_vector([&](std::int64_t i) {
      const bool by_rows = from.order == Order::row_major;
      const std::int64_t row = by_rows ? i : 0, column = by_rows ? 0 : i;
      std::memcpy(const_cast<std::byte*>(address(to, row, column)), address(from, row, column),
                  bytes);
    });
  }
  constexpr std::uint16_t* half = nullptr;
  constexpr float* single = nullptr;
  const bool brain = from.type == DataType::bfloat16 || to.type == DataType::bfloat16;
  if (size_of(from.type) == sizeof *half && to.type == DataType::float32) {
    return each_vector([&](std::int64_t i) {
      const std::span<const std::uint16_t> narrow = vector_of(from, i, half);
      const std::span<float> wide = vector_of(to, i, single);
      brain ? bfloat16_to_float32(narrow, wide) : float16_to_float32(narrow, wide);
    });
  }
  if (from.type == DataType::float32 && size_of(to.type) == sizeof *half) {
    return each_vector([&](std::int64_t i) {
      const std::span<const float> wide = vector_of(from, i, single);
      const std::span<std::uint16_t> narrow = vector_of(to, i, half);
      brain ? float32_to_bfloat16(wide, narrow) : float32_to_float16(wide, narrow);
    });
  }
  return false;
}

template <typename View>
View part_of(View matrix, std::int64_t row, std::int64_t rows, std::int64_t column,
             std::int64_t columns) {
  matrix.data = address(matrix, row, column);
  matrix.rows = rows;
  matrix.columns = columns;
  return matrix;
}

}  // namespace

ConstMatrixView part(ConstMatrixView matrix, std::int64_t row, std::int64_t rows,
                     std::int64_t column, std::int64_t columns) {
  return part_of(matrix, row, rows, column, columns);
}

MatrixView part(MatrixView matrix, std::int64_t row, std::int64_t rows, std::int64_t column,
                std::int64_t columns) {
  return part_of(matrix, row, rows, column, columns);
}

ConstArrayView part(const ConstArrayView& list, std::size_t first, std::size_t count) {
  return {list.type, count, static_cast<const std::byte*>(list.data) + first * size_of(list.type)};
}

ArrayView part(const ArrayView& list, std::size_t first, std::size_t count) {
  return {list.type, count,
          static_cast<std::byte*>(list.mutable_data()) + first * size_of(list.type)};
}

void convert_matrix(const ConstMatrixView& from, const MatrixView& to) {
  if (from.empty() || convert_vectors(from, to)) return;
  const std::int64_t tiles_across = (from.columns + tile - 1) / tile;
  const std::int64_t tiles_down = (from.rows + tile - 1) / tile;
  parallel_for(static_cast<std::size_t>(tiles_across * tiles_down), [&](std::size_t index) {
    const std::int64_t row = static_cast<std::int64_t>(index) / tiles_across * tile;
    const std::int64_t column = static_cast<std::int64_t>(index) % tiles_across * tile;
    for (std::int64_t i = row; i < std::min(row + tile, from.rows); ++i) {
      for (std::int64_t j = column; j < std::min(column + tile, from.columns); ++j) {
        set_element(to, i, j, element(from, i, j));
      }
    }
  });
}

ConvertedMatrix::ConvertedMatrix(const ConstMatrixView& matrix, DataType type, Order order)
    : view_(matrix) {
  if (matrix.type == type && matrix.order == order) return;
  copy_.resize(static_cast<std::size_t>(matrix.rows * matrix.columns) * size_of(type));
  const MatrixView copy =
      dense_view(static_cast<void*>(copy_.data()), type, matrix.rows, matrix.columns, order);
  convert_matrix(matrix, copy);
  view_ = copy;
}

}  // namespace tilescope::operations
