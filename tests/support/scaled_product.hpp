// Products of 8-bit floats with factors of A and B, beside sums in float64.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <tilescope/matmul.hpp>
#include <vector>

#include "base/float8.hpp"
#include "operations/gemm/problem/accuracy.hpp"

namespace tilescope::testing {

constexpr std::int64_t scale_block = 128;
inline std::int64_t scale_blocks_of(std::int64_t count) {
  return (count + scale_block - 1) / scale_block;
}

enum class ScaleKind { none, matrix, vectors, blocks };
constexpr ScaleKind scale_kinds[] = {ScaleKind::none, ScaleKind::matrix, ScaleKind::vectors,
                                     ScaleKind::blocks};

struct Factors {
  std::vector<float> values;
  std::int64_t rows = 0, columns = 0;
  OperandScales scales() const { return {values, rows, columns}; }
};

// A product, its operands and factors. Factors differ by up to 2^8, so that a wrong one shows.
struct ScaledProduct {
  MatmulShape shape;
  ScaleKind of_a, of_b;
  Order a_order = Order::row_major, b_order = Order::row_major, c_order = Order::row_major;
  double beta = 0.0;
  std::vector<std::uint8_t> a, b;
  std::vector<float> c, bias;
  Factors scale_a, scale_b;
  std::mt19937 generator{5};

  ScaledProduct(const MatmulShape& of, ScaleKind a_kind, ScaleKind b_kind)
      : shape(of), of_a(a_kind), of_b(b_kind) {
    std::uniform_real_distribution<double> values(-4.0, 4.0);
    const auto fill = [&](std::vector<std::uint8_t>& list, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) list.push_back(float64_to_e4m3(values(generator)));
    };
    fill(a, of.m * of.k);
    fill(b, of.k * of.n);
    c.assign(static_cast<std::size_t>(of.m * of.n), std::nanf(""));
    scale_a = factors(a_kind, of.m, 1, of.m, scale_blocks_of(of.k));
    scale_b = factors(b_kind, 1, of.n, scale_blocks_of(of.k), scale_blocks_of(of.n));
  }

  Factors factors(ScaleKind kind, std::int64_t rows, std::int64_t columns, std::int64_t block_rows,
                  std::int64_t block_columns) {
    Factors made;
    if (kind == ScaleKind::none) return made;
    made.rows = kind == ScaleKind::matrix ? 1 : kind == ScaleKind::vectors ? rows : block_rows;
    made.columns = kind == ScaleKind::matrix    ? 1
                   : kind == ScaleKind::vectors ? columns
                                                : block_columns;
    std::uniform_real_distribution<double> exponents(-4.0, 4.0);
    for (std::int64_t i = 0; i < made.rows * made.columns; ++i) {
      made.values.push_back(static_cast<float>(std::exp2(exponents(generator))));
    }
    return made;
  }

  double element_of_a(std::int64_t i, std::int64_t l) const {
    const std::int64_t at = a_order == Order::row_major ? i * shape.k + l : l * shape.m + i;
    const double x = e4m3_to_float32(a[static_cast<std::size_t>(at)]);
    if (of_a == ScaleKind::none) return x;
    const std::int64_t row = of_a == ScaleKind::matrix ? 0 : i,
                       step = of_a == ScaleKind::blocks ? l / scale_block : 0;
    return x * double(scale_a.values[static_cast<std::size_t>(row * scale_a.columns + step)]);
  }
  double element_of_b(std::int64_t l, std::int64_t j) const {
    const std::int64_t at = b_order == Order::row_major ? l * shape.n + j : j * shape.k + l;
    const double x = e4m3_to_float32(b[static_cast<std::size_t>(at)]);
    if (of_b == ScaleKind::none) return x;
    const std::int64_t step = of_b == ScaleKind::blocks ? l / scale_block : 0;
    const std::int64_t column = of_b == ScaleKind::matrix   ? 0
                                : of_b == ScaleKind::blocks ? j / scale_block
                                                            : j;
    return x * double(scale_b.values[static_cast<std::size_t>(step * scale_b.columns + column)]);
  }

  ConstMatrixView view_of_a(const void* data) const {
    return dense_view(data, DataType::float8_e4m3, shape.m, shape.k, a_order);
  }
  ConstMatrixView view_of_b(const void* data) const {
    return dense_view(data, DataType::float8_e4m3, shape.k, shape.n, b_order);
  }
  MatrixView view_of_c(void* data) const {
    return dense_view(data, DataType::float32, shape.m, shape.n, c_order);
  }
  MatmulOptions options(const std::string& variant) const {
    return {.variant = variant,
            .precision = Precision::fp8_e4m3,
            .alpha = 0.5,
            .beta = beta,
            .bias = bias,
            .scale_a = scale_a.scales(),
            .scale_b = scale_b.scales()};
  }

  MatmulReport run(Device& device, const std::string& variant = "") {
    return matmul(device, view_of_a(a.data()), view_of_b(b.data()), view_of_c(c.data()),
                  options(variant));
  }

  // The first defect of C; empty: there is none. `before`: C as it was.
  std::string defects(const std::vector<float>& before = {}) const {
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        double sum = 0.0, magnitude = 0.0;
        for (std::int64_t l = 0; l < shape.k; ++l) {
          const double term = 0.5 * element_of_a(i, l) * element_of_b(l, j);
          sum += term;
          magnitude += std::abs(term);
        }
        const std::int64_t at = c_order == Order::row_major ? i * shape.n + j : j * shape.m + i;
        const auto add = [&](double x) {
          sum += x;
          magnitude += std::abs(x);
        };
        if (beta != 0.0) add(beta * double(before[static_cast<std::size_t>(at)]));
        if (!bias.empty()) add(double(bias[static_cast<std::size_t>(j)]));
        const double bound = operations::product_bound(Precision::fp8_e4m3, DataType::float32,
                                                       shape.k + 4, sum, magnitude);
        const double got = double(c[static_cast<std::size_t>(at)]);
        if (!(std::abs(got - sum) <= bound)) {
          return fmt::format("C({}, {}) is {}, expected {} +- {}", i, j, got, sum, bound);
        }
      }
    }
    return {};
  }
};

}  // namespace tilescope::testing
