// The driver's functions by name.
#include "cudart/state/driver_functions.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope::cudart;

namespace {

cudaError_t find_entry(const char* symbol, void** function,
                       cudaDriverEntryPointQueryResult* status) {
  require(symbol != nullptr && function != nullptr, cudaErrorInvalidValue);
  *function = driver_function(symbol);
  if (status != nullptr) {
    *status =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  return plain_call([&] { return find_entry(symbol, function, status); });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return plain_call([&] { return find_entry(symbol, function, status); });
}
