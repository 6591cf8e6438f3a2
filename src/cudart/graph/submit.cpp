#include "cudart/graph/submit.hpp"

#include <algorithm>

namespace tilescope::cudart {
namespace {

/// A call that cannot be captured spoils the capture.
[[noreturn]] void spoil(Capture& capture, cudaError_t code) {
  capture.invalid = true;
  throw Failure{code};
}

/// Lets the stream take part in the capture of an event that it waits for.
void join(CUstream_st& stream, const CUevent_st& event) {
  require(!event.capture->last.empty(), cudaErrorCapturedEvent);
  if (!stream.capture) stream.capture = event.capture;
  if (stream.capture != event.capture) spoil(*stream.capture, cudaErrorStreamCaptureMerge);
  std::vector<CUgraphNode_st*>& last = stream.capture->last[&stream];
  for (CUgraphNode_st* node : event.captured_behind) {
    if (std::find(last.begin(), last.end(), node) == last.end()) last.push_back(node);
  }
}

void capture(Context& context, CUstream_st& stream, Operation operation) {
  Capture& capture = *stream.capture;
  require(!capture.invalid, cudaErrorStreamCaptureInvalidated);
  std::vector<CUgraphNode_st*>& last = capture.last[&stream];
  if (const auto* record = std::get_if<RecordOperation>(&operation)) {
    record->event->capture = stream.capture;
    record->event->captured_behind = last;
    return;
  }
  if (std::holds_alternative<WaitOperation>(operation)) {
    spoil(capture, cudaErrorStreamCaptureIsolation);
  }
  CUgraphNode_st& node = capture.graph->add(std::move(operation), last);
  node.call = context.here();
  last = {&node};
}

}  // namespace

void require_no_capture(Context& context, const CUstream_st& stream) {
  if (stream.capture) spoil(*stream.capture, cudaErrorStreamCaptureUnsupported);
  if (&stream != &context.streams().legacy()) return;
  for (const auto& active : context.graphs().captures()) {
    if (active->origin->blocking) spoil(*active, cudaErrorStreamCaptureImplicit);
  }
}

void submit(Context& context, CUstream_st& stream, Operation operation) {
  const auto* const wait = std::get_if<WaitOperation>(&operation);
  if (wait != nullptr && wait->event->capture) return join(stream, *wait->event);
  if (stream.capture) return capture(context, stream, std::move(operation));
  require_no_capture(context, stream);
  perform(context, operation, stream, context.here());
}

}  // namespace tilescope::cudart
