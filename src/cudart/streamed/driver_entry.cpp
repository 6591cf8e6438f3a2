// The driver's functions by name: on a GPU those of its driver, on an emulated one our own.
#include "cudart/state/driver_functions.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope::cudart;

namespace {

cudaError_t find_entry(const char* symbol, void** function, unsigned version,
                       unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return api_call("cudaGetDriverEntryPoint", [&](Context& context) {
    require(symbol != nullptr && function != nullptr, cudaErrorInvalidValue);
    const bool emulated = context.device().kind() == tilescope::DeviceKind::emulated;
    // Threads with default streams of their own get the functions for these.
    if (flags == cudaEnableDefault && null_stream == DefaultStream::per_thread) {
      flags = cudaEnablePerThreadDefaultStream;
    }
    const DriverFunction found =
        emulated ? replaced_driver_function(symbol) : found_driver_function(symbol, version, flags);
    *function = found.address;
    if (status != nullptr) *status = found.status;
  });
}

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return find_entry(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return find_entry(symbol, function, version, flags, status);
}
