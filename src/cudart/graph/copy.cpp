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

CopySide side_of(const cudaArray& array, std::size_t x_bytes, std::size_t y, std::size_t z) {
  require(y < array.rows() && z < array.slices() && x_bytes <= array.pitch, cudaErrorInvalidValue);
  CopySide side{.address = array.address,
                .pitch = array.pitch,
                .slice_pitch = array.pitch * array.rows(),
                .on_device = true,
                .array = array.array,
                .level = array.level};
  side = side.at(y, z);
  side.address += x_bytes;
  side.x_bytes = x_bytes;
  return side;
}

namespace {

/// The host waits for all bytes of a longer copy from memory that is not pinned.
constexpr std::size_t most_staged = 64 << 10;

/// One side of a 3-D copy. Positions in an array count elements, others bytes.
CopySide volume_side(Context& context, cudaArray_t array, const cudaPitchedPtr& pointer,
                     const cudaPos& at) {
  require((array != nullptr) != (pointer.ptr != nullptr), cudaErrorInvalidValue);
  if (array != nullptr) {
    const cudaArray& known = context.arrays().find(array);
    return side_of(known, at.x * known.element_bytes, at.y, at.z);
  }
  CopySide side = side_of(pointer.ptr, pointer.pitch, pointer.pitch * pointer.ysize).at(at.y, at.z);
  side.address += at.x;
  return side;
}

}  // namespace

CopyOperation volume_copy(Context& context, const cudaMemcpy3DParms& copy) {
  CopyOperation operation{.to = volume_side(context, copy.dstArray, copy.dstPtr, copy.dstPos),
                          .from = volume_side(context, copy.srcArray, copy.srcPtr, copy.srcPos),
                          .row_bytes = copy.extent.width,
                          .rows = copy.extent.height,
                          .slices = copy.extent.depth};
  const cudaArray_t array = copy.dstArray != nullptr ? copy.dstArray : copy.srcArray;
  if (array != nullptr) operation.row_bytes *= context.arrays().find(array).element_bytes;
  require(operation.rows <= 1 || (operation.row_bytes <= operation.to.pitch &&
                                  operation.row_bytes <= operation.from.pitch),
          cudaErrorInvalidPitchValue);
  return operation;
}

void copy_async(Context& context, CUstream_st& stream, CopyOperation copy, cudaMemcpyKind kind) {
  resolve(context, copy, kind);
  submit(context, stream, copy);
}

void copy_and_wait(Context& context, CUstream_st& stream, CopyOperation copy, cudaMemcpyKind kind) {
  require_no_capture(context, stream);
  resolve(context, copy, kind);
  const bool from_program = copy.to.on_device && !copy.from.on_device &&
                            context.memory().find(copy.from.address) == nullptr;
  const bool staged = from_program && copy.row_bytes * copy.rows * copy.slices <= most_staged;
  if (from_program) context.device().synchronize(context.streams().next(stream));
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
  note_filled(context, fill.to.address, nullptr);
  submit(context, stream, fill);
}

}  // namespace tilescope::cudart
