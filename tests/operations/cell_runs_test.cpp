#include "operations/numerics/cell_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/openblas.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/product_reference.hpp"
#include "support/matrices.hpp"

namespace tilescope::operations {
namespace {

constexpr Order both[] = {Order::row_major, Order::column_major};

TEST(CellRuns, CoverEachElementOnceAndEndBetweenCells) {
  for (const MatmulShape& shape : {MatmulShape{300, 2000, 9}, MatmulShape{384, 383, 9},
                                   MatmulShape{5, 7, 9}, MatmulShape{193, 1700, 9}}) {
    const MatmulShape cell{96, 96, 512};
    for (const Order order : both) {
      for (const std::size_t callers : {1U, 2U, 16U}) {
        std::vector<int> seen(static_cast<std::size_t>(shape.m * shape.n));
        for (const CellRun& run : cell_runs(shape, cell, order, 8, callers)) {
          EXPECT_EQ(run.row % cell.m, 0);
          EXPECT_EQ(run.column % cell.n, 0);
          const bool is_whole = run.rows % cell.m == 0 && run.columns % cell.n == 0;
          EXPECT_TRUE(is_whole || (run.rows <= cell.m && run.columns <= cell.n));
          for (std::int64_t i = run.row; i < run.row + run.rows; ++i) {
            for (std::int64_t j = run.column; j < run.column + run.columns; ++j) {
              ++seen[static_cast<std::size_t>(i * shape.n + j)];
            }
          }
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), shape.m * shape.n)
            << shape_text(shape) << ' ' << callers;
      }
    }
  }
}

TEST(CellRuns, LieAlongTheVectorsOfC) {
  const MatmulShape cell{96, 96, 512};
  EXPECT_THAT(cell_runs({192, 800, 1}, cell, Order::row_major, 8, 1),
              ::testing::ElementsAre(CellRun{0, 192, 0, 768}, CellRun{0, 96, 768, 32},
                                     CellRun{96, 96, 768, 32}));
  EXPECT_THAT(cell_runs({800, 192, 1}, cell, Order::column_major, 8, 1),
              ::testing::ElementsAre(CellRun{0, 768, 0, 192}, CellRun{768, 32, 0, 96},
                                     CellRun{768, 32, 96, 96}));
}

TEST(CellRuns, LeaveEveryThreadEightRunsOrSingleCells) {
  for (const std::size_t callers : {2U, 3U, 8U, 64U}) {
    const auto runs = cell_runs({4096, 4096, 1}, {384, 384, 512}, Order::row_major, 8, callers);
    EXPECT_TRUE(runs.size() >= 8 * callers || runs.size() == 121) << runs.size();
  }
}

// By blas_cells(), and cell by cell.
void expect_bits_of_single_cells(const MatmulShape& shape, DataType type, Order a_order,
                                 Order b_order, Order c_order) {
  const MatmulShape cell = blas_cell(shape);
  testing::TestMatrix a(type, shape.m, shape.k, a_order, 3), b(type, shape.k, shape.n, b_order, 1),
      together(type, shape.m, shape.n, c_order, 2), alone(type, shape.m, shape.n, c_order, 2);
  a.fill_random(3);
  b.fill_random(4);
  blas_cells(a.view(), b.view(), together.view(), cell);
  for (std::int64_t i = 0; i < shape.m; i += cell.m) {
    for (std::int64_t j = 0; j < shape.n; j += cell.n) {
      const std::int64_t rows = std::min(cell.m, shape.m - i),
                         columns = std::min(cell.n, shape.n - j);
      for (std::int64_t k = 0; k < shape.k; k += cell.k) {
        const std::int64_t steps = std::min(cell.k, shape.k - k);
        blas_matmul(part(a.view(), i, rows, k, steps), part(b.view(), k, steps, j, columns),
                    part(alone.view(), i, rows, j, columns), k > 0);
      }
    }
  }
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      ASSERT_EQ(together.get(i, j), alone.get(i, j)) << shape_text(shape) << ' ' << i << ' ' << j;
    }
  }
}

constexpr const char* core_variable = "OPENBLAS_CORETYPE";

// Edges of one row and of most of a cell; the last step of k has 1 and 511 of 512.
TEST(CellRuns, HaveTheBitsOfSingleCells) {
  if (const char* const core = std::getenv(core_variable)) {
    EXPECT_STRCASEEQ(OpenBlas::instance().core.c_str(), core);
    EXPECT_GT(cells_of_a_call(OpenBlas::instance().core, DataType::float64), 1);
  }
  for (const DataType type : {DataType::float32, DataType::float64}) {
    for (const Order a_order : both) {
      for (const Order b_order : both) {
        expect_bits_of_single_cells({199, 1631, 513}, type, a_order, b_order, Order::row_major);
        expect_bits_of_single_cells({1601, 291, 1023}, type, a_order, b_order, Order::column_major);
      }
    }
  }
  for (const DataType type : {DataType::float32, DataType::float64}) {
    expect_bits_of_single_cells({1000, 6515, 513}, type, Order::row_major, Order::row_major,
                                Order::row_major);
  }
}

// OpenBLAS chooses its kernels when it starts, so each kind takes a process.
TEST(CellRuns, HaveTheBitsOfSingleCellsOnEveryKindOfKernel) {
  std::vector<std::string> cores;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) cores.insert(cores.end(), {"NEHALEM"});
  if (__builtin_cpu_supports("avx")) cores.insert(cores.end(), {"SANDYBRIDGE"});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    cores.insert(cores.end(), {"HASWELL", "ZEN"});
  }
  if (__builtin_cpu_supports("avx512vl")) cores.insert(cores.end(), {"SKYLAKEX"});
  if (__builtin_cpu_supports("avx512bf16")) cores.insert(cores.end(), {"COOPERLAKE"});
#endif
  if (cores.empty()) GTEST_SKIP() << "no kinds of kernels are known for this processor";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const std::string& core : cores) {
    const std::string command = std::string(core_variable) + "=" + core + " '" + self +
                                "' --gtest_filter=CellRuns.HaveTheBitsOfSingleCells >&2";
    EXPECT_EQ(std::system(command.c_str()), 0) << core;
  }
}

}  // namespace
}  // namespace tilescope::operations
