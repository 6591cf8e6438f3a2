// Which of several kernels computes a product soonest: each checked, timed in turns, checked again.
#pragma once

#include <functional>
#include <tilescope/tuning.hpp>
#include <vector>

#include "measure/timing.hpp"
#include "operations/gemm/dispatch/dispatch.hpp"

namespace tilescope::tuning {

/// How runs are timed: time_on_device(), or what a test says.
using Timer = std::function<measure::Timing(Device& device, const operations::GemmChoice& choice,
                                            const std::function<void(int)>& run,
                                            const measure::TimingOptions& options)>;

/// Measures `choices`, of which the first is the model's, and what their models cannot tell from
/// the fastest. The candidates come in that order; one is `chosen` unless all are wrong or failed.
/// alpha and beta have to be powers of two. Errors: as tune_matmul().
std::vector<TuneCandidate> tune(Device& device, const operations::GemmProblem& problem,
                                const std::vector<operations::GemmChoice>& choices,
                                const TuneOptions& options, const Timer& timer = {});

/// tune() for a problem as kernels see it, with the candidates that the models offer; what was
/// chosen is kept where the options say so.
TuneReport tune_problem(Device& device, const operations::GemmProblem& problem,
                        const TuneOptions& options, const Timer& timer = {});

}  // namespace tilescope::tuning
