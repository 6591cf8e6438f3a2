// Peers: there is one device, which is its own.
#include "cudart/graph/copy.hpp"
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

CopyOperation peer_copy(void* to, int to_device, const void* from, int from_device,
                        std::size_t bytes) {
  require(to_device == 0 && from_device == 0, cudaErrorInvalidDevice);
  return linear_copy(to, from, bytes);
}

}  // namespace

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t bytes) {
  return api_call("cudaMemcpyPeer", [&](Context& context) {
    copy_async(context, context.streams().legacy(),
               peer_copy(to, to_device, from, from_device, bytes), cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t handle) {
  return api_call("cudaMemcpyPeerAsync", [&](Context& context) {
    copy_async(context, context.streams().find(handle, DefaultStream::legacy),
               peer_copy(to, to_device, from, from_device, bytes), cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return api_call("cudaDeviceCanAccessPeer", [&](Context&) {
    require(can != nullptr, cudaErrorInvalidValue);
    require(device == 0 && peer == 0, cudaErrorInvalidDevice);
    *can = 0;  // a device is no peer of itself
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  return api_call("cudaDeviceGetP2PAttribute", [&](Context&) {
    require(value != nullptr, cudaErrorInvalidValue);
    return cudaErrorInvalidDevice;  // a link needs two devices
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned flags) {
  return api_call("cudaDeviceEnablePeerAccess", [&](Context&) {
    require(flags == 0, cudaErrorInvalidValue);
    return cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api_call("cudaDeviceDisablePeerAccess", [&](Context&) {
    return peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice;
  });
}
