// Memory that nodes of graphs allocate and free.
#include "cudart/device_program.hpp"

namespace cudart_test {
namespace {

class GraphMemory : public RunTime {
 protected:
  GraphMemory() {
    cudaStreamCreate(&stream);
    cudaGraphCreate(&graph, 0);
  }

  cudaGraphNode_t allocate_node() {
    parameters.poolProps.allocType = cudaMemAllocationTypePinned;
    parameters.poolProps.location.type = cudaMemLocationTypeDevice;
    parameters.bytesize = 16;
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters), cudaSuccess);
    return node;
  }
  cudaGraphExec_t instantiated(unsigned long long flags = 0) {
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph, flags), cudaSuccess);
    return executable;
  }
  static std::uint64_t account(cudaGraphMemAttributeType attribute) {
    std::uint64_t value = 0;
    EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, attribute, &value), cudaSuccess);
    return value;
  }

  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaMemAllocNodeParams parameters{};
};

TEST_F(GraphMemory, ACapturedAllocationServesTheLaunch) {
  int result[4] = {};
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  void* data = nullptr;
  ASSERT_EQ(cudaMallocAsync(&data, sizeof result, stream), cudaSuccess);
  ASSERT_NE(data, nullptr);
  cudaMemsetAsync(data, 1, sizeof result, stream);
  cudaMemcpyAsync(result, data, sizeof result, cudaMemcpyDeviceToHost, stream);
  ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  const cudaGraphExec_t executable = instantiated();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(result[3], 0x01010101);
    result[3] = 0;
  }
  EXPECT_EQ(account(cudaGraphMemAttrUsedMemCurrent), 0U);
  EXPECT_EQ(account(cudaGraphMemAttrUsedMemHigh), sizeof result);
}

TEST_F(GraphMemory, WhatALaunchAllocatedIsFreedBeforeTheNext) {
  allocate_node();
  const cudaGraphExec_t executable = instantiated();
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(parameters.dptr), cudaSuccess);
  EXPECT_EQ(cudaFree(parameters.dptr), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(parameters.dptr, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
}

TEST_F(GraphMemory, AnExecutableFreesAtItsLaunchIfAsked) {
  allocate_node();
  const cudaGraphExec_t executable = instantiated(cudaGraphInstantiateFlagAutoFreeOnLaunch);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(account(cudaGraphMemAttrUsedMemCurrent), 16U);
}

TEST_F(GraphMemory, MemoryOutlivesItsGraphUntilItIsFreed) {
  allocate_node();
  const cudaGraphExec_t executable = instantiated();
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  EXPECT_EQ(cudaMemset(parameters.dptr, 1, 16), cudaSuccess);
  EXPECT_EQ(cudaFree(parameters.dptr), cudaSuccess);
  EXPECT_EQ(cudaMemset(parameters.dptr, 1, 16), cudaErrorInvalidValue);
}

TEST_F(GraphMemory, NodesTellTheirMemory) {
  const cudaGraphNode_t allocate = allocate_node();
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddMemFreeNode(&node, graph, &allocate, 1, this), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphAddMemFreeNode(&node, graph, &allocate, 1, parameters.dptr), cudaSuccess);
  cudaMemAllocNodeParams known{};
  ASSERT_EQ(cudaGraphMemAllocNodeGetParams(allocate, &known), cudaSuccess);
  EXPECT_EQ(known.bytesize, 16U);
  void* freed = nullptr;
  ASSERT_EQ(cudaGraphMemFreeNodeGetParams(node, &freed), cudaSuccess);
  EXPECT_EQ(freed, parameters.dptr);
  EXPECT_EQ(cudaGraphMemFreeNodeGetParams(allocate, &freed), cudaErrorInvalidValue);
}

TEST_F(GraphMemory, FreedMemoryStaysReservedUntilTrimmed) {
  allocate_node();
  ASSERT_EQ(cudaGraphLaunch(instantiated(), stream), cudaSuccess);
  cudaFree(parameters.dptr);
  EXPECT_EQ(account(cudaGraphMemAttrReservedMemCurrent), 16U);
  EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
  EXPECT_EQ(account(cudaGraphMemAttrReservedMemCurrent), 0U);
  EXPECT_EQ(account(cudaGraphMemAttrReservedMemHigh), 16U);
  std::uint64_t none = 0;
  EXPECT_EQ(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &none), cudaSuccess);
  EXPECT_EQ(account(cudaGraphMemAttrReservedMemHigh), 0U);
}

}  // namespace
}  // namespace cudart_test
