// The device: how many, which, its properties and limits, waiting for it, resetting it.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "cudart/api/property_structure.hpp"
#include "cudart/state/api_call.hpp"
#include "device/emulated/emulated_device.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

constexpr const char* bus_id = "0000:01:00.0";

/// The defaults of a GPU, by cudaLimit.
std::array<std::size_t, 7> limits = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
cudaFuncCache cache_config = cudaFuncCachePreferNone;

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return api_call("cudaGetDeviceCount", [&](Context&) {
    require(count != nullptr, cudaErrorInvalidValue);
    *count = 1;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api_call("cudaGetDevice", [&](Context&) {
    require(device != nullptr, cudaErrorInvalidValue);
    *device = 0;
  });
}

cudaError_t cudaSetDevice(int device) {
  return api_call("cudaSetDevice", [&](Context& context) {
    require_device(device);
    context.device();
  });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return api_call("cudaSetValidDevices", [&](Context&) {
    for (int i = 0; i < count; ++i) require_device(devices[i]);
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return api_call("cudaChooseDevice", [&](Context&) {
    require(device != nullptr && wanted != nullptr, cudaErrorInvalidValue);
    *device = 0;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return api_call("cudaSetDeviceFlags", [&](Context&) {
    require((flags & ~unsigned{cudaDeviceMask}) == 0, cudaErrorInvalidValue);
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return api_call("cudaGetDeviceFlags", [&](Context&) {
    require(flags != nullptr, cudaErrorInvalidValue);
    *flags = cudaDeviceMapHost;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api_call("cudaGetDeviceProperties", [&](Context& context) {
    require(properties != nullptr, cudaErrorInvalidValue);
    require_device(device);
    *properties = properties_of(context.gpu());
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api_call("cudaDeviceGetAttribute", [&](Context& context) {
    require(value != nullptr, cudaErrorInvalidValue);
    require_device(device);
    *value = attribute_of(context.gpu(), attribute);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return api_call("cudaDeviceGetPCIBusId", [&](Context&) {
    require(text != nullptr && bytes > static_cast<int>(std::strlen(bus_id)),
            cudaErrorInvalidValue);
    require_device(device);
    std::strcpy(text, bus_id);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return api_call("cudaDeviceGetByPCIBusId", [&](Context&) {
    require(device != nullptr && text != nullptr, cudaErrorInvalidValue);
    require(std::strcmp(text, bus_id) == 0, cudaErrorInvalidDevice);
    *device = 0;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return api_call("cudaDeviceGetLimit", [&](Context&) {
    require(value != nullptr, cudaErrorInvalidValue);
    require(limit >= 0 && limit < limits.size(), cudaErrorUnsupportedLimit);
    *value = limits[limit];
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api_call("cudaDeviceSetLimit", [&](Context& context) {
    require(limit >= 0 && limit < limits.size(), cudaErrorUnsupportedLimit);
    limits[limit] = value;
    auto* const emulated = dynamic_cast<device::EmulatedDevice*>(&context.device());
    if (emulated == nullptr) return;
    emulated->set_limits({.heap_bytes = limits[cudaLimitMallocHeapSize],
                          .pending_launches = limits[cudaLimitDevRuntimePendingLaunchCount]});
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return api_call("cudaDeviceGetCacheConfig", [&](Context&) {
    require(config != nullptr, cudaErrorInvalidValue);
    *config = cache_config;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return api_call("cudaDeviceSetCacheConfig", [&](Context&) { cache_config = config; });
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return api_call("cudaDeviceGetSharedMemConfig", [&](Context&) {
    require(config != nullptr, cudaErrorInvalidValue);
    *config = cudaSharedMemBankSizeFourByte;  // the only one since compute capability 5.0
  });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return api_call("cudaDeviceSetSharedMemConfig", [&](Context&) {});
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return api_call("cudaCtxResetPersistingL2Cache", [&](Context&) {});
}

cudaError_t cudaDeviceSynchronize() {
  return api_call("cudaDeviceSynchronize", [&](Context& context) {
    context.device().synchronize();
    context.memory().sweep();
  });
}

cudaError_t cudaDeviceReset() {
  return plain_call([] {
    Context& context = Context::instance();
    const Context::Call call(context, "cudaDeviceReset");
    context.reset();
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return plain_call([&] {
    require(version != nullptr, cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return cudaRuntimeGetVersion(version);
}

extern "C" cudaError_t cudaProfilerStart() {
  return api_call("cudaProfilerStart", [](Context&) {});
}

extern "C" cudaError_t cudaProfilerStop() {
  return api_call("cudaProfilerStop", [](Context&) {});
}
