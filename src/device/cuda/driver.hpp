// The part of CUDA's driver API in use, opened at run time.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

#include "base/dynamic_library.hpp"

namespace tilescope::device {

/// One row per driver function: the member's name, the function (its type comes from cuda.h), and
/// the symbol to look up, which carries the version suffix that cuda.h's macros hide.
#define TILESCOPE_DRIVER_FUNCTIONS(X)                                           \
  X(init, cuInit, "cuInit")                                                     \
  X(driver_version, cuDriverGetVersion, "cuDriverGetVersion")                   \
  X(entry_point, cuGetProcAddress, "cuGetProcAddress_v2")                       \
  X(error_name, cuGetErrorName, "cuGetErrorName")                               \
  X(error_string, cuGetErrorString, "cuGetErrorString")                         \
  X(device_count, cuDeviceGetCount, "cuDeviceGetCount")                         \
  X(device_get, cuDeviceGet, "cuDeviceGet")                                     \
  X(device_name, cuDeviceGetName, "cuDeviceGetName")                            \
  X(device_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute")             \
  X(device_total_memory, cuDeviceTotalMem, "cuDeviceTotalMem_v2")               \
  X(primary_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")       \
  X(primary_release, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2") \
  X(set_current, cuCtxSetCurrent, "cuCtxSetCurrent")                            \
  X(get_current, cuCtxGetCurrent, "cuCtxGetCurrent")                            \
  X(context_synchronize, cuCtxSynchronize, "cuCtxSynchronize")                  \
  X(memory_info, cuMemGetInfo, "cuMemGetInfo_v2")                               \
  X(mem_alloc, cuMemAlloc, "cuMemAlloc_v2")                                     \
  X(mem_free, cuMemFree, "cuMemFree_v2")                                        \
  X(mem_alloc_managed, cuMemAllocManaged, "cuMemAllocManaged")                  \
  X(pool_create, cuMemPoolCreate, "cuMemPoolCreate")                            \
  X(pool_destroy, cuMemPoolDestroy, "cuMemPoolDestroy")                         \
  X(pool_access, cuMemPoolSetAccess, "cuMemPoolSetAccess")                      \
  X(pool_trim, cuMemPoolTrimTo, "cuMemPoolTrimTo")                              \
  X(pool_alloc, cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync")             \
  X(pool_free, cuMemFreeAsync, "cuMemFreeAsync")                                \
  X(pool_set, cuMemPoolSetAttribute, "cuMemPoolSetAttribute")                   \
  X(pool_get, cuMemPoolGetAttribute, "cuMemPoolGetAttribute")                   \
  X(host_alloc, cuMemHostAlloc, "cuMemHostAlloc")                               \
  X(host_free, cuMemFreeHost, "cuMemFreeHost")                                  \
  X(host_register, cuMemHostRegister, "cuMemHostRegister_v2")                   \
  X(host_unregister, cuMemHostUnregister, "cuMemHostUnregister")                \
  X(copy_to_device, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                  \
  X(copy_to_host, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                    \
  X(copy_on_device, cuMemcpyAsync, "cuMemcpyAsync")                             \
  X(copy_2d, cuMemcpy2DAsync, "cuMemcpy2DAsync_v2")                             \
  X(can_access_peer, cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer")            \
  X(enable_peer, cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess")                \
  X(copy_peer, cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync")                      \
  X(set_bytes, cuMemsetD8Async, "cuMemsetD8Async")                              \
  X(set_rows, cuMemsetD2D8Async, "cuMemsetD2D8Async")                           \
  X(copy_3d, cuMemcpy3DAsync, "cuMemcpy3DAsync_v2")                             \
  X(array_create, cuArray3DCreate, "cuArray3DCreate_v2")                        \
  X(array_destroy, cuArrayDestroy, "cuArrayDestroy")                            \
  X(mipmapped_create, cuMipmappedArrayCreate, "cuMipmappedArrayCreate")         \
  X(mipmapped_level, cuMipmappedArrayGetLevel, "cuMipmappedArrayGetLevel")      \
  X(mipmapped_destroy, cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy")      \
  X(texture_create, cuTexObjectCreate, "cuTexObjectCreate")                     \
  X(texture_destroy, cuTexObjectDestroy, "cuTexObjectDestroy")                  \
  X(surface_create, cuSurfObjectCreate, "cuSurfObjectCreate")                   \
  X(surface_destroy, cuSurfObjectDestroy, "cuSurfObjectDestroy")                \
  X(module_load, cuModuleLoadDataEx, "cuModuleLoadDataEx")                      \
  X(module_unload, cuModuleUnload, "cuModuleUnload")                            \
  X(module_function, cuModuleGetFunction, "cuModuleGetFunction")                \
  X(module_global, cuModuleGetGlobal, "cuModuleGetGlobal_v2")                   \
  X(link_create, cuLinkCreate, "cuLinkCreate_v2")                               \
  X(link_add, cuLinkAddData, "cuLinkAddData_v2")                                \
  X(link_complete, cuLinkComplete, "cuLinkComplete")                            \
  X(link_destroy, cuLinkDestroy, "cuLinkDestroy")                               \
  X(function_attribute, cuFuncGetAttribute, "cuFuncGetAttribute")               \
  X(set_function_attribute, cuFuncSetAttribute, "cuFuncSetAttribute")           \
  X(launch_extended, cuLaunchKernelEx, "cuLaunchKernelEx")                      \
  X(launch_host, cuLaunchHostFunc, "cuLaunchHostFunc")                          \
  X(encode_tensor_map, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled")        \
  X(stream_create, cuStreamCreate, "cuStreamCreate")                            \
  X(stream_destroy, cuStreamDestroy, "cuStreamDestroy_v2")                      \
  X(stream_synchronize, cuStreamSynchronize, "cuStreamSynchronize")             \
  X(stream_query, cuStreamQuery, "cuStreamQuery")                               \
  X(stream_wait, cuStreamWaitEvent, "cuStreamWaitEvent")                        \
  X(stream_write, cuStreamWriteValue32, "cuStreamWriteValue32_v2")              \
  X(event_create, cuEventCreate, "cuEventCreate")                               \
  X(event_destroy, cuEventDestroy, "cuEventDestroy_v2")                         \
  X(event_record, cuEventRecord, "cuEventRecord")                               \
  X(event_elapsed, cuEventElapsedTime, "cuEventElapsedTime")                    \
  X(event_query, cuEventQuery, "cuEventQuery")                                  \
  X(event_synchronize, cuEventSynchronize, "cuEventSynchronize")

struct Driver {
  DynamicLibrary shared_object;
  int version = 0;  ///< 1000 * major + 10 * minor

#define TILESCOPE_MEMBER(member, function, symbol) decltype(::function)* member = nullptr;
  TILESCOPE_DRIVER_FUNCTIONS(TILESCOPE_MEMBER)
#undef TILESCOPE_MEMBER

  /// Opens and initialises the driver once per process. Throws Error(no_device) with the reason: no
  /// driver, a driver older than CUDA 12, or no usable device.
  static const Driver& instance();

  /// One line on a failure: the call, the code, its meaning, what to do.
  std::string describe(CUresult result, std::string_view call, std::string_view subject = {}) const;

  /// Throws Error unless `result` is success. `call` names the driver's function, `subject` its
  /// object (may be empty).
  void check(CUresult result, std::string_view call, std::string_view subject = {}) const;
};

}  // namespace tilescope::device
