// The variant of the table, and its plan, that compute a problem on a device: the tuned one for
// exactly that problem, else the models' choice.
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
  double cycles = 0.0;    ///< expected by the variant's model; 0: it has none
  bool is_tuned = false;  ///< measured on this device, not predicted

  std::unique_ptr<GemmRun> prepare(Device& device, const GemmProblem& problem) const;
  /// `note` of the run, marked where the choice is tuned: "tuned, 128x256x4 boxes 2".
  std::string explained(const std::string& note) const;
};

/// The tuned choice for the problem, if the device still has such a plan and TILESCOPE_AUTOTUNE
/// does not forbid it.
std::optional<GemmChoice> tuned_choice(const GemmProblem& problem, const Device& device);

/// The models' choice.
GemmChoice model_choice(const GemmProblem& problem, const DeviceProperties& device);

/// The same choice with its plan named: the variant's own choice where it has several.
GemmChoice with_plan(GemmChoice choice, const GemmProblem& problem, const DeviceProperties& device);

/// The choice that the library takes.
GemmChoice dispatch(const GemmProblem& problem, const Device& device);

/// The choices worth measuring, `most` at most but at least one of each variant: the model's choice
/// first, then the other variants that take the problem, then more plans, the best by their models
/// first. Plans that a model cannot distinguish are represented by one.
std::vector<GemmChoice> tuning_candidates(const GemmProblem& problem,
                                          const DeviceProperties& device, std::size_t most);

/// The plans that the model of the choice's variant cannot distinguish from it.
std::vector<GemmChoice> siblings(const GemmChoice& choice, const GemmProblem& problem,
                                 const DeviceProperties& device);

}  // namespace tilescope::operations
