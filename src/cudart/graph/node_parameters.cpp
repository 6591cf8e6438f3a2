#include "cudart/graph/node_parameters.hpp"

#include "cudart/graph/kernel_operation.hpp"
#include "cudart/state/pointers.hpp"

namespace tilescope::cudart {

Operation operation_of(Context& context, const cudaKernelNodeParams& parameters) {
  require(parameters.extra == nullptr, cudaErrorNotSupported);
  return kernel_operation(context, parameters.func,
                          {.grid = extents(parameters.gridDim),
                           .block = extents(parameters.blockDim),
                           .shared_bytes = parameters.sharedMemBytes},
                          parameters.kernelParams);
}

Operation operation_of(Context& context, const cudaMemcpy3DParms& parameters) {
  CopyOperation copy = volume_copy(context, parameters);
  resolve(context, copy, parameters.kind);
  return copy;
}

Operation operation_of(Context& context, const cudaMemsetParams& parameters) {
  const unsigned size = parameters.elementSize;
  require(size == 1 || size == 2 || size == 4, cudaErrorInvalidValue);
  const std::size_t bytes = parameters.width * size;
  FillOperation fill{
      .to = side_of(parameters.dst, parameters.height > 1 ? parameters.pitch : bytes),
      .value = parameters.value,
      .element_bytes = size,
      .width = parameters.width,
      .rows = parameters.height};
  require(bytes > 0 && fill.rows > 0 && bytes <= fill.to.pitch, cudaErrorInvalidValue);
  require_on_device(context, fill.to.address, extent(fill.to, bytes, fill.rows, 1));
  return fill;
}

Operation operation_of(Context&, const cudaHostNodeParams& parameters) {
  require(parameters.fn != nullptr, cudaErrorInvalidValue);
  return HostOperation{parameters.fn, parameters.userData};
}

Operation linear_operation(Context& context, void* to, const void* from, std::size_t bytes,
                           cudaMemcpyKind kind) {
  CopyOperation copy = linear_copy(to, from, bytes);
  resolve(context, copy, kind);
  return copy;
}

cudaKernelNodeParams kernel_parameters(CUgraphNode_st& node) {
  auto& kernel = operation_in<KernelOperation>(node);
  const auto dimensions = [](const Dim3& value) { return dim3{value.x, value.y, value.z}; };
  node.arguments.clear();
  auto* const bytes = const_cast<std::byte*>(kernel.arguments.bytes().data());
  for (const std::size_t offset : kernel.arguments.offsets()) {
    node.arguments.push_back(bytes + offset);
  }
  return {.func = const_cast<void*>(kernel.function),
          .gridDim = dimensions(kernel.launch.grid),
          .blockDim = dimensions(kernel.launch.block),
          .sharedMemBytes = static_cast<unsigned>(kernel.launch.shared_bytes),
          .kernelParams = node.arguments.data(),
          .extra = nullptr};
}

cudaMemcpy3DParms copy_parameters(const CUgraphNode_st& node) {
  const auto& copy = operation_in<CopyOperation>(node);
  const auto pitched = [&](const CopySide& side) {
    return cudaPitchedPtr{side.host(), side.pitch, copy.row_bytes,
                          side.slice_pitch == 0 ? copy.rows : side.slice_pitch / side.pitch};
  };
  cudaMemcpy3DParms parameters = {};
  parameters.dstPtr = pitched(copy.to);
  parameters.srcPtr = pitched(copy.from);
  parameters.extent = {copy.row_bytes, copy.rows, copy.slices};
  parameters.kind =
      static_cast<cudaMemcpyKind>((copy.from.on_device ? 2 : 0) + (copy.to.on_device ? 1 : 0));
  return parameters;
}

cudaMemsetParams fill_parameters(const CUgraphNode_st& node) {
  const auto& fill = operation_in<FillOperation>(node);
  return {fill.to.host(), fill.to.pitch, fill.value, fill.element_bytes, fill.width, fill.rows};
}

cudaHostNodeParams host_parameters(const CUgraphNode_st& node) {
  const auto& host = operation_in<HostOperation>(node);
  return {host.function, host.data};
}

Operation allocate_operation(Context& context, const cudaMemAllocNodeParams& parameters) {
  const cudaMemPoolProps& pool = parameters.poolProps;
  require(pool.allocType == cudaMemAllocationTypePinned && parameters.bytesize > 0 &&
              pool.location.type == cudaMemLocationTypeDevice && pool.location.id == 0,
          cudaErrorInvalidValue);
  require(pool.handleTypes == cudaMemHandleTypeNone, cudaErrorNotSupported);
  AllocateOperation made{
      context.graph_memory().add(context.memory(), parameters.bytesize, context.here()),
      parameters};
  made.parameters.dptr = reinterpret_cast<void*>(made.block->address);
  return made;
}

Operation free_operation(Context& context, const void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  require(context.graph_memory().find(address) != nullptr, cudaErrorInvalidValue);
  return FreeOperation{address};
}

cudaGraphNodeType type_of(const CUgraphNode_st& node) {
  if (node.child) return cudaGraphNodeTypeGraph;
  constexpr cudaGraphNodeType types[] = {
      cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,      cudaGraphNodeTypeMemset,
      cudaGraphNodeTypeHost,   cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeWaitEvent,
      cudaGraphNodeTypeEmpty,  cudaGraphNodeTypeMemAlloc,    cudaGraphNodeTypeMemFree};
  static_assert(std::size(types) == std::variant_size_v<Operation>);
  return types[node.operation.index()];
}

void launch_graph(Context& context, const CUgraph_st& graph, CUstream_st& stream,
                  const inspect::HostCall& call) {
  for (const CUgraphNode_st* node : graph.in_order()) {
    if (!node->enabled) continue;
    if (node->child) {
      launch_graph(context, *node->child, stream, call);
    } else {
      perform(context, node->operation, stream, node->call.depth > 0 ? node->call : call);
    }
  }
}

}  // namespace tilescope::cudart
