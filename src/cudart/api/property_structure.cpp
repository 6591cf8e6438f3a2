#include "cudart/api/property_structure.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "cudart/state/streams.hpp"

namespace tilescope::cudart {
namespace {

constexpr int longest_pitch = 0x7fffffff;

struct Attribute {
  cudaDeviceAttr id;
  int cudaDeviceProp::*member;
};

/// Attributes that are members of the structure.
constexpr Attribute attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, &cudaDeviceProp::maxThreadsPerBlock},
    {cudaDevAttrWarpSize, &cudaDeviceProp::warpSize},
    {cudaDevAttrMaxRegistersPerBlock, &cudaDeviceProp::regsPerBlock},
    {cudaDevAttrMultiProcessorCount, &cudaDeviceProp::multiProcessorCount},
    {cudaDevAttrIntegrated, &cudaDeviceProp::integrated},
    {cudaDevAttrCanMapHostMemory, &cudaDeviceProp::canMapHostMemory},
    {cudaDevAttrConcurrentKernels, &cudaDeviceProp::concurrentKernels},
    {cudaDevAttrEccEnabled, &cudaDeviceProp::ECCEnabled},
    {cudaDevAttrPciBusId, &cudaDeviceProp::pciBusID},
    {cudaDevAttrPciDeviceId, &cudaDeviceProp::pciDeviceID},
    {cudaDevAttrPciDomainId, &cudaDeviceProp::pciDomainID},
    {cudaDevAttrTccDriver, &cudaDeviceProp::tccDriver},
    {cudaDevAttrGlobalMemoryBusWidth, &cudaDeviceProp::memoryBusWidth},
    {cudaDevAttrMaxPersistingL2CacheSize, &cudaDeviceProp::persistingL2CacheMaxSize},
    {cudaDevAttrMaxAccessPolicyWindowSize, &cudaDeviceProp::accessPolicyMaxWindowSize},
    {cudaDevAttrL2CacheSize, &cudaDeviceProp::l2CacheSize},
    {cudaDevAttrMaxThreadsPerMultiProcessor, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {cudaDevAttrAsyncEngineCount, &cudaDeviceProp::asyncEngineCount},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
    {cudaDevAttrComputeCapabilityMajor, &cudaDeviceProp::major},
    {cudaDevAttrComputeCapabilityMinor, &cudaDeviceProp::minor},
    {cudaDevAttrStreamPrioritiesSupported, &cudaDeviceProp::streamPrioritiesSupported},
    {cudaDevAttrGlobalL1CacheSupported, &cudaDeviceProp::globalL1CacheSupported},
    {cudaDevAttrLocalL1CacheSupported, &cudaDeviceProp::localL1CacheSupported},
    {cudaDevAttrMaxRegistersPerMultiprocessor, &cudaDeviceProp::regsPerMultiprocessor},
    {cudaDevAttrManagedMemory, &cudaDeviceProp::managedMemory},
    {cudaDevAttrIsMultiGpuBoard, &cudaDeviceProp::isMultiGpuBoard},
    {cudaDevAttrMultiGpuBoardGroupID, &cudaDeviceProp::multiGpuBoardGroupID},
    {cudaDevAttrHostNativeAtomicSupported, &cudaDeviceProp::hostNativeAtomicSupported},
    {cudaDevAttrPageableMemoryAccess, &cudaDeviceProp::pageableMemoryAccess},
    {cudaDevAttrConcurrentManagedAccess, &cudaDeviceProp::concurrentManagedAccess},
    {cudaDevAttrComputePreemptionSupported, &cudaDeviceProp::computePreemptionSupported},
    {cudaDevAttrCanUseHostPointerForRegisteredMem,
     &cudaDeviceProp::canUseHostPointerForRegisteredMem},
    {cudaDevAttrCooperativeLaunch, &cudaDeviceProp::cooperativeLaunch},
    {cudaDevAttrHostRegisterSupported, &cudaDeviceProp::hostRegisterSupported},
    {cudaDevAttrMaxBlocksPerMultiprocessor, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {cudaDevAttrMemoryPoolsSupported, &cudaDeviceProp::memoryPoolsSupported},
    {cudaDevAttrClusterLaunch, &cudaDeviceProp::clusterLaunch},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
};

void set_dimensions(cudaDeviceProp& p, const DeviceProperties& gpu) {
  const auto put = [](int(&to)[3], const Dim3& from) {
    to[0] = static_cast<int>(from.x);
    to[1] = static_cast<int>(from.y);
    to[2] = static_cast<int>(from.z);
  };
  put(p.maxThreadsDim, gpu.max_block);
  put(p.maxGridSize, gpu.max_grid);
}

void set_features(cudaDeviceProp& p, const DeviceProperties& gpu) {
  p.canMapHostMemory = 1;
  p.concurrentKernels = gpu.concurrent_kernels ? 1 : 0;
  p.ECCEnabled = 1;
  p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.cooperativeLaunch = 1;
  p.clusterLaunch = gpu.compute_major >= 9 ? 1 : 0;
}

}  // namespace

cudaDeviceProp properties_of(const DeviceProperties& gpu) {
  cudaDeviceProp p = {};
  gpu.name.copy(p.name, sizeof p.name - 1);
  p.totalGlobalMem = gpu.global_bytes;
  p.sharedMemPerBlock = gpu.shared_bytes_per_block;
  p.sharedMemPerBlockOptin = gpu.shared_bytes_per_block_optin;
  p.sharedMemPerMultiprocessor = gpu.shared_bytes_per_sm;
  p.reservedSharedMemPerBlock = gpu.reserved_shared_bytes_per_block;
  p.regsPerBlock = gpu.registers_per_block;
  p.regsPerMultiprocessor = gpu.registers_per_sm;
  p.warpSize = gpu.warp_size;
  p.memPitch = longest_pitch;
  p.maxThreadsPerBlock = gpu.max_threads_per_block;
  p.maxThreadsPerMultiProcessor = gpu.max_threads_per_sm;
  p.maxBlocksPerMultiProcessor = gpu.max_blocks_per_sm;
  p.totalConstMem = gpu.constant_bytes;
  p.major = gpu.compute_major;
  p.minor = gpu.compute_minor;
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = gpu.sm_count;
  p.asyncEngineCount = gpu.copy_engines;
  p.memoryBusWidth = gpu.memory_bus_bits;
  p.l2CacheSize = static_cast<int>(gpu.l2_bytes);
  p.persistingL2CacheMaxSize = p.l2CacheSize / 8 * 5;  // as on an H200
  p.accessPolicyMaxWindowSize = most_window_bytes;
  p.pciBusID = 1;
  p.hostNumaId = -1;
  set_dimensions(p, gpu);
  set_features(p, gpu);
  return p;
}

int attribute_of(const DeviceProperties& gpu, cudaDeviceAttr attribute) {
  const cudaDeviceProp p = properties_of(gpu);
  const auto found = std::find_if(std::begin(attributes), std::end(attributes),
                                  [&](const Attribute& row) { return row.id == attribute; });
  if (found != std::end(attributes)) return p.*(found->member);
  if (attribute >= cudaDevAttrMaxBlockDimX && attribute <= cudaDevAttrMaxBlockDimZ) {
    return p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
  }
  if (attribute >= cudaDevAttrMaxGridDimX && attribute <= cudaDevAttrMaxGridDimZ) {
    return p.maxGridSize[attribute - cudaDevAttrMaxGridDimX];
  }
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(p.totalConstMem);
    case cudaDevAttrMaxPitch:
      return longest_pitch;
    case cudaDevAttrClockRate:
      return gpu.core_clock_khz;
    case cudaDevAttrMemoryClockRate:
      return gpu.memory_clock_khz;
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrSurfaceAlignment:
      return static_cast<int>(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment:
      return static_cast<int>(p.texturePitchAlignment);
    case cudaDevAttrGpuOverlap:
      return p.asyncEngineCount > 0 ? 1 : 0;
    case cudaDevAttrHostNumaId:
      return p.hostNumaId;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return 2;
    default:
      require(attribute > 0 && attribute < cudaDevAttrMax, cudaErrorInvalidValue);
      return 0;  // a feature or limit that the device does not have
  }
}

}  // namespace tilescope::cudart
