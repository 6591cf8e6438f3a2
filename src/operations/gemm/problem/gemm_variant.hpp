// A kernel that computes GemmProblems, as a row of a table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// One way in which a variant can compute a problem.
struct GemmPlan {
  std::string text;     ///< its name in files; unique among the problem's plans
  double cycles = 0.0;  ///< expected by the variant's model
  /// Names the order in which an element's products are added, where it follows from more than k
  /// and the text: a part of a product has the whole's bits only with the same.
  std::string order;
  bool order_follows_rows = false;  ///< and from where rows of A begin, modulo 16 bytes
  bool order_says_all = false;  ///< plans of the same order have the same bits, whatever their text
};

struct GemmVariant {
  std::string_view name;
  std::string_view idea;    ///< the new technique, in a few words
  std::string_view source;  ///< file below kernels/
  /// Why it cannot compute the problem on such a device; nothing if it can.
  std::optional<std::string> (*refusal)(const GemmProblem& problem, const DeviceProperties& device);
  PrepareGemm prepare = nullptr;
  /// Whether the dispatcher should take it for a problem that it does not refuse; null: always.
  bool (*pays)(const GemmProblem& problem, const DeviceProperties& device) = nullptr;
  /// The plans, the best by a model first; `prepare` takes that one. Null: there is only one.
  std::vector<GemmPlan> (*plans)(const GemmProblem& problem,
                                 const DeviceProperties& device) = nullptr;
  /// Like `prepare`, with the plan of that text. Throws Error(usage) for a text that is none of the
  /// problem's.
  std::unique_ptr<GemmRun> (*prepare_plan)(Device& device, const GemmProblem& problem,
                                           std::string_view plan) = nullptr;
  /// The cycles that the model alone expects of the plan of that text, and its features, by which a
  /// network corrects them; empty where no network knows such plans. Null: none knows any.
  std::vector<double> (*plan_features)(const GemmProblem& problem, const DeviceProperties& device,
                                       std::string_view plan) = nullptr;
  /// Names the order in which an element's products are added, as far as it follows from more than
  /// k; for variants without plans. A part of a product has the whole's bits only where it has the
  /// same. Null: k alone.
  std::string (*order_of_sums)(const GemmProblem& problem,
                               const DeviceProperties& device) = nullptr;
  /// Whether the kernel, with the plan of that text, can run while B's columns arrive
  /// (GemmProblem::arriving_columns) at these addresses. Null: never.
  bool (*awaits_columns)(const GemmProblem& problem, const GemmAddresses& addresses,
                         const DeviceProperties& device, std::string_view plan) = nullptr;
  bool is_step = false;  ///< only for the ladder: a later row has its plan among others
};

}  // namespace tilescope::operations
