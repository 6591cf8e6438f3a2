#include "operations/gemm/networks/product_features.hpp"

#include <cmath>
#include <cstdint>

#include "operations/gemm/operands/chunk_access.hpp"

namespace tilescope::operations {
namespace {

double yes(bool is_so) {
  return is_so ? 1.0 : 0.0;
}

}  // namespace

std::array<double, product_features> features_of_product(const GemmProblem& problem) {
  constexpr std::int64_t line_bytes = 128, sector_bytes = 32;
  const auto m = double(problem.shape.m), n = double(problem.shape.n), k = double(problem.shape.k);
  const double batch = double(problem.batch);
  const double a_bytes = batch * m * k * double(size_of(problem.a.type));
  const double b_bytes = batch * k * n * double(size_of(problem.b.type));
  const double c_bytes = batch * m * n * double(size_of(problem.c.type));
  const auto rows_of_c_begin_with = [&](std::int64_t bytes) {
    return yes(problem.c.leading * static_cast<std::int64_t>(size_of(problem.c.type)) % bytes == 0);
  };
  const ChunkAccess access = chunk_access(problem, {});
  return {std::log2(m),
          std::log2(n),
          std::log2(k),
          std::log2(batch),
          std::log2(a_bytes + b_bytes),
          std::log2(a_bytes / b_bytes),
          std::log2(c_bytes),
          yes(problem.beta != 0.0),
          yes(problem.has_bias),
          yes(problem.a.order == Order::column_major),
          yes(problem.b.order == Order::column_major),
          yes(access.a == RowsBy::elements),
          yes(access.b == RowsBy::elements),
          rows_of_c_begin_with(line_bytes),
          rows_of_c_begin_with(sector_bytes),
          yes(access.c_quads)};
}

bool has_measured_extents(const GemmProblem& problem) {
  constexpr std::int64_t least_k = 16, most = 8192;
  constexpr double most_products = 0x1p35;
  const MatmulShape& s = problem.shape;
  return std::min(s.m, s.n) >= least_measured && s.k >= least_k &&
         std::max({s.m, s.n, s.k}) <= most && 0.5 * s.flops() <= most_products;
}

}  // namespace tilescope::operations
