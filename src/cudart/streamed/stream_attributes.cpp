// Attributes of streams. They say how a GPU should keep lines in its cache and wait: results are
// the same with any, so they are checked and kept.
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope::cudart;

namespace {

cudaStreamAttrValue default_of(cudaStreamAttrID attribute) {
  cudaStreamAttrValue value = {};
  switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeMemSyncDomain:
      break;
    case cudaLaunchAttributeSynchronizationPolicy:
      value.syncPolicy = cudaSyncPolicyAuto;
      break;
    case cudaLaunchAttributeMemSyncDomainMap:
      value.memSyncDomainMap = {.default_ = 0, .remote = 1};
      break;
    default:
      throw Failure{cudaErrorInvalidValue};  // an attribute of launches only
  }
  return value;
}

void require_valid(const cudaAccessPolicyWindow& window) {
  require(window.num_bytes <= most_window_bytes, cudaErrorInvalidValue);
  require(window.hitRatio >= 0 && window.hitRatio <= 1, cudaErrorInvalidValue);
  require(window.missProp != cudaAccessPropertyPersisting, cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value) {
  return api_call("cudaStreamSetAttribute", [&](Context& context) {
    require(value != nullptr, cudaErrorInvalidValue);
    CUstream_st& stream = stream_of(context, handle);
    if (attribute == cudaLaunchAttributePriority) {
      stream.priority = value->priority;
      return;
    }
    default_of(attribute);
    if (attribute == cudaLaunchAttributeAccessPolicyWindow)
      require_valid(value->accessPolicyWindow);
    stream.attributes[attribute] = *value;
  });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value) {
  return api_call("cudaStreamGetAttribute", [&](Context& context) {
    require(value != nullptr, cudaErrorInvalidValue);
    const CUstream_st& stream = stream_of(context, handle);
    if (attribute == cudaLaunchAttributePriority) {
      value->priority = stream.priority;
      return;
    }
    const auto kept = stream.attributes.find(attribute);
    *value = kept == stream.attributes.end() ? default_of(attribute) : kept->second;
  });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return api_call("cudaStreamCopyAttributes", [&](Context& context) {
    stream_of(context, to).attributes = stream_of(context, from).attributes;
  });
}
