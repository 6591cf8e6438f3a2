// The kernels that compute a GemmProblem, as a table: in the order in which the ladder climbs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/gemm/problem.hpp"

namespace tilescope::operations {

/// One of the ways in which a variant can compute a problem.
struct GemmPlan {
  std::string text;     ///< what it is called in files; no two plans of a problem have the same
  double cycles = 0.0;  ///< what the variant's model expects
};

struct GemmVariant {
  std::string_view name;
  std::string_view idea;    ///< what is new, in a few words
  std::string_view source;  ///< file below kernels/
  /// Why it cannot compute the problem on such a device; nothing if it can.
  std::optional<std::string> (*refusal)(const GemmProblem& problem, const DeviceProperties& device);
  std::unique_ptr<GemmRun> (*prepare)(Device& device, const GemmProblem& problem);
  /// Whether the dispatcher should take it for a problem that it does not refuse; null: always.
  bool (*pays)(const GemmProblem& problem, const DeviceProperties& device) = nullptr;
  /// The plans among which `prepare` takes the first, the best by a model before the others; null:
  /// it has but one.
  std::vector<GemmPlan> (*plans)(const GemmProblem& problem,
                                 const DeviceProperties& device) = nullptr;
  /// As `prepare`, by one of them. Throws Error(usage) for a text that is none of the problem's.
  std::unique_ptr<GemmRun> (*prepare_plan)(Device& device, const GemmProblem& problem,
                                           std::string_view plan) = nullptr;
  bool is_step = false;  ///< of the ladder alone: a later row has its plan among others
};

/// All of them. The last that does not refuse a problem, and pays, is the one that the dispatcher
/// prefers.
const std::vector<GemmVariant>& gemm_variants();

/// The variant called `name`; null if there is none.
const GemmVariant* find_gemm_variant(std::string_view name);

/// The same. Throws Error(usage) that suggests the nearest name.
const GemmVariant& gemm_variant(std::string_view name);

/// The variant that the library takes for a problem on a device when none is named. `general` takes
/// every problem, so there always is one.
const GemmVariant& best_gemm_variant(const GemmProblem& problem, const DeviceProperties& device);

}  // namespace tilescope::operations
