// Memory pools: their attributes. Memory in stream order is in streamed/pool_memory.cpp.
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

CUmemPoolHandle_st& pool_of(Context& context, cudaMemPool_t handle) {
  return context.memory().pool(handle);
}

void require_location(const cudaMemLocation* location) {
  require(location != nullptr, cudaErrorInvalidValue);
  if (location->type == cudaMemLocationTypeDevice) require_device(location->id);
}

/// The member that an attribute of 64 bits names; null for the flags.
std::uint64_t* figure_of(CUmemPoolHandle_st& pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      return &pool.release_threshold;
    case cudaMemPoolAttrUsedMemCurrent:
    case cudaMemPoolAttrReservedMemCurrent:
      return &pool.used;
    case cudaMemPoolAttrUsedMemHigh:
    case cudaMemPoolAttrReservedMemHigh:
      return &pool.most_used;
    default:
      return nullptr;
  }
}

int& flag_of(CUmemPoolHandle_st& pool, cudaMemPoolAttr attribute) {
  require(attribute >= cudaMemPoolReuseFollowEventDependencies &&
              attribute <= cudaMemPoolReuseAllowInternalDependencies,
          cudaErrorInvalidValue);
  return pool.reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
}

cudaError_t get_pool(const char* name, cudaMemPool_t* pool, bool valid, bool current) {
  return api_call(name, [&](Context& context) {
    require(pool != nullptr && valid, cudaErrorInvalidValue);
    *pool = current ? &context.memory().current_pool() : &context.memory().default_pool();
  });
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return get_pool("cudaDeviceGetDefaultMemPool", pool, device == 0, false);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return get_pool("cudaDeviceGetMemPool", pool, device == 0, true);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return api_call("cudaDeviceSetMemPool", [&](Context& context) {
    require_device(device);
    context.memory().set_current_pool(pool_of(context, pool));
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return api_call("cudaMemPoolCreate", [&](Context& context) {
    require(pool != nullptr && properties != nullptr &&
                properties->allocType == cudaMemAllocationTypePinned,
            cudaErrorInvalidValue);
    require_location(&properties->location);
    *pool = &context.memory().create_pool();
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return api_call("cudaMemPoolDestroy",
                  [&](Context& context) { context.memory().destroy_pool(pool_of(context, pool)); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return api_call("cudaMemPoolSetAttribute", [&](Context& context) {
    require(value != nullptr, cudaErrorInvalidValue);
    CUmemPoolHandle_st& pool = pool_of(context, handle);
    std::uint64_t* const figure = figure_of(pool, attribute);
    if (figure == nullptr) {
      flag_of(pool, attribute) = *static_cast<const int*>(value);
    } else if (figure == &pool.release_threshold) {
      *figure = *static_cast<const std::uint64_t*>(value);
    } else {
      require(figure == &pool.most_used && *static_cast<const std::uint64_t*>(value) == 0,
              cudaErrorInvalidValue);
      *figure = pool.used;
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return api_call("cudaMemPoolGetAttribute", [&](Context& context) {
    require(value != nullptr, cudaErrorInvalidValue);
    CUmemPoolHandle_st& pool = pool_of(context, handle);
    if (const std::uint64_t* figure = figure_of(pool, attribute)) {
      *static_cast<std::uint64_t*>(value) = *figure;
    } else {
      *static_cast<int*>(value) = flag_of(pool, attribute);
    }
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return api_call("cudaMemPoolTrimTo", [&](Context& context) {
    pool_of(context, pool);
    context.memory().sweep();
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access,
                                 size_t count) {
  return api_call("cudaMemPoolSetAccess", [&](Context& context) {
    pool_of(context, pool);
    for (size_t i = 0; i < count; ++i) require_location(&access[i].location);
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return api_call("cudaMemPoolGetAccess", [&](Context& context) {
    pool_of(context, pool);
    require_location(location);
    require(flags != nullptr, cudaErrorInvalidValue);
    *flags = cudaMemAccessFlagsProtReadWrite;
  });
}
