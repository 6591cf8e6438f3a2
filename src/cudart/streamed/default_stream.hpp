// The files of this folder are compiled twice: the second time with
// CUDA_API_PER_THREAD_DEFAULT_STREAM, which makes CUDA's header rename their functions to those
// ending in _ptds and _ptsz. There a null stream is the thread's own.
#pragma once

#include "cudart/graph/submit.hpp"
#include "cudart/state/api_call.hpp"

namespace tilescope::cudart {

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
constexpr DefaultStream null_stream = DefaultStream::per_thread;
#else
constexpr DefaultStream null_stream = DefaultStream::legacy;
#endif

/// The stream that a handle names. Not inline: it differs between the two compilations.
[[maybe_unused]] static CUstream_st& stream_of(Context& context, cudaStream_t handle = nullptr) {
  return context.streams().find(handle, null_stream);
}

}  // namespace tilescope::cudart
