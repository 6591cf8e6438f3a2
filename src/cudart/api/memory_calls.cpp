// Allocating and freeing memory, and what a pointer is.
#include "cudart/state/api_call.hpp"
#include "cudart/state/pointers.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

/// The alignment of rows of cudaMallocPitch.
constexpr std::size_t row_alignment = 512;

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

void* allocate(Context& context, MemoryKind kind, std::size_t bytes, unsigned flags) {
  if (bytes == 0) return nullptr;
  const MemoryBlock& block = context.memory().allocate(kind, bytes, flags, context.here());
  context.sizes().allocated(block.address);
  return reinterpret_cast<void*>(block.address);
}

void* allocate_rows(Context& context, std::size_t* pitch, std::size_t width, std::size_t rows) {
  *pitch = (width + row_alignment - 1) / row_alignment * row_alignment;
  require(rows == 0 || *pitch <= SIZE_MAX / rows, cudaErrorMemoryAllocation);
  return allocate(context, MemoryKind::device, *pitch * rows, 0);
}

void free(Context& context, void* pointer, MemoryKind kind, MemoryKind or_kind) {
  if (pointer == nullptr) return;
  context.device().synchronize();  // work may use it
  context.memory().sweep();
  const std::uint64_t address = address_of(pointer);
  if (GraphBlock* const block = context.graph_memory().find(address)) {
    *context.graph_memory().free(*block, context.here()) = true;
    return;
  }
  if (context.memory().free(address, kind, or_kind, context.here())) return;
  report_bad_free(context, address);
  throw Failure{cudaErrorInvalidValue};
}

cudaMemoryType type_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device:
      return cudaMemoryTypeDevice;
    case MemoryKind::managed:
      return cudaMemoryTypeManaged;
    case MemoryKind::pinned:
    case MemoryKind::registered:
      return cudaMemoryTypeHost;
    case MemoryKind::array:
      break;
  }
  return cudaMemoryTypeUnregistered;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return api_call("cudaMalloc", [&](Context& context) {
    require(pointer != nullptr, cudaErrorInvalidValue);
    *pointer = allocate(context, MemoryKind::device, bytes, 0);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return api_call("cudaMallocPitch", [&](Context& context) {
    require(pointer != nullptr && pitch != nullptr, cudaErrorInvalidValue);
    *pointer = allocate_rows(context, pitch, width, height);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return api_call("cudaMalloc3D", [&](Context& context) {
    require(pitched != nullptr, cudaErrorInvalidValue);
    pitched->ptr =
        allocate_rows(context, &pitched->pitch, extent.width, extent.height * extent.depth);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return api_call("cudaMallocManaged", [&](Context& context) {
    require(pointer != nullptr && bytes > 0 &&
                (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost),
            cudaErrorInvalidValue);
    *pointer = allocate(context, MemoryKind::managed, bytes, flags);
  });
}

cudaError_t cudaFree(void* pointer) {
  return api_call("cudaFree", [&](Context& context) {
    context.device();
    free(context, pointer, MemoryKind::device, MemoryKind::managed);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return api_call("cudaHostAlloc", [&](Context& context) {
    constexpr unsigned known =
        cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    require(pointer != nullptr && (flags & ~known) == 0, cudaErrorInvalidValue);
    *pointer = allocate(context, MemoryKind::pinned, bytes, flags);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return api_call("cudaFreeHost", [&](Context& context) {
    free(context, pointer, MemoryKind::pinned, MemoryKind::pinned);
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return api_call("cudaHostRegister", [&](Context& context) {
    require(pointer != nullptr && bytes > 0, cudaErrorInvalidValue);
    context.memory().register_host(pointer, bytes, flags, context.here());
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return api_call("cudaHostUnregister", [&](Context& context) {
    const bool done = context.memory().free(address_of(pointer), MemoryKind::registered,
                                            MemoryKind::registered, context.here());
    require(done, cudaErrorHostMemoryNotRegistered);
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return api_call("cudaHostGetDevicePointer", [&](Context& context) {
    const MemoryBlock* const block = context.memory().find(host);
    require(device != nullptr && flags == 0 && block != nullptr && block->on_host(),
            cudaErrorInvalidValue);
    *device = host;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return api_call("cudaHostGetFlags", [&](Context& context) {
    const MemoryBlock* const block = context.memory().find(host);
    require(flags != nullptr && block != nullptr && block->on_host(), cudaErrorInvalidValue);
    *flags = block->flags | cudaHostAllocMapped;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return api_call("cudaMemGetInfo", [&](Context& context) {
    require(free_bytes != nullptr && total_bytes != nullptr, cudaErrorInvalidValue);
    *total_bytes = context.memory().capacity();
    *free_bytes = *total_bytes - std::min(*total_bytes, context.memory().used());
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api_call("cudaPointerGetAttributes", [&](Context& context) {
    require(attributes != nullptr, cudaErrorInvalidValue);
    *attributes = {};
    auto* const same = const_cast<void*>(pointer);
    const MemoryBlock* const block = context.memory().find(pointer);
    if (block != nullptr) {
      attributes->type = type_of(block->kind);
      attributes->devicePointer = same;
      attributes->hostPointer = block->on_host() ? same : nullptr;
    } else if (context.code().variable_at(address_of(pointer)) != nullptr) {
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = same;
    } else {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = same;
    }
  });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return api_call("cudaMemAdvise", [&](Context& context) {
    require_on_device(context, address_of(pointer), bytes);
  });
}
