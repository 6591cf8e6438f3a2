// Functions that CUDA 12's library has with other parameters or structures than CUDA 13's. Each
// calls the one of CUDA 13.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cudart/state/refusal.hpp"

/// Defines `name` as a program sees it that was built with CUDA 12.
#define CUDA12(name)                                              \
  __asm__(".symver cuda12_" #name ", " #name "@libcudart.so.12"); \
  extern "C" cudaError_t cuda12_##name

// The variants for the default stream of each thread, which the header does not declare.
extern "C" {
cudaError_t cudaMemPrefetchAsync_ptsz(const void*, std::size_t, cudaMemLocation, unsigned,
                                      cudaStream_t);
cudaError_t cudaMemcpyBatchAsync_ptsz(void* const*, const void* const*, const std::size_t*,
                                      std::size_t, cudaMemcpyAttributes*, std::size_t*, std::size_t,
                                      cudaStream_t);
cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t, cudaStreamCaptureStatus*,
                                          unsigned long long*, cudaGraph_t*,
                                          const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                          std::size_t*);
cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t, cudaGraphNode_t*,
                                                     const cudaGraphEdgeData*, std::size_t,
                                                     unsigned);
}

namespace {

using tilescope::cudart::refuse;

cudaError_t refused(const char* name) {
  return static_cast<cudaError_t>(refuse(name));
}

cudaMemLocation location_of(int device) {
  return {.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
          .id = device == cudaCpuDeviceId ? 0 : device};
}

/// CUDA 12's cudaDeviceProp: CUDA 13's with some numbers more in between.
class OldProperties {
 public:
  explicit OldProperties(void* to) : to_(static_cast<std::byte*>(to)) {
    constexpr std::size_t all = 1032;
    std::memset(to_, 0, all);
  }
  /// Copies the members from `first` to `last`, which have no gap between them.
  template <typename First, typename Last>
  void copy(const First& first, const Last& last) {
    at_ = (at_ + alignof(First) - 1) / alignof(First) * alignof(First);
    const auto* const begin = reinterpret_cast<const std::byte*>(&first);
    const auto bytes =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&last) - begin) + sizeof last;
    std::memcpy(to_ + at_, begin, bytes);
    at_ += bytes;
  }
  template <typename T>
  void put(const T& value) {
    copy(value, value);
  }

 private:
  std::byte* to_;
  std::size_t at_ = 0;
};

int attribute(cudaDeviceAttr id, int device) {
  int value = 0;
  cudaDeviceGetAttribute(&value, id, device);
  return value;
}

void write_old(void* to, const cudaDeviceProp& p, int device) {
  OldProperties old(to);
  old.copy(p.name, p.maxGridSize);
  old.put(attribute(cudaDevAttrClockRate, device));
  old.put(p.totalConstMem);
  old.copy(p.major, p.minor);
  old.copy(p.textureAlignment, p.texturePitchAlignment);
  old.put(attribute(cudaDevAttrGpuOverlap, device));
  old.put(p.multiProcessorCount);
  old.put(attribute(cudaDevAttrKernelExecTimeout, device));
  old.copy(p.integrated, p.canMapHostMemory);
  old.put(attribute(cudaDevAttrComputeMode, device));
  old.copy(p.maxTexture1D, p.maxTexture1DMipmap);
  old.put(attribute(cudaDevAttrMaxTexture1DLinearWidth, device));
  old.copy(p.maxTexture2D, p.maxSurfaceCubemapLayered);
  old.put(p.surfaceAlignment);
  old.copy(p.concurrentKernels, p.unifiedAddressing);
  old.put(attribute(cudaDevAttrMemoryClockRate, device));
  old.copy(p.memoryBusWidth, p.localL1CacheSupported);
  old.put(p.sharedMemPerMultiprocessor);
  old.copy(p.regsPerMultiprocessor, p.hostNativeAtomicSupported);
  old.put(attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio, device));
  old.copy(p.pageableMemoryAccess, p.cooperativeLaunch);
  constexpr int launches_on_several_devices = 0;
  old.put(launches_on_several_devices);
  old.put(p.sharedMemPerBlockOptin);
  old.copy(p.pageableMemoryAccessUsesHostPageTables, p.accessPolicyMaxWindowSize);
  old.put(p.reservedSharedMemPerBlock);
  old.copy(p.hostRegisterSupported, p.unifiedFunctionPointers);
}

