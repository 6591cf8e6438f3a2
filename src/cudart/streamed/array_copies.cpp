// Copies to and from CUDA arrays.
#include "cudart/graph/copy.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

CopySide side_in(Context& context, cudaArray_const_t array, size_t x_bytes, size_t y) {
  return side_of(context.arrays().find(array), x_bytes, y, 0);
}

/// Bytes that follow each other in the rows of an array from (x, y) on, which must be the start of
/// a row if they fill more than one.
CopyOperation run_of_bytes(Context& context, cudaArray_const_t array, size_t x_bytes, size_t y,
                           size_t bytes) {
  const CopySide side = side_in(context, array, x_bytes, y);
  require(x_bytes + bytes <= side.pitch || x_bytes == 0, cudaErrorInvalidValue);
  CopyOperation copy{.to = side, .from = side, .row_bytes = bytes};
  copy.to.pitch = copy.from.pitch = bytes;
  return copy;
}

CopyOperation to_array(Context& context, cudaArray_t to, size_t x, size_t y, const void* from,
                       size_t bytes) {
  CopyOperation copy = run_of_bytes(context, to, x, y, bytes);
  copy.from = side_of(from, bytes);
  return copy;
}

CopyOperation from_array(Context& context, void* to, cudaArray_const_t from, size_t x, size_t y,
                         size_t bytes) {
  CopyOperation copy = run_of_bytes(context, from, x, y, bytes);
  copy.to = side_of(to, bytes);
  return copy;
}

}  // namespace

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  return api_call("cudaMemcpy2DToArray", [&](Context& context) {
    copy_and_wait(context, stream_of(context),
                  rows_copy(side_in(context, to, x, y), side_of(from, pitch), width, height), kind);
  });
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return api_call("cudaMemcpy2DToArrayAsync", [&](Context& context) {
    copy_async(context, stream_of(context, stream),
               rows_copy(side_in(context, to, x, y), side_of(from, pitch), width, height), kind);
  });
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
  return api_call("cudaMemcpy2DFromArray", [&](Context& context) {
    copy_and_wait(context, stream_of(context),
                  rows_copy(side_of(to, pitch), side_in(context, from, x, y), width, height), kind);
  });
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return api_call("cudaMemcpy2DFromArrayAsync", [&](Context& context) {
    copy_async(context, stream_of(context, stream),
               rows_copy(side_of(to, pitch), side_in(context, from, x, y), width, height), kind);
  });
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t from_x, size_t from_y,
                                     size_t width, size_t height, cudaMemcpyKind kind) {
  return api_call("cudaMemcpy2DArrayToArray", [&](Context& context) {
    copy_and_wait(context, stream_of(context),
                  rows_copy(side_in(context, to, to_x, to_y),
                            side_in(context, from, from_x, from_y), width, height),
                  kind);
  });
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
  return api_call("cudaMemcpyToArray", [&](Context& context) {
    copy_and_wait(context, stream_of(context), to_array(context, to, x, y, from, bytes), kind);
  });
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                   size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call("cudaMemcpyToArrayAsync", [&](Context& context) {
    copy_async(context, stream_of(context, stream), to_array(context, to, x, y, from, bytes), kind);
  });
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  return api_call("cudaMemcpyFromArray", [&](Context& context) {
    copy_and_wait(context, stream_of(context), from_array(context, to, from, x, y, bytes), kind);
  });
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y,
                                     size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call("cudaMemcpyFromArrayAsync", [&](Context& context) {
    copy_async(context, stream_of(context, stream), from_array(context, to, from, x, y, bytes),
               kind);
  });
}
