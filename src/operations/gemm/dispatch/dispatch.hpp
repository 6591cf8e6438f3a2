// Which variant of the table computes a problem on a device, and by which of its plans: what was
// tuned for that very problem, else what the models say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/dispatch/gemm_variants.hpp"

namespace tilescope::operations {

struct GemmChoice {
  const GemmVariant* variant = nullptr;
  std::string plan;       ///< empty: the variant's own choice
  double cycles = 0.0;    ///< what the variant's model expects; 0: it has none
  bool is_tuned = false;  ///< measured on this device, not predicted

  std::unique_ptr<GemmRun> prepare(Device& device, const GemmProblem& problem) const;
  /// `note` of the run, marked where the choice is tuned: "tuned, 128x256x4 boxes 2".
  std::string explained(const std::string& note) const;
};

/// What was tuned for the problem, if the device still has such a plan and TILESCOPE_AUTOTUNE does
/// not forbid it.
std::optional<GemmChoice> tuned_choice(const GemmProblem& problem, const Device& device);

/// What the models say.
GemmChoice model_choice(const GemmProblem& problem, const DeviceProperties& device);

/// The one that the library takes.
GemmChoice dispatch(const GemmProblem& problem, const Device& device);

/// What is worth measuring, `most` at most but for one of each variant: the model's choice first,
/// then the other variants that take the problem, then more plans, the best by their models first.
/// Of plans that a model cannot tell apart there is one.
std::vector<GemmChoice> tuning_candidates(const GemmProblem& problem,
                                          const DeviceProperties& device, std::size_t most);

/// The plans that the model of the choice's variant cannot tell from it.
std::vector<GemmChoice> siblings(const GemmChoice& choice, const GemmProblem& problem,
                                 const DeviceProperties& device);

}  // namespace tilescope::operations
