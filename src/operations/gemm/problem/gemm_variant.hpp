// A kernel that computes GemmProblems, as a row of a table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"

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
  PrepareGemm prepare = nullptr;
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

}  // namespace tilescope::operations
