// The counts of every rung in kernels/matmul against Nsight Compute's on an H200, at 256 and at 100
// x 100, which most tiles do not divide (data/ncu/matmul_h200.csv, by bench/ncu_counts.sh).
// gemm_counts_test.cpp has the GEMM rungs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "device/emulated/emulated_device.hpp"
#include "matmul_rungs.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/matmul/matmul_operation.hpp"
#include "operations/matmul/matmul_variants.hpp"

namespace tilescope::observe {
namespace {

using Metrics = std::map<std::string, double>;
struct MeasuredMatmul {
  std::string rung;
  std::int64_t size = 0;
  Metrics metrics;
};

std::vector<MeasuredMatmul> measured_matmuls() {
  std::vector<MeasuredMatmul> result;
  for (const auto& cells : testing::table_rows(TILESCOPE_TEST_DATA "/ncu/matmul_h200.csv", 6)) {
    const std::int64_t size = std::stoll(cells[1]);
    if (result.empty() || result.back().rung != cells[0] || result.back().size != size) {
      result.push_back({cells[0], size, {}});
    }
    result.back().metrics[cells[4]] = std::stod(cells[5]);
  }
  return result;
}

operations::VariantInfo variant_info(const operations::Operation& operation,
                                     const std::string& name) {
  for (const operations::VariantInfo& info : operation.variants()) {
    if (info.name == name) return info;
  }
  ADD_FAILURE() << name << " is no rung";
  return {};
}

/// tiled_dynamic asks the planner for its width, and planners change: the launch that was measured.
Counts count_dynamic(std::int64_t size, double block_threads) {
  const auto n = static_cast<std::uint32_t>(size);
  const auto width = static_cast<std::uint32_t>(std::sqrt(block_threads));
  const std::uint32_t blocks = (n + width - 1) / width;
  CountObserver counter;
  testing::run_rung({"tiled_dynamic",
                     "11_tiled_dynamic",
                     {},
                     {{blocks, blocks}, {width, width}, 8UL * width * width}},
                    n, {&counter});
  return counter.result().totals;
}

Counts count(const std::string& rung, std::int64_t size) {
  const operations::MatmulOperation operation({size, size, size}, 1);
  const auto device = std::make_shared<device::EmulatedDevice>();
  const auto prepared = operation.prepare(variant_info(operation, rung), *device);
  CountObserver counter;
  device->set_options({.observers = {&counter}});
  prepared->run(0);
  device->set_options({});
  return counter.result().totals;
}

void expect_agreement(const MeasuredMatmul& chip) {
  const Counts ours = chip.rung == "tiled_dynamic"
                          ? count_dynamic(chip.size, chip.metrics.at("launch__block_size"))
                          : count(chip.rung, chip.size);
  const auto exactly = [&](const char* metric, std::uint64_t value) {
    EXPECT_EQ(static_cast<double>(value), chip.metrics.at(metric)) << metric;
  };
  exactly("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", ours.operations.ffma);
  exactly("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", ours.global_load.requests);
  exactly("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", ours.global_load.sectors);
  exactly("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", ours.global_store.requests);
  exactly("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", ours.global_store.sectors);
  // Wavefronts without conflicts are exact. Conflicts are not on the chip either: now and then a
  // wavefront is repeated because the data path was busy, and counted as a conflict; another run
  // gives another figure. So those are compared within 2% of the rung's shared wavefronts.
  const double noise = 0.02 * chip.metrics.at("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
  const auto shared = [&](const std::string& op, const WavefrontCounts& counts) {
    const double wavefronts =
        chip.metrics.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op);
    const double conflicts =
        chip.metrics.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op);
    EXPECT_EQ(static_cast<double>(counts.ideal_wavefronts), wavefronts - conflicts) << op;
    EXPECT_NEAR(static_cast<double>(counts.wavefronts), wavefronts, noise) << op;
    EXPECT_NEAR(static_cast<double>(counts.conflicts()), conflicts, noise) << op;
  };
  shared("ld.sum", ours.shared_load);
  shared("st.sum", ours.shared_store);
}

TEST(MatmulCounts, AgreeWithTheChip) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  for (const MeasuredMatmul& chip : measured_matmuls()) {
    SCOPED_TRACE(fmt::format("{} at {}", chip.rung, chip.size));
    expect_agreement(chip);
  }
}

TEST(MatmulCounts, EveryRungWasMeasured) {
  std::set<std::string> known;
  for (const MeasuredMatmul& chip : measured_matmuls()) known.insert(chip.rung);
  for (const operations::MatmulVariant& variant : operations::matmul_variants()) {
    EXPECT_TRUE(variant.row->source.empty() || known.contains(variant.name)) << variant.name;
  }
}

}  // namespace
}  // namespace tilescope::observe
