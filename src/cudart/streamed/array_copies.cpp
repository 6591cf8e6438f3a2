// Copies to and from CUDA arrays.
#include <algorithm>

#include "cudart/graph/copy.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

CopySide side_in(Context& context, cudaArray_const_t array, size_t x_bytes, size_t y) {
  return side_of(context.arrays().find(array), x_bytes, y, 0);
}

/// Bytes that follow each other in the rows of an array from (x, y) on, as boxes: the rest of the
/// first row, whole rows, the begin of the last. Calls `use` with the array's side of each, the
/// offset in the other memory, and the extents of the box.
template <typename Use>
void for_each_box(Context& context, cudaArray_const_t array, size_t x, size_t y, size_t bytes,
                  Use use) {
  const size_t pitch = context.arrays().find(array).pitch;
  for (size_t done = 0; done < bytes;) {
    const size_t left = bytes - done;
    const size_t rows = x == 0 && left >= pitch ? left / pitch : 1;
    const size_t width = std::min(left / rows, pitch - x);
    use(side_in(context, array, x, y), done, width, rows);
    done += width * rows;
    y += rows;
    x = 0;
  }
}

template <typename Copy>
void to_array(Context& context, cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
              Copy copy) {
  const auto* const source = static_cast<const std::byte*>(from);
  for_each_box(context, to, x, y, bytes,
               [&](const CopySide& side, size_t offset, size_t width, size_t rows) {
                 copy(rows_copy(side, side_of(source + offset, width), width, rows));
               });
}

template <typename Copy>
void from_array(Context& context, void* to, cudaArray_const_t from, size_t x, size_t y,
                size_t bytes, Copy copy) {
  auto* const target = static_cast<std::byte*>(to);
  for_each_box(context, from, x, y, bytes,
               [&](const CopySide& side, size_t offset, size_t width, size_t rows) {
                 copy(rows_copy(side_of(target + offset, width), side, width, rows));
               });
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
    to_array(context, to, x, y, from, bytes, [&](const CopyOperation& copy) {
      copy_and_wait(context, stream_of(context), copy, kind);
    });
  });
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                   size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call("cudaMemcpyToArrayAsync", [&](Context& context) {
    to_array(context, to, x, y, from, bytes, [&](const CopyOperation& copy) {
      copy_async(context, stream_of(context, stream), copy, kind);
    });
  });
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  return api_call("cudaMemcpyFromArray", [&](Context& context) {
    from_array(context, to, from, x, y, bytes, [&](const CopyOperation& copy) {
      copy_and_wait(context, stream_of(context), copy, kind);
    });
  });
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y,
                                     size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call("cudaMemcpyFromArrayAsync", [&](Context& context) {
    from_array(context, to, from, x, y, bytes, [&](const CopyOperation& copy) {
      copy_async(context, stream_of(context, stream), copy, kind);
    });
  });
}
