// The operations of graph nodes as the structures of CUDA's API, and back.
#pragma once

#include "cudart/graph/copy.hpp"

namespace tilescope::cudart {

Operation operation_of(Context& context, const cudaKernelNodeParams& parameters);
Operation operation_of(Context& context, const cudaMemcpy3DParms& parameters);
Operation operation_of(Context& context, const cudaMemsetParams& parameters);
Operation operation_of(Context& context, const cudaHostNodeParams& parameters);
/// Memory that a launch of the node allocates; its address is known at once.
Operation allocate_operation(Context& context, const cudaMemAllocNodeParams& parameters);
/// Throws cudaErrorInvalidValue unless a node allocates what begins at `pointer`.
Operation free_operation(Context& context, const void* pointer);
/// A copy of bytes that follow each other.
Operation linear_operation(Context& context, void* to, const void* from, std::size_t bytes,
                           cudaMemcpyKind kind);

// The parameters of a node; each throws cudaErrorInvalidValue for a node of another kind. The
// kernel's argument pointers belong to the node.
cudaKernelNodeParams kernel_parameters(CUgraphNode_st& node);
cudaMemcpy3DParms copy_parameters(const CUgraphNode_st& node);
cudaMemsetParams fill_parameters(const CUgraphNode_st& node);
cudaHostNodeParams host_parameters(const CUgraphNode_st& node);
cudaGraphNodeType type_of(const CUgraphNode_st& node);

/// The node's operation, if it is a T; throws cudaErrorInvalidValue otherwise.
template <typename T, typename Node>
auto& operation_in(Node& node) {
  auto* const operation = std::get_if<T>(&node.operation);
  require(operation != nullptr && !node.child, cudaErrorInvalidValue);
  return *operation;
}

/// Runs the nodes of a graph in the stream, those of child graphs too.
void launch_graph(Context& context, const CUgraph_st& graph, CUstream_st& stream,
                  const inspect::HostCall& call);

}  // namespace tilescope::cudart