/// CUDA 12 also names the copy of a batch that was wrong, or none.
cudaError_t naming_no_copy(cudaError_t code, std::size_t* failed) {
  if (code != cudaSuccess && failed != nullptr) *failed = SIZE_MAX;
  return code;
}

}  // namespace

// --- the device ----------------------------------------------------------------------------------

CUDA12(cudaGetDeviceProperties_v2)(void* properties, int device) {
  if (properties == nullptr) return cudaGetDeviceProperties(nullptr, device);
  cudaDeviceProp now{};
  const cudaError_t error = cudaGetDeviceProperties(&now, device);
  if (error == cudaSuccess) write_old(properties, now, device);
  return error;
}
/// The structure of CUDA 11; headers of CUDA 12 do not use it.
CUDA12(cudaGetDeviceProperties)() {
  return refused("cudaGetDeviceProperties of CUDA 11");
}
CUDA12(cudaRuntimeGetVersion)(int* version) {
  constexpr int cuda12 = 12090;
  const cudaError_t error = cudaRuntimeGetVersion(version);
  if (error == cudaSuccess) *version = cuda12;
  return error;
}
CUDA12(cudaSetDoubleForDevice)(double*) {
  return cudaSuccess;  // since compute capability 1.3 there is nothing to convert
}
CUDA12(cudaSetDoubleForHost)(double*) {
  return cudaSuccess;
}
CUDA12(cudaLaunchCooperativeKernelMultiDevice)() {
  return refused("cudaLaunchCooperativeKernelMultiDevice");
}

// --- memory --------------------------------------------------------------------------------------

CUDA12(cudaMemAdvise)(const void* data, std::size_t bytes, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(data, bytes, advice, location_of(device));
}
CUDA12(cudaMemPrefetchAsync)(const void* data, std::size_t bytes, int device, cudaStream_t stream) {
  return cudaMemPrefetchAsync(data, bytes, location_of(device), 0, stream);
}
CUDA12(cudaMemPrefetchAsync_ptsz)
(const void* data, std::size_t bytes, int device, cudaStream_t stream) {
  return cudaMemPrefetchAsync_ptsz(data, bytes, location_of(device), 0, stream);
}

CUDA12(cudaMemcpyBatchAsync)
(void** to, void** from, std::size_t* sizes, std::size_t count, cudaMemcpyAttributes* attributes,
 std::size_t* firsts, std::size_t kinds, std::size_t* failed, cudaStream_t stream) {
  return naming_no_copy(
      cudaMemcpyBatchAsync(to, from, sizes, count, attributes, firsts, kinds, stream), failed);
}

CUDA12(cudaMemcpyBatchAsync_ptsz)
(void** to, void** from, std::size_t* sizes, std::size_t count, cudaMemcpyAttributes* attributes,
 std::size_t* firsts, std::size_t kinds, std::size_t* failed, cudaStream_t stream) {
  return naming_no_copy(
      cudaMemcpyBatchAsync_ptsz(to, from, sizes, count, attributes, firsts, kinds, stream), failed);
}

CUDA12(cudaPointerGetAttributes)(void* attributes, const void* pointer) {
  cudaPointerAttributes now{};
  const cudaError_t error =
      cudaPointerGetAttributes(attributes == nullptr ? nullptr : &now, pointer);
  if (error == cudaSuccess)
    std::memcpy(attributes, &now, offsetof(cudaPointerAttributes, reserved));
  return error;
}

