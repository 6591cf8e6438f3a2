// Finds the fastest of several kernels for a product: each is checked, timed in turns, and checked
// again.
#pragma once

#include <functional>
#include <tilescope/tuning.hpp>
#include <vector>

#include "measure/timing.hpp"
#include "operations/gemm/dispatch/dispatch.hpp"

namespace tilescope::tuning {

/// The timer of runs: time_on_device(), or a test's own.
using Timer = std::function<measure::Timing(Device& device, const operations::GemmChoice& choice,
                                            const std::function<void(int)>& run,
                                            const measure::TimingOptions& options)>;

/// Measures `choices`, the model's first, and plans that their models cannot distinguish from the
/// fastest. The candidates come in that order; one is `chosen` unless all are wrong or failed.
/// alpha and beta must be powers of two. Errors: as tune_matmul().
std::vector<TuneCandidate> tune(Device& device, const operations::GemmProblem& problem,
                                const std::vector<operations::GemmChoice>& choices,
                                const TuneOptions& options, const Timer& timer = {});

/// Runs tune() for a problem as kernels see it, with the candidates that the models offer; stores
/// the choice if the options say so.
TuneReport tune_problem(Device& device, const operations::GemmProblem& problem,
                        const TuneOptions& options, const Timer& timer = {});

}  // namespace tilescope::tuning
