// Adding nodes to graphs, and their parameters.
#include "cudart/graph/node_parameters.hpp"
#include "cudart/state/api_call.hpp"
#include "cudart/state/pointers.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

/// Where a node goes, as every function that adds one receives it.
struct Placement {
  cudaGraphNode_t* result;
  cudaGraph_t graph;
  const cudaGraphNode_t* after;
  size_t count;
};

CUgraphNode_st& add(Context& context, const Placement& at, Operation operation) {
  require(at.result != nullptr && (at.count == 0 || at.after != nullptr), cudaErrorInvalidValue);
  CUgraphNode_st& node = context.graphs().find(at.graph).add(
      std::move(operation), std::vector<CUgraphNode_st*>(at.after, at.after + at.count));
  node.call = context.here();
  *at.result = &node;
  return node;
}

template <typename Parameters>
cudaError_t add_call(const char* name, const Placement& at, const Parameters* parameters) {
  return api_call(name, [&](Context& context) {
    require(parameters != nullptr, cudaErrorInvalidValue);
    add(context, at, operation_of(context, *parameters));
  });
}

/// The node itself, or its copy in an executable.
CUgraphNode_st& node_in(Context& context, cudaGraphExec_t executable, cudaGraphNode_t node) {
  return executable == nullptr ? node_of(node)
                               : context.graphs().find(executable).graph->copy_of(node);
}

/// Replaces the operation by one of the same kind.
void replace(CUgraphNode_st& node, Operation operation) {
  require(!node.child && node.operation.index() == operation.index(), cudaErrorInvalidValue);
  node.operation = std::move(operation);
}

template <typename Parameters>
cudaError_t set_call(const char* name, cudaGraphExec_t executable, cudaGraphNode_t node,
                     const Parameters* parameters) {
  return api_call(name, [&](Context& context) {
    require(parameters != nullptr, cudaErrorInvalidValue);
    replace(node_in(context, executable, node), operation_of(context, *parameters));
  });
}

template <typename Parameters, typename Read>
cudaError_t get_call(const char* name, cudaGraphNode_t node, Parameters* parameters, Read read) {
  return api_call(name, [&](Context&) {
    require(parameters != nullptr, cudaErrorInvalidValue);
    *parameters = read(node_of(node));
  });
}

cudaError_t set_linear(const char* name, cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                       const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api_call(name, [&](Context& context) {
    replace(node_in(context, executable, node), linear_operation(context, to, from, bytes, kind));
  });
}

}  // namespace

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, size_t count) {
  return api_call("cudaGraphAddEmptyNode", [&](Context& context) {
    add(context, {node, graph, after, count}, EmptyOperation{});
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return add_call("cudaGraphAddKernelNode", {node, graph, after, count}, parameters);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return add_call("cudaGraphAddMemcpyNode", {node, graph, after, count}, parameters);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api_call("cudaGraphAddMemcpyNode1D", [&](Context& context) {
    add(context, {node, graph, after, count}, linear_operation(context, to, from, bytes, kind));
  });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* after, size_t count,
                                           const void* symbol, const void* from, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) {
  return api_call("cudaGraphAddMemcpyNodeToSymbol", [&](Context& context) {
    void* const to = address_in_variable(context, symbol, bytes, offset);
    add(context, {node, graph, after, count}, linear_operation(context, to, from, bytes, kind));
  });
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* after, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return api_call("cudaGraphAddMemcpyNodeFromSymbol", [&](Context& context) {
    const void* const from = address_in_variable(context, symbol, bytes, offset);
    add(context, {node, graph, after, count}, linear_operation(context, to, from, bytes, kind));
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* parameters) {
  return add_call("cudaGraphAddMemsetNode", {node, graph, after, count}, parameters);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return add_call("cudaGraphAddHostNode", {node, graph, after, count}, parameters);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* after, size_t count,
                                        cudaEvent_t event) {
  return api_call("cudaGraphAddEventRecordNode", [&](Context& context) {
    add(context, {node, graph, after, count}, RecordOperation{&context.streams().find(event)});
  });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* after, size_t count,
                                      cudaEvent_t event) {
  return api_call("cudaGraphAddEventWaitNode", [&](Context& context) {
    add(context, {node, graph, after, count}, WaitOperation{&context.streams().find(event)});
  });
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return api_call("cudaGraphAddMemAllocNode", [&](Context& context) {
    require(parameters != nullptr, cudaErrorInvalidValue);
    const CUgraphNode_st* const made =
        &add(context, {node, graph, after, count}, allocate_operation(context, *parameters));
    parameters->dptr = operation_in<AllocateOperation>(*made).parameters.dptr;
  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* after, size_t count, void* pointer) {
  return api_call("cudaGraphAddMemFreeNode", [&](Context& context) {
    add(context, {node, graph, after, count}, free_operation(context, pointer));
  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, size_t count,
                                       cudaGraph_t child) {
  return api_call("cudaGraphAddChildGraphNode", [&](Context& context) {
    auto copy = context.graphs().find(child).clone();
    add(context, {node, graph, after, count}, EmptyOperation{}).child = std::move(copy);
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return api_call("cudaGraphChildGraphNodeGetGraph", [&](Context&) {
    require(graph != nullptr && node_of(node).child, cudaErrorInvalidValue);
    *graph = node->child.get();
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return get_call("cudaGraphKernelNodeGetParams", node, parameters, kernel_parameters);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return get_call("cudaGraphMemcpyNodeGetParams", node, parameters, copy_parameters);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return get_call("cudaGraphMemsetNodeGetParams", node, parameters, fill_parameters);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  return get_call("cudaGraphHostNodeGetParams", node, parameters, host_parameters);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                           cudaMemAllocNodeParams* parameters) {
  return get_call("cudaGraphMemAllocNodeGetParams", node, parameters, [](const auto& known) {
    return operation_in<AllocateOperation>(known).parameters;
  });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return get_call("cudaGraphMemFreeNodeGetParams", node, static_cast<std::uint64_t*>(pointer),
                  [](const auto& known) { return operation_in<FreeOperation>(known).address; });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters) {
  return set_call("cudaGraphKernelNodeSetParams", nullptr, node, parameters);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemcpy3DParms* parameters) {
  return set_call("cudaGraphMemcpyNodeSetParams", nullptr, node, parameters);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from,
                                           size_t bytes, cudaMemcpyKind kind) {
  return set_linear("cudaGraphMemcpyNodeSetParams1D", nullptr, node, to, from, bytes, kind);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return set_call("cudaGraphMemsetNodeSetParams", nullptr, node, parameters);
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return set_call("cudaGraphHostNodeSetParams", nullptr, node, parameters);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return set_call("cudaGraphExecKernelNodeSetParams", executable, node, parameters);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return set_call("cudaGraphExecMemcpyNodeSetParams", executable, node, parameters);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* to, const void* from, size_t bytes,
                                               cudaMemcpyKind kind) {
  return set_linear("cudaGraphExecMemcpyNodeSetParams1D", executable, node, to, from, bytes, kind);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return set_call("cudaGraphExecMemsetNodeSetParams", executable, node, parameters);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  return set_call("cudaGraphExecHostNodeSetParams", executable, node, parameters);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return api_call("cudaGraphExecChildGraphNodeSetParams", [&](Context& context) {
    CUgraphNode_st& copy = node_in(context, executable, node);
    require(executable != nullptr && copy.child, cudaErrorInvalidValue);
    copy.child = context.graphs().find(child).clone();
  });
}
