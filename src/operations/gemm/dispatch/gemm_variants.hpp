// The kernels that compute a GemmProblem, as a table in the order of the ladder.
#pragma once

#include <string_view>
#include <vector>

#include "operations/gemm/problem/gemm_variant.hpp"

namespace tilescope::operations {

/// All variants. The dispatcher prefers the last one that does not refuse a problem and pays there.
const std::vector<GemmVariant>& gemm_variants();

/// The variant called `name`; null if there is none.
const GemmVariant* find_gemm_variant(std::string_view name);

/// The same. Throws Error(usage), suggesting the nearest name, for an unknown one.
const GemmVariant& gemm_variant(std::string_view name);

/// The properties by which a default is chosen: those of the device; but where wgmma does not pay,
/// on an emulated GPU of compute capability 9.0, those of 8.0.
DeviceProperties properties_to_choose_by(const DeviceProperties& device);

/// The variant that the library takes for a problem on a device by default. `general` takes every
/// problem, so there always is one.
const GemmVariant& best_gemm_variant(const GemmProblem& problem, const DeviceProperties& device);

}  // namespace tilescope::operations
