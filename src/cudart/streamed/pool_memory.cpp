// Memory that is allocated and freed in the order of a stream.
#include "cudart/graph/node_parameters.hpp"
#include "cudart/state/pointers.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

/// Memory is there at once: a stream that uses it before its turn is not found out. In a capture
/// the launch of the graph allocates it.
void* allocate(Context& context, CUmemPoolHandle_st& pool, std::size_t bytes, CUstream_st& stream) {
  if (bytes == 0) return nullptr;
  if (stream.capture) {
    cudaMemAllocNodeParams parameters = {};
    parameters.poolProps.allocType = cudaMemAllocationTypePinned;
    parameters.poolProps.location.type = cudaMemLocationTypeDevice;
    parameters.bytesize = bytes;
    Operation operation = allocate_operation(context, parameters);
    void* const pointer = std::get<AllocateOperation>(operation).parameters.dptr;
    submit(context, stream, std::move(operation));
    return pointer;
  }
  context.memory().sweep();
  MemoryBlock& block =
      context.memory().allocate(MemoryKind::device, bytes, 0, context.here(), &pool);
  return reinterpret_cast<void*>(block.address);
}

}  // namespace

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return api_call("cudaMallocAsync", [&](Context& context) {
    require(pointer != nullptr, cudaErrorInvalidValue);
    *pointer =
        allocate(context, context.memory().current_pool(), bytes, stream_of(context, stream));
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return api_call("cudaMallocFromPoolAsync", [&](Context& context) {
    require(pointer != nullptr, cudaErrorInvalidValue);
    *pointer = allocate(context, context.memory().pool(pool), bytes, stream_of(context, stream));
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return api_call("cudaFreeAsync", [&](Context& context) {
    CUstream_st& stream = stream_of(context, handle);
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    if (pointer == nullptr) return;
    if (stream.capture || context.graph_memory().find(address) != nullptr) {
      return submit(context, stream, free_operation(context, pointer));
    }
    auto done = std::make_shared<bool>(false);
    if (!context.memory().retire(address, done, context.here())) {
      report_bad_free(context, address);
      throw Failure{cudaErrorInvalidValue};
    }
    context.device().call([done] { *done = true; }, context.streams().next(stream));
  });
}
