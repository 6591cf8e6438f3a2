// Copies and fills of memory with plain addresses.
#include "cudart/graph/copy.hpp"
#include "cudart/state/pointers.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

CopyOperation rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                   std::size_t width, std::size_t height) {
  return rows_copy(side_of(to, to_pitch), side_of(from, from_pitch), width, height);
}

CopyOperation to_variable(Context& context, const void* symbol, const void* from, std::size_t bytes,
                          std::size_t offset, cudaMemcpyKind kind) {
  require(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
              kind == cudaMemcpyDefault,
          cudaErrorInvalidMemcpyDirection);
  return linear_copy(address_in_variable(context, symbol, bytes, offset), from, bytes);
}

CopyOperation from_variable(Context& context, void* to, const void* symbol, std::size_t bytes,
                            std::size_t offset, cudaMemcpyKind kind) {
  require(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
              kind == cudaMemcpyDefault,
          cudaErrorInvalidMemcpyDirection);
  return linear_copy(to, address_in_variable(context, symbol, bytes, offset), bytes);
}

FillOperation volume(cudaPitchedPtr to, int value, cudaExtent extent) {
  return {.to = side_of(to.ptr, to.pitch, to.pitch * to.ysize),
          .value = static_cast<unsigned char>(value),
          .width = extent.width,
          .rows = extent.height,
          .slices = extent.depth};
}

FillOperation rectangle(void* to, std::size_t pitch, int value, std::size_t width,
                        std::size_t height) {
  return {.to = side_of(to, pitch),
          .value = static_cast<unsigned char>(value),
          .width = width,
          .rows = height};
}

/// The arguments of cudaMemcpyBatchAsync: attributes[k] are those of the copies from firsts[k] on.
struct Batch {
  void* const* to;
  const void* const* from;
  const std::size_t* sizes;
  std::size_t count;
  const cudaMemcpyAttributes* attributes;
  const std::size_t* firsts;
  std::size_t kinds;
};

void require_batch(const Batch& batch) {
  require(batch.to != nullptr && batch.from != nullptr && batch.sizes != nullptr &&
              batch.attributes != nullptr && batch.firsts != nullptr,
          cudaErrorInvalidValue);
  require(batch.count > 0 && batch.kinds > 0 && batch.firsts[0] == 0, cudaErrorInvalidValue);
  for (std::size_t kind = 0; kind < batch.kinds; ++kind) {
    require(batch.firsts[kind] < batch.count, cudaErrorInvalidValue);
    require(kind == 0 || batch.firsts[kind] > batch.firsts[kind - 1], cudaErrorInvalidValue);
    const cudaMemcpySrcAccessOrder order = batch.attributes[kind].srcAccessOrder;
    require(order == cudaMemcpySrcAccessOrderStream ||
                order == cudaMemcpySrcAccessOrderDuringApiCall ||
                order == cudaMemcpySrcAccessOrderAny,
            cudaErrorInvalidValue);
  }
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api_call("cudaMemcpy", [&](Context& context) {
    copy_and_wait(context, stream_of(context), linear_copy(to, from, bytes), kind);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api_call("cudaMemcpyAsync", [&](Context& context) {
    copy_async(context, stream_of(context, stream), linear_copy(to, from, bytes), kind);
  });
}

cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes,
                                 size_t count, cudaMemcpyAttributes* attributes, size_t* firsts,
                                 size_t kinds, cudaStream_t handle) {
  return api_call("cudaMemcpyBatchAsync", [&](Context& context) {
    CUstream_st& stream = stream_of(context, handle);
    require(&stream != &context.streams().legacy(), cudaErrorInvalidValue);
    require_batch({to, from, sizes, count, attributes, firsts, kinds});
    for (std::size_t i = 0, kind = 0; i < count; ++i) {
      if (kind + 1 < kinds && firsts[kind + 1] == i) ++kind;
      const CopyOperation copy = linear_copy(to[i], from[i], sizes[i]);
      // The source may be gone once the call has returned.
      const bool at_once = attributes[kind].srcAccessOrder == cudaMemcpySrcAccessOrderDuringApiCall;
      (at_once && stream.capture == nullptr ? copy_and_wait : copy_async)(context, stream, copy,
                                                                          cudaMemcpyDefault);
    }
  });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return api_call("cudaMemcpy2D", [&](Context& context) {
    copy_and_wait(context, stream_of(context), rows(to, to_pitch, from, from_pitch, width, height),
                  kind);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return api_call("cudaMemcpy2DAsync", [&](Context& context) {
    copy_async(context, stream_of(context, stream),
               rows(to, to_pitch, from, from_pitch, width, height), kind);
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
  return api_call("cudaMemcpy3D", [&](Context& context) {
    require(copy != nullptr, cudaErrorInvalidValue);
    copy_and_wait(context, stream_of(context), volume_copy(context, *copy), copy->kind);
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
  return api_call("cudaMemcpy3DAsync", [&](Context& context) {
    require(copy != nullptr, cudaErrorInvalidValue);
    copy_async(context, stream_of(context, stream), volume_copy(context, *copy), copy->kind);
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return api_call("cudaMemset", [&](Context& context) {
    fill_async(context, stream_of(context), rectangle(to, bytes, value, bytes, 1));
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return api_call("cudaMemsetAsync", [&](Context& context) {
    fill_async(context, stream_of(context, stream), rectangle(to, bytes, value, bytes, 1));
  });
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return api_call("cudaMemset2D", [&](Context& context) {
    fill_async(context, stream_of(context), rectangle(to, pitch, value, width, height));
  });
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return api_call("cudaMemset2DAsync", [&](Context& context) {
    fill_async(context, stream_of(context, stream), rectangle(to, pitch, value, width, height));
  });
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return api_call("cudaMemset3D", [&](Context& context) {
    fill_async(context, stream_of(context), volume(to, value, extent));
  });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent,
                              cudaStream_t stream) {
  return api_call("cudaMemset3DAsync", [&](Context& context) {
    fill_async(context, stream_of(context, stream), volume(to, value, extent));
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return api_call("cudaMemcpyToSymbol", [&](Context& context) {
    const CopyOperation copy = to_variable(context, symbol, from, bytes, offset, kind);
    copy_and_wait(context, stream_of(context), copy, kind);
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call("cudaMemcpyToSymbolAsync", [&](Context& context) {
    const CopyOperation copy = to_variable(context, symbol, from, bytes, offset, kind);
    copy_async(context, stream_of(context, stream), copy, kind);
  });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return api_call("cudaMemcpyFromSymbol", [&](Context& context) {
    const CopyOperation copy = from_variable(context, to, symbol, bytes, offset, kind);
    copy_and_wait(context, stream_of(context), copy, kind);
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call("cudaMemcpyFromSymbolAsync", [&](Context& context) {
    const CopyOperation copy = from_variable(context, to, symbol, bytes, offset, kind);
    copy_async(context, stream_of(context, stream), copy, kind);
  });
}

cudaError_t cudaMemPrefetchAsync(const void* memory, size_t bytes, cudaMemLocation, unsigned,
                                 cudaStream_t stream) {
  return api_call("cudaMemPrefetchAsync", [&](Context& context) {
    stream_of(context, stream);
    require_on_device(context, reinterpret_cast<std::uint64_t>(memory), bytes);
  });
}