// --- textures: the structures of CUDA 13 begin with those of CUDA 12 -----------------------------

namespace {

constexpr std::size_t old_resource_bytes = 64, old_view_bytes = 48;

cudaResourceDesc resource_of(const void* old) {
  cudaResourceDesc now{};
  std::memcpy(&now, old, old_resource_bytes);
  return now;
}

}  // namespace

CUDA12(cudaCreateTextureObject)
(cudaTextureObject_t* texture, const void* resource, const cudaTextureDesc* description,
 const void* view) {
  cudaResourceViewDesc whole{};
  if (view != nullptr) std::memcpy(&whole, view, old_view_bytes);
  const cudaResourceDesc now = resource == nullptr ? cudaResourceDesc{} : resource_of(resource);
  return cudaCreateTextureObject(texture, resource == nullptr ? nullptr : &now, description,
                                 view == nullptr ? nullptr : &whole);
}
CUDA12(cudaCreateSurfaceObject)(cudaSurfaceObject_t* surface, const void* resource) {
  const cudaResourceDesc now = resource == nullptr ? cudaResourceDesc{} : resource_of(resource);
  return cudaCreateSurfaceObject(surface, resource == nullptr ? nullptr : &now);
}
CUDA12(cudaGetTextureObjectResourceDesc)(void* resource, cudaTextureObject_t texture) {
  cudaResourceDesc now{};
  const cudaError_t error =
      cudaGetTextureObjectResourceDesc(resource == nullptr ? nullptr : &now, texture);
  if (error == cudaSuccess) std::memcpy(resource, &now, old_resource_bytes);
  return error;
}

// --- graphs: edges without data ------------------------------------------------------------------

CUDA12(cudaGraphAddDependencies)
(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
CUDA12(cudaGraphRemoveDependencies)
(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
CUDA12(cudaGraphAddNode)
(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
 cudaGraphNodeParams* parameters) {
  return cudaGraphAddNode(node, graph, dependencies, nullptr, count, parameters);
}
CUDA12(cudaGraphGetEdges)
(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* count) {
  return cudaGraphGetEdges(graph, from, to, nullptr, count);
}
CUDA12(cudaGraphNodeGetDependencies)
(cudaGraphNode_t node, cudaGraphNode_t* dependencies, std::size_t* count) {
  return cudaGraphNodeGetDependencies(node, dependencies, nullptr, count);
}
CUDA12(cudaGraphNodeGetDependentNodes)
(cudaGraphNode_t node, cudaGraphNode_t* dependents, std::size_t* count) {
  return cudaGraphNodeGetDependentNodes(node, dependents, nullptr, count);
}

// --- captures ------------------------------------------------------------------------------------

CUDA12(cudaStreamUpdateCaptureDependencies)
(cudaStream_t stream, cudaGraphNode_t* dependencies, std::size_t count, unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, dependencies, nullptr, count, flags);
}
CUDA12(cudaStreamUpdateCaptureDependencies_ptsz)
(cudaStream_t stream, cudaGraphNode_t* dependencies, std::size_t count, unsigned flags) {
  return cudaStreamUpdateCaptureDependencies_ptsz(stream, dependencies, nullptr, count, flags);
}
CUDA12(cudaStreamGetCaptureInfo)
(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return cudaStreamGetCaptureInfo(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUDA12(cudaStreamGetCaptureInfo_ptsz)
(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return cudaStreamGetCaptureInfo_ptsz(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUDA12(cudaStreamGetCaptureInfo_v2)
(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
 const cudaGraphNode_t** dependencies, std::size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}
CUDA12(cudaStreamGetCaptureInfo_v2_ptsz)
(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
 const cudaGraphNode_t** dependencies, std::size_t* count) {
  return cudaStreamGetCaptureInfo_ptsz(stream, status, id, graph, dependencies, nullptr, count);
}
