// The tiles and parts of k that kernels/gemm/ffma_tiles.cu uses for a problem, by a model of their
// time.
#pragma once

#include <string>
#include <vector>

#include "operations/gemm/hopper/ffma_tile.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The plan for one tile and about `splits` parts (only as many as have work), with the sources
/// that take the fewest expected cycles.
FfmaPlan ffma_plan(const GemmProblem& problem, const DeviceProperties& device, const FfmaTile& tile,
                   int splits);

/// The plans of all tiles and all numbers of parts worth trying, those first that are expected to
/// be fastest. Extents are at least 1.
std::vector<FfmaPlan> ffma_plan_candidates(const GemmProblem& problem,
                                           const DeviceProperties& device);

/// The plan with the fewest expected cycles.
FfmaPlan best_ffma_plan(const GemmProblem& problem, const DeviceProperties& device);

/// The launch of the product, without the reduction.
Launch ffma_launch(const GemmProblem& problem, const FfmaPlan& plan);

/// The kernel's constants.
Defines ffma_constants(const GemmProblem& problem, const FfmaPlan& plan);

/// The compiler's options, as KernelRequest::extra_options.
std::vector<std::string> ffma_options();

}  // namespace tilescope::operations
