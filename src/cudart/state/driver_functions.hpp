// The driver's functions that programs ask for by name.
#pragma once

#include <driver_types.h>

#include <string_view>

namespace tilescope::cudart {

struct DriverFunction {
  void* address = nullptr;  ///< null unless the status is success
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
};

/// Those for an emulated GPU: of tensor maps, which need no context.
DriverFunction replaced_driver_function(std::string_view name);

/// Those of a GPU's driver, as they were in CUDA's `version` (12000). `flags` are the run time's.
DriverFunction found_driver_function(const char* name, unsigned version, unsigned long long flags);

}  // namespace tilescope::cudart
