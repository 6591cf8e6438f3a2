// Waiting for streams, their order, host functions in them, and what they are.
#include <memory>

#include "cudart/streamed/default_stream.hpp"

using namespace tilescope::cudart;

namespace {

/// A callback of cudaStreamAddCallback, as a host function. Deletes itself.
struct Callback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* data;

  static void run(void* self) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(self));
    callback->function(callback->stream, cudaSuccess, callback->data);
  }
};

}  // namespace

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api_call("cudaStreamSynchronize", [&](Context& context) {
    CUstream_st& stream = stream_of(context, handle);
    require_no_capture(context, stream);
    context.device().synchronize(context.streams().next(stream));
    context.memory().sweep();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return api_call("cudaStreamQuery", [&](Context& context) {
    CUstream_st& stream = stream_of(context, handle);
    require_no_capture(context, stream);
    const bool done = context.device().finished(context.streams().next(stream));
    return done ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  return api_call("cudaStreamWaitEvent", [&](Context& context) {
    submit(context, stream_of(context, handle), WaitOperation{&context.streams().find(event)});
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return api_call("cudaEventRecord", [&](Context& context) {
    submit(context, stream_of(context, handle), RecordOperation{&context.streams().find(event)});
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned) {
  return cudaEventRecord(event, handle);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return api_call("cudaLaunchHostFunc", [&](Context& context) {
    require(function != nullptr, cudaErrorInvalidValue);
    submit(context, stream_of(context, handle), HostOperation{function, data});
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return api_call("cudaStreamAddCallback", [&](Context& context) {
    require(callback != nullptr && flags == 0, cudaErrorInvalidValue);
    CUstream_st& stream = stream_of(context, handle);
    require_no_capture(context, stream);
    submit(context, stream, HostOperation{Callback::run, new Callback{callback, handle, data}});
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return api_call("cudaStreamGetFlags", [&](Context& context) {
    require(flags != nullptr, cudaErrorInvalidValue);
    *flags = stream_of(context, handle).flags;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return api_call("cudaStreamGetPriority", [&](Context& context) {
    require(priority != nullptr, cudaErrorInvalidValue);
    *priority = stream_of(context, handle).priority;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return api_call("cudaStreamGetId", [&](Context& context) {
    require(id != nullptr, cudaErrorInvalidValue);
    *id = stream_of(context, handle).id;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return api_call("cudaStreamGetDevice", [&](Context& context) {
    require(device != nullptr, cudaErrorInvalidValue);
    stream_of(context, handle);
    *device = 0;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void* memory, size_t, unsigned) {
  return api_call("cudaStreamAttachMemAsync", [&](Context& context) {
    stream_of(context, handle);
    const MemoryBlock* const block = context.memory().find(memory);
    require(block != nullptr && block->kind == MemoryKind::managed, cudaErrorInvalidValue);
  });
}
