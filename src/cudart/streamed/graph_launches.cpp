// Launching graphs, and capturing streams into them.
#include "cudart/graph/node_parameters.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

void begin_capture(Context& context, CUstream_st& stream, cudaStreamCaptureMode mode) {
  require(&stream != &context.streams().legacy(), cudaErrorStreamCaptureUnsupported);
  require(!stream.capture, cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>();
  capture->graph = std::make_shared<CUgraph_st>();
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = context.graphs().next_capture();
  capture->last[&stream] = {};
  context.graphs().captures().insert(capture);
  stream.capture = std::move(capture);
}

/// Whether every node is a dependency, perhaps through others, of what `last` names.
bool joined(const CUgraph_st& graph, const std::vector<CUgraphNode_st*>& last) {
  std::set<const CUgraphNode_st*> reached(last.begin(), last.end());
  std::vector<const CUgraphNode_st*> ahead(last.begin(), last.end());
  while (!ahead.empty()) {
    const CUgraphNode_st* const node = ahead.back();
    ahead.pop_back();
    for (const CUgraphNode_st* before : node->after) {
      if (reached.insert(before).second) ahead.push_back(before);
    }
  }
  return reached.size() == graph.nodes.size();
}

/// Ends the capture for all its streams; returns null if it was spoilt.
cudaGraph_t end_capture(Context& context, CUstream_st& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  require(capture != nullptr, cudaErrorIllegalState);
  require(capture->origin == &stream, cudaErrorStreamCaptureUnmatched);
  require(capture->mode == cudaStreamCaptureModeRelaxed ||
              capture->thread == std::this_thread::get_id(),
          cudaErrorStreamCaptureWrongThread);
  const bool all_joined = joined(*capture->graph, capture->last[&stream]);
  for (auto& [participant, last] : capture->last) participant->capture.reset();
  capture->last.clear();
  context.graphs().captures().erase(capture);
  require(!capture->invalid, cudaErrorStreamCaptureInvalidated);
  require(all_joined, cudaErrorStreamCaptureUnjoined);
  return &context.graphs().adopt(capture->graph);
}

/// Memory that an earlier launch allocated must be freed, or is freed now if the program asked so.
void prepare_memory(Context& context, const CUgraphExec_st& executable, CUstream_st& stream) {
  for (const auto& node : executable.graph->nodes) {
    const auto* const allocate = std::get_if<AllocateOperation>(&node->operation);
    if (allocate == nullptr || !allocate->block->live) continue;
    require((executable.flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0,
            cudaErrorInvalidValue);
    perform(context, FreeOperation{allocate->block->address}, stream, context.here());
  }
}

cudaStreamCaptureStatus status_of(const CUstream_st& stream) {
  if (!stream.capture) return cudaStreamCaptureStatusNone;
  return stream.capture->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
}

}  // namespace

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  return api_call("cudaGraphLaunch", [&](Context& context) {
    CUstream_st& stream = stream_of(context, handle);
    const CUgraph_st& graph = *context.graphs().find(executable).graph;
    if (stream.capture) {
      submit(context, stream, EmptyOperation{});
      stream.capture->last[&stream].front()->child = graph.clone();
      return;
    }
    require_no_capture(context, stream);
    prepare_memory(context, context.graphs().find(executable), stream);
    launch_graph(context, graph, stream, context.here());
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return api_call("cudaGraphUpload", [&](Context& context) {
    stream_of(context, stream);
    context.graphs().find(executable);
  });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  if (parameters == nullptr) return remember(cudaErrorInvalidValue);
  parameters->errNode_out = nullptr;
  const cudaError_t code = cudaGraphInstantiate(executable, graph, parameters->flags);
  parameters->result_out =
      code == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return code;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return api_call("cudaStreamBeginCapture", [&](Context& context) {
    begin_capture(context, stream_of(context, stream), mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return api_call("cudaStreamEndCapture", [&](Context& context) {
    require(graph != nullptr, cudaErrorInvalidValue);
    *graph = nullptr;
    *graph = end_capture(context, stream_of(context, stream));
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return api_call("cudaStreamIsCapturing", [&](Context& context) {
    require(status != nullptr, cudaErrorInvalidValue);
    *status = status_of(stream_of(context, stream));
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** last, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return api_call("cudaStreamGetCaptureInfo", [&](Context& context) {
    require(status != nullptr, cudaErrorInvalidValue);
    CUstream_st& stream = stream_of(context, handle);
    *status = status_of(stream);
    if (!stream.capture) return;
    const std::vector<CUgraphNode_st*>& nodes = stream.capture->last[&stream];
    if (id != nullptr) *id = stream.capture->id;
    if (graph != nullptr) *graph = stream.capture->graph.get();
    if (last != nullptr) *last = nodes.data();
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = nodes.size();
  });
}
