// The accounts of the memory that nodes of graphs allocate.
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

GraphMemory& graph_memory_of(Context& context, int device) {
  require_device(device);
  return context.graph_memory();
}

std::uint64_t& value_of(GraphMemory& memory, cudaGraphMemAttributeType attribute) {
  switch (attribute) {
    case cudaGraphMemAttrUsedMemCurrent:
      return memory.used().now;
    case cudaGraphMemAttrUsedMemHigh:
      return memory.used().most;
    case cudaGraphMemAttrReservedMemCurrent:
      return memory.reserved().now;
    case cudaGraphMemAttrReservedMemHigh:
      return memory.reserved().most;
  }
  throw Failure{cudaErrorInvalidValue};
}

}  // namespace

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return api_call("cudaDeviceGetGraphMemAttribute", [&](Context& context) {
    require(value != nullptr, cudaErrorInvalidValue);
    *static_cast<std::uint64_t*>(value) = value_of(graph_memory_of(context, device), attribute);
  });
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return api_call("cudaDeviceSetGraphMemAttribute", [&](Context& context) {
    const bool high =
        attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
    require(high && value != nullptr && *static_cast<std::uint64_t*>(value) == 0,
            cudaErrorInvalidValue);
    value_of(graph_memory_of(context, device), attribute) = 0;
  });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return api_call("cudaDeviceGraphMemTrim",
                  [&](Context& context) { graph_memory_of(context, device).trim(); });
}
