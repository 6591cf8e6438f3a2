// Variables of the device by the address of their host shadow.
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

ModuleVariable variable_of(Context& context, const void* symbol) {
  return context.code().variable(context.device(), context.registry().variable(symbol));
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return api_call("cudaGetSymbolAddress", [&](Context& context) {
    require(pointer != nullptr, cudaErrorInvalidValue);
    *pointer = reinterpret_cast<void*>(variable_of(context, symbol).address);
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return api_call("cudaGetSymbolSize", [&](Context& context) {
    require(bytes != nullptr, cudaErrorInvalidValue);
    *bytes = variable_of(context, symbol).bytes;
  });
}
