// fp32 products without tensor cores, by tiles that the copy engine fills (sm_90).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/hopper/ffma_plan.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/gemm/problem/run_condition.hpp"

namespace tilescope::operations {

std::optional<std::string> ffma_refusal(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_ffma(Device& device, const GemmProblem& problem);
/// The same with a plan of the caller's choice.
std::unique_ptr<GemmRun> prepare_ffma(Device& device, const GemmProblem& problem,
                                      const FfmaPlan& plan, const RunCondition& condition = {});

}  // namespace tilescope::operations
