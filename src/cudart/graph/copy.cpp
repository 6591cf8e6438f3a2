#include "cudart/graph/copy.hpp"

#include "cudart/state/pointers.hpp"

namespace tilescope::cudart {

CopySide side_of(const void* pointer, std::size_t pitch, std::size_t slice_pitch) {
  return {.address = reinterpret_cast<std::uint64_t>(pointer),
          .pitch = pitch,
          .slice_pitch = slice_pitch};
}

CopyOperation linear_copy(void* to, const void* from, std::size_t bytes) {
  return {.to = side_of(to, bytes), .from = side_of(from, bytes), .row_bytes = bytes};
}

CopyOperation rows_copy(CopySide to, CopySide from, std::size_t width, std::size_t height) {
  require(width <= to.pitch && width <= from.pitch, cudaErrorInvalidPitchValue);
  return {.to = to, .from = from, .row_bytes = width, .rows = height};
}

void copy_async(Context& context, CUstream_st& stream, CopyOperation copy, cudaMemcpyKind kind) {
  resolve(context, copy, kind);
  submit(context, stream, copy);
}

void copy_and_wait(Context& context, CUstream_st& stream, CopyOperation copy, cudaMemcpyKind kind) {
  require(stream.capture == nullptr, cudaErrorStreamCaptureImplicit);
  resolve(context, copy, kind);
  const bool staged = copy.to.on_device && !copy.from.on_device &&
                      context.memory().find(copy.from.address) == nullptr;
  if (staged) context.device().synchronize(context.streams().next(stream));
  perform(context, copy, stream, context.here());
  if (staged || (copy.to.on_device && copy.from.on_device)) return;
  context.device().synchronize(stream.work);
  context.memory().sweep();
}

void fill_async(Context& context, CUstream_st& stream, const FillOperation& fill) {
  const std::size_t bytes = fill.width * fill.element_bytes;
  if (bytes == 0 || fill.rows == 0 || fill.slices == 0) return;
  require(fill.rows == 1 || bytes <= fill.to.pitch, cudaErrorInvalidPitchValue);
  require_on_device(context, fill.to.address, extent(fill.to, bytes, fill.rows, fill.slices));
  submit(context, stream, fill);
}

}  // namespace tilescope::cudart
