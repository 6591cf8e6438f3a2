// Every variant for Hopper on the emulated device: tensor copies, wgmma and clusters together, in
// each precision, at odd extents. The products are verified, and the checker is silent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "device/emulated/emulated_device.hpp"
#include "observe/check/check_observer.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "support/gemm_kernels.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;

constexpr Precision precisions[] = {Precision::fp32, Precision::fp32_fast, Precision::tf32,
                                    Precision::bf16, Precision::fp16};

/// The first extents that the variant takes: odd ones, or those of whole 16-byte rows.
std::optional<GemmProblem> problem_for(const GemmVariant& variant, Precision precision) {
  for (const MatmulShape& shape : {MatmulShape{129, 131, 67}, {200, 264, 136}}) {
    const DataType type = operand_type(precision);
    const GemmProblem problem = dense_problem(shape, precision, type, type);
    if (!variant.refusal(problem, hopper())) return problem;
  }
  return std::nullopt;
}

/// Whether it runs on Hopper alone.
bool is_for_hopper(const GemmVariant& variant, const GemmProblem& problem) {
  return variant.refusal(problem, a100()).has_value();
}

/// The loop on FFMAs reads a stage ahead of what was copied, and uses none of it.
bool reads_ahead(const GemmVariant& variant) {
  return variant.name == "ffma_tiles" || variant.name == "as_fp32";
}

TEST(GemmHopperEmulated, EveryVariantIsRightAndSilent) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  observe::CheckObserver checks;
  std::string found;
  bool ahead = false;
  emulated->set_options({.observers = {&checks},
                         .after_launch =
                             [&](const emulator::LaunchSummary& summary) {
                               EXPECT_EQ(summary.fault_count, 0u);
                               for (const Finding& f : checks.findings()) {
                                 if (ahead && f.kind == FindingKind::uninitialised_read) continue;
                                 found +=
                                     fmt::format("{}: {} ({}:{})\n", to_string(f.kind), message(f),
                                                 f.first.place.file, f.first.place.line);
                               }
                             },
                         .tolerant = true});
  GemmGenerator generator(11);
  std::set<std::string_view> ran;
  for (const GemmVariant& variant : gemm_variants()) {
    for (const Precision precision : precisions) {
      const std::optional<GemmProblem> problem = problem_for(variant, precision);
      if (!problem || !is_for_hopper(variant, *problem)) continue;
      const GemmCase of = generator.filled(*problem);
      found.clear();
      ahead = reads_ahead(variant);
      EXPECT_EQ(defects(of, run_gemm(*emulated, variant, of), true), "") << variant.name;
      EXPECT_EQ(found, "") << variant.name << ": " << of.text;
      ran.insert(variant.name);
    }
  }
  EXPECT_GE(ran.size(), 12u);
}

}  // namespace
}  // namespace tilescope::operations
