// Copies and fills as the API's functions build them.
#pragma once

#include "cudart/graph/submit.hpp"

namespace tilescope::cudart {

/// A side that begins at `pointer`.
CopySide side_of(const void* pointer, std::size_t pitch, std::size_t slice_pitch = 0);
/// A side that begins in an array.
CopySide side_of(const cudaArray& array, std::size_t x_bytes, std::size_t y, std::size_t z);
CopyOperation linear_copy(void* to, const void* from, std::size_t bytes);
/// Throws cudaErrorInvalidPitchValue if a row is longer than a pitch.
CopyOperation rows_copy(CopySide to, CopySide from, std::size_t width, std::size_t height);

/// Throws cudaErrorInvalidValue unless each side is an array or a pitched pointer.
CopyOperation volume_copy(Context& context, const cudaMemcpy3DParms& copy);

/// Checks the copy against `kind` and the allocations, and submits it.
void copy_async(Context& context, CUstream_st& stream, CopyOperation copy, cudaMemcpyKind kind);
/// The same; then the host waits as CUDA says: not if both sides are on the device; from at
/// most 64 KiB that are not pinned, for the work before the copy.
void copy_and_wait(Context& context, CUstream_st& stream, CopyOperation copy, cudaMemcpyKind kind);
void fill_async(Context& context, CUstream_st& stream, const FillOperation& fill);

}  // namespace tilescope::cudart
