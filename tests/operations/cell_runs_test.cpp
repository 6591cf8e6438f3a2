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

TEST(CellRuns, CoverEachElementOnceAndBeginBetweenUnits) {
  for (const MatmulShape& shape :
       {MatmulShape{600, 4000, 900}, MatmulShape{384, 383, 900}, MatmulShape{5, 7, 900},
        MatmulShape{393, 3400, 3}, MatmulShape{203, 3400, 900}, MatmulShape{400, 3460, 900}}) {
    const MatmulShape cell{192, 192, 512};
    for (const Order order : testing::both_orders) {
      for (const std::int64_t together : {1, 8}) {
        const MatmulShape unit = together == 1 ? cell : MatmulShape{64, 64, 512};
        for (const std::size_t callers : {1U, 2U, 16U}) {
          std::vector<int> seen(static_cast<std::size_t>(shape.m * shape.n));
          for (const CellRun& run : cell_runs(shape, cell, unit, order, together, callers)) {
            EXPECT_EQ(run.row % unit.m, 0);
            EXPECT_EQ(run.column % unit.n, 0);
            EXPECT_TRUE(together > 1 || (run.rows <= cell.m && run.columns <= cell.n));
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
}

constexpr MatmulShape third{128, 128, 512}, side{384, 384, 512};

TEST(CellRuns, AreOneForOneThreadButForTheEndOfVectors) {
  EXPECT_THAT(cell_runs({1000, 8191, 512}, side, third, Order::row_major, 8, 1),
              ::testing::ElementsAre(CellRun{0, 1000, 0, 8064}, CellRun{0, 1000, 8064, 127}));
  EXPECT_THAT(cell_runs({8191, 1000, 512}, side, third, Order::column_major, 8, 1),
              ::testing::ElementsAre(CellRun{0, 8064, 0, 1000}, CellRun{8064, 127, 0, 1000}));
}

TEST(CellRuns, AreTwoCellsByFourForSeveralThreads) {
  for (const CellRun& run : cell_runs({4096, 8192, 512}, side, third, Order::row_major, 8, 2)) {
    EXPECT_TRUE(run.rows == 768 || run.row + run.rows == 4096) << run.rows;
    EXPECT_TRUE(run.columns % 1536 == 0 || run.column + run.columns == 8192) << run.columns;
  }
}

// OpenBLAS may take another kernel for 7 * 128 * 512 products, not for 8 * 384 * 512.
TEST(CellRuns, LeaveWhatIsSmallAlone) {
  const auto runs = cell_runs({135, 1031, 512}, side, third, Order::row_major, 8, 1);
  EXPECT_EQ(runs.size(), 1 + 1 + 8 + 1) << "whole units, and the end of C below, beside, at both";
  EXPECT_THAT(runs, ::testing::Contains(CellRun{0, 128, 0, 1024}));
  EXPECT_THAT(runs, ::testing::Contains(CellRun{128, 7, 128, 128}));
  EXPECT_THAT(runs, ::testing::Contains(CellRun{128, 7, 1024, 7}));
}

TEST(CellRuns, LeaveEveryThreadEightRunsOrSingleCells) {
  for (const std::size_t callers : {2U, 3U, 8U, 64U}) {
    const auto runs = cell_runs({4096, 4096, 1}, side, side, Order::row_major, 8, callers);
    EXPECT_TRUE(runs.size() >= 8 * callers || runs.size() == 121) << runs.size();
  }
}

// Each run by one call for each step of k.
void multiply_runs(const std::vector<CellRun>& runs, std::int64_t k_of_cell,
                   const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c) {
  for (const CellRun& run : runs) {
    for (std::int64_t k = 0; k < a.columns; k += k_of_cell) {
      const std::int64_t steps = std::min(k_of_cell, a.columns - k);
      blas_matmul(part(a, run.row, run.rows, k, steps), part(b, k, steps, run.column, run.columns),
                  part(c, run.row, run.rows, run.column, run.columns), k > 0);
    }
  }
}

std::vector<CellRun> single_units(const MatmulShape& shape, const MatmulShape& unit) {
  std::vector<CellRun> units;
  for (std::int64_t i = 0; i < shape.m; i += unit.m) {
    for (std::int64_t j = 0; j < shape.n; j += unit.n) {
      units.push_back({i, std::min(unit.m, shape.m - i), j, std::min(unit.n, shape.n - j)});
    }
  }
  return units;
}

// By the runs of one thread and of several, and unit by unit, with steps of k of the cell's or of
// `steps`.
void expect_bits_of_single_units(const MatmulShape& shape, DataType type, Order a_order,
                                 Order b_order, Order c_order, std::int64_t steps = 0) {
  MatmulShape cell = blas_cell(shape);
  if (steps > 0) cell.k = steps;
  const std::string& core = OpenBlas::instance().core;
  const MatmulShape unit = call_unit(cell, core, type);
  testing::TestMatrix a(type, shape.m, shape.k, a_order, 3), b(type, shape.k, shape.n, b_order, 1),
      together(type, shape.m, shape.n, c_order, 2), alone(type, shape.m, shape.n, c_order, 2);
  a.fill_random(3);
  b.fill_random(4);
  const OpenBlas::OneThread one_thread;
  multiply_runs(single_units(shape, unit), cell.k, a.view(), b.view(), alone.view());
  for (const std::size_t callers : {1U, 2U}) {
    multiply_runs(cell_runs(shape, cell, unit, c_order, cells_of_a_call(core, type), callers),
                  cell.k, a.view(), b.view(), together.view());
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        ASSERT_EQ(together.get(i, j), alone.get(i, j)) << shape_text(shape) << ' ' << i << ' ' << j;
      }
    }
  }
}

constexpr const char* core_variable = "OPENBLAS_CORETYPE";

// Ends of C of one row, of so few that they stay alone and of so many that they do not; steps of k
// that are about equal, and a last one of 1 and of 60.
TEST(CellRuns, HaveTheBitsOfSingleUnits) {
  if (const char* const core = std::getenv(core_variable)) {
    EXPECT_STRCASEEQ(OpenBlas::instance().core.c_str(), core);
    EXPECT_GT(cells_of_a_call(OpenBlas::instance().core, DataType::float64), 1);
  }
  for (const DataType type : {DataType::float32, DataType::float64}) {
    for (const Order a_order : testing::both_orders) {
      for (const Order b_order : testing::both_orders) {
        expect_bits_of_single_units({257, 1631, 513}, type, a_order, b_order, Order::row_major);
        expect_bits_of_single_units({250, 1605, 70}, type, a_order, b_order, Order::row_major);
        expect_bits_of_single_units({1601, 291, 1023}, type, a_order, b_order, Order::column_major);
        expect_bits_of_single_units({1607, 221, 572}, type, a_order, b_order, Order::column_major,
                                    512);
      }
    }
    for (const std::int64_t rows : {899, 920}) {
      expect_bits_of_single_units({rows, 5300, 385}, type, Order::row_major, Order::row_major,
                                  Order::row_major, rows == 899 ? 384 : 0);
    }
  }
}

// OpenBLAS chooses its kernels when it starts, so each kind takes a process.
TEST(CellRuns, HaveTheBitsOfSingleUnitsOnEveryKindOfKernel) {
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
                                "' --gtest_filter=CellRuns.HaveTheBitsOfSingleUnits >&2";
    EXPECT_EQ(std::system(command.c_str()), 0) << core;
  }
}

}  // namespace
}  // namespace tilescope::operations
