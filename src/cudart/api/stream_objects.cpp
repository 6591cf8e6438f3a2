// Streams and events as objects; the operations in them are in streamed/.
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

/// A GPU of today has priorities 0 to -5; lower numbers come first.
constexpr int least_priority = 0, greatest_priority = -5;

/// A stream may be destroyed while it is captured; without its origin a capture cannot end.
void leave_capture(Context& context, CUstream_st& stream) {
  if (!stream.capture) return;
  stream.capture->last.erase(&stream);
  if (stream.capture->origin != &stream) return;
  stream.capture->invalid = true;
  context.graphs().captures().erase(stream.capture);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return api_call("cudaStreamCreate", [&](Context& context) {
    require(stream != nullptr && (flags & ~unsigned{cudaStreamNonBlocking}) == 0,
            cudaErrorInvalidValue);
    *stream =
        &context.streams().create(flags, std::clamp(priority, greatest_priority, least_priority));
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api_call("cudaStreamDestroy", [&](Context& context) {
    require(stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread,
            cudaErrorInvalidResourceHandle);
    CUstream_st& known = context.streams().find(stream, DefaultStream::legacy);
    leave_capture(context, known);
    context.streams().destroy(known);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api_call("cudaDeviceGetStreamPriorityRange", [&](Context&) {
    if (least != nullptr) *least = least_priority;
    if (greatest != nullptr) *greatest = greatest_priority;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return api_call("cudaEventCreate", [&](Context& context) {
    constexpr unsigned known =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    require(event != nullptr && (flags & ~known) == 0, cudaErrorInvalidValue);
    *event = &context.streams().create_event(flags);
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api_call("cudaEventDestroy", [&](Context& context) {
    context.streams().destroy(context.streams().find(event));
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api_call("cudaEventQuery", [&](Context& context) {
    const CUevent_st& known = context.streams().find(event);
    require(!known.capture, cudaErrorCapturedEvent);
    const bool done = context.device().finished(known.point);
    return done ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api_call("cudaEventSynchronize", [&](Context& context) {
    const CUevent_st& known = context.streams().find(event);
    require(!known.capture, cudaErrorCapturedEvent);
    context.device().synchronize(known.point);
    context.memory().sweep();
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api_call("cudaEventElapsedTime", [&](Context& context) {
    require(milliseconds != nullptr, cudaErrorInvalidValue);
    CUevent_st& from = context.streams().find(start);
    CUevent_st& to = context.streams().find(end);
    for (const CUevent_st* event : {&from, &to}) {
      require(event->recorded && (event->flags & cudaEventDisableTiming) == 0,
              cudaErrorInvalidResourceHandle);
    }
    Device& device = context.device();
    if (!device.finished(from.point) || !device.finished(to.point)) return cudaErrorNotReady;
    *milliseconds = static_cast<float>(device.elapsed_ms(from.point, to.point));
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api_call("cudaThreadExchangeStreamCaptureMode", [&](Context&) {
    static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    require(mode != nullptr, cudaErrorInvalidValue);
    std::swap(current, *mode);
  });
}
