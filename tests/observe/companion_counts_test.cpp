// The counts of every rung of the companion operations against what Nsight Compute measured on an
// H200, all launches of a run together (data/ncu/companions_h200.csv, by bench/ncu_companions.sh).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "device/emulated/emulated_device.hpp"
#include "matmul_rungs.hpp"
#include "measure/counting.hpp"
#include "operations/registry.hpp"

namespace tilescope::observe {
namespace {

struct MeasuredCompanion {
  std::string operation, rung, options;
  std::map<std::string, double> metrics;
};

std::vector<MeasuredCompanion> measured_companions() {
  std::vector<MeasuredCompanion> result;
  for (const auto& cells : testing::table_rows(TILESCOPE_TEST_DATA "/ncu/companions_h200.csv", 5)) {
    if (result.empty() || result.back().operation != cells[0] || result.back().rung != cells[1] ||
        result.back().options != cells[2]) {
      result.push_back({cells[0], cells[1], cells[2], {}});
    }
    result.back().metrics[cells[3]] = std::stod(cells[4]);
  }
  return result;
}

/// "--size 10007 --op sum", as the command line has it.
ProblemOptions parse_options(const std::string& text) {
  ProblemOptions options;
  std::istringstream in(text);
  for (std::string name, value; in >> name >> value;) {
    if (name == "--type") {
      options.type = value;
    } else if (name == "--op") {
      options.reduction = value;
    } else {
      const std::map<std::string, std::optional<std::int64_t>*> numbers{
          {"--size", &options.size}, {"-m", &options.rows},
          {"-n", &options.columns},  {"--radius", &options.radius},
          {"--bins", &options.bins}, {"--iterations", &options.iterations}};
      *numbers.at(name) = std::stoll(value);
    }
  }
  return options;
}

Counts count(const MeasuredCompanion& chip) {
  const auto operation = operations::make_operation(chip.operation, parse_options(chip.options));
  const auto device = std::make_shared<device::EmulatedDevice>();
  for (const operations::VariantInfo& info : operation->variants()) {
    if (info.name != chip.rung) continue;
    const auto prepared = operation->prepare(info, *device);
    const measure::LaunchCounter counter(*device);
    prepared->run(0);
    return counter.result().value_or(Counts{});
  }
  ADD_FAILURE() << "no such rung";
  return {};
}

/// The deviations that docs/parity.md explains: a rung and metrics, or parts of their names. There
/// ptxas has made other code than the PTX, or the chip's rule is unknown.
bool explained(const MeasuredCompanion& chip, const std::string& metric) {
  const std::string run = chip.operation + '/' + chip.rung + ' ' + chip.options;
  const auto is = [&](const char* of, const char* part) {
    return run.starts_with(of) && metric.find(part) != std::string::npos;
  };
  return is("blur/separable -m 61 -n 77 --radius 5", "global_op_ld") ||
         is("laplacian/temporal ", "op_ffma") || is("laplacian/temporal ", "op_fmul") ||
         is("histogram/sectioned ", "t_sectors_pipe_lsu_mem_global_op_red") ||
         is("histogram/interleaved ", "t_sectors_pipe_lsu_mem_global_op_red") ||
         is("reduce/modulo_tree --size 10007 --op argmax", "mem_shared_op_st") ||
         is("reduce/fixed_order --size 10007 --op argmax", "mem_shared_op_ld");
}

void expect_agreement(const MeasuredCompanion& chip) {
  const Counts ours = count(chip);
  const auto compare = [&](const std::string& metric, std::uint64_t value, double allowed) {
    const double theirs = chip.metrics.at(metric);
    const bool agrees = std::abs(static_cast<double>(value) - theirs) <= allowed;
    EXPECT_NE(agrees, explained(chip, metric)) << metric << ": " << value << ", chip " << theirs;
  };
  const auto exactly = [&](const std::string& metric, std::uint64_t value) {
    compare(metric, value, 0.0);
  };
  const auto operations = [&](const std::string& name, std::uint64_t value) {
    exactly("smsp__sass_thread_inst_executed_op_" + name + "_pred_on.sum", value);
  };
  operations("ffma", ours.operations.ffma);
  operations("fadd", ours.operations.fadd);
  operations("fmul", ours.operations.fmul);
  const auto global = [&](const std::string& op, const SectorCounts& counts) {
    exactly("l1tex__t_requests_pipe_lsu_mem_global_op_" + op, counts.requests);
    exactly("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op, counts.sectors);
  };
  global("ld.sum", ours.global_load);
  global("st.sum", ours.global_store);
  global("atom.sum", ours.global_atomic);
  global("red.sum", ours.global_reduction);
  // The chip repeats a wavefront now and then because the data path was busy, never the same ones.
  const double noise = 0.02 * chip.metrics.at("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
  const auto shared = [&](const std::string& op, const WavefrontCounts& counts) {
    const std::string waves = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op;
    const std::string conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op;
    compare(waves, counts.wavefronts, noise);
    compare(conflicts, counts.conflicts(), noise);
    EXPECT_EQ(static_cast<double>(counts.ideal_wavefronts),
              chip.metrics.at(waves) - chip.metrics.at(conflicts))
        << op;
  };
  shared("ld.sum", ours.shared_load);
  shared("st.sum", ours.shared_store);
  shared("atom.sum", ours.shared_atomic);
}

TEST(CompanionCounts, AgreeWithTheChip) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  for (const MeasuredCompanion& chip : measured_companions()) {
    SCOPED_TRACE(fmt::format("{}/{} {}", chip.operation, chip.rung, chip.options));
    expect_agreement(chip);
  }
}

TEST(CompanionCounts, EveryRungWasMeasured) {
  std::set<std::string> known;
  for (const MeasuredCompanion& chip : measured_companions())
    known.insert(chip.operation + '/' + chip.rung);
  for (const auto& operation : operations::registered_operations()) {
    if (operation.name == "matmul") continue;
    for (const operations::VariantInfo& info : operation.make({.size = 1})->variants()) {
      if (info.source.empty()) continue;
      EXPECT_TRUE(known.contains(fmt::format("{}/{}", operation.name, info.name))) << info.name;
    }
  }
}

}  // namespace
}  // namespace tilescope::observe
