// Graphs: captured from streams, built node by node, changed and launched.
#include <memory>

#include "cudart/device_program.hpp"

namespace cudart_test {
namespace {

class Graphs : public RunTime {
 protected:
  Graphs() : x(std::make_unique<DeviceInts>(4)) {
    cudaMemset(x->data, 0, 16);
    cudaStreamCreate(&stream);
  }

  cudaKernelNodeParams add_parameters() {
    cudaKernelNodeParams parameters{};
    parameters.func = &add;
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(64);
    parameters.kernelParams = arguments;
    return parameters;
  }
  int launched(cudaGraph_t graph, int times) {
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int i = 0; i < times; ++i) EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    return x->read()[0];
  }

  std::unique_ptr<DeviceInts> x;
  cudaStream_t stream = nullptr;
  int value = 3, n = 4;
  void* arguments[3] = {&x->data, &value, &n};
};

TEST_F(Graphs, ACapturedStreamRunsWhenTheGraphIsLaunched) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(launch_add(x->data, 2, 4, stream), cudaSuccess);
  ASSERT_EQ(launch_add(x->data, 5, 4, stream), cudaSuccess);
  cudaStreamCaptureStatus status{};
  ASSERT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  size_t nodes = 0, roots = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  ASSERT_EQ(cudaGraphGetRootNodes(graph, nullptr, &roots), cudaSuccess);
  EXPECT_EQ(nodes, 2u);
  EXPECT_EQ(roots, 1u);
  EXPECT_EQ(x->read()[0], 0);
  EXPECT_EQ(launched(graph, 3), 21);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Graphs, EventsBringOtherStreamsIntoACapture) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr, back = nullptr;
  cudaStreamCreate(&other);
  cudaEventCreate(&fork);
  cudaEventCreate(&back);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  launch_add(x->data, 1, 4, stream);
  ASSERT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  launch_add(x->data, 1, 4, other);
  ASSERT_EQ(cudaEventRecord(back, other), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(back), cudaErrorCapturedEvent);
  ASSERT_EQ(cudaStreamWaitEvent(stream, back, 0), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(launched(graph, 1), 2);
}

TEST_F(Graphs, ACaptureMustBeJoinedAgain) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr;
  cudaStreamCreate(&other);
  cudaEventCreate(&fork);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(other, fork, 0);
  launch_add(x->data, 1, 4, other);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(Graphs, WaitingSpoilsACapture) {
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  launch_add(x->data, 1, 4, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(launch_add(x->data, 1, 4, stream), cudaErrorStreamCaptureInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
}

TEST_F(Graphs, TheDefaultStreamWouldWaitForACapture) {
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(launch_add(x->data, 1, 4, nullptr), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
}

TEST_F(Graphs, NodesRunBehindTheirDependencies) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t kernel = nullptr, fill = nullptr, copy = nullptr;
  const cudaKernelNodeParams launch = add_parameters();
  ASSERT_EQ(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch), cudaSuccess);
  const cudaMemsetParams twos{x->data, 0, 2, 4, 4, 1};
  ASSERT_EQ(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &twos), cudaSuccess);
  std::vector<int> host(4);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), x->data, 16,
                                     cudaMemcpyDeviceToHost),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &fill, &kernel, nullptr, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphAddDependencies(graph, &fill, &kernel, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(launched(graph, 2), 5);
  EXPECT_EQ(host[3], 5);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &copy, &fill, nullptr, 1), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);  // a circle
}

TEST_F(Graphs, ExecutablesChangeWithoutTheirGraph) {
  cudaGraph_t graph = nullptr;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t kernel = nullptr;
  cudaKernelNodeParams launch = add_parameters();
  cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  value = 100;
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(executable, kernel, &launch), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(x->read()[0], 100);
  ASSERT_EQ(cudaGraphNodeSetEnabled(executable, kernel, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(x->read()[0], 100);
  cudaKernelNodeParams kept{};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(kernel, &kept), cudaSuccess);
  EXPECT_EQ(kept.func, &add);
  EXPECT_EQ(*static_cast<int*>(kept.kernelParams[1]), 3);
  EXPECT_EQ(launched(graph, 1), 103);
}

TEST_F(Graphs, AChangedGraphUpdatesAnExecutable) {
  const auto graph_that_adds = [&](int amount) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    launch_add(x->data, amount, 4, stream);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    return graph;
  };
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph_that_adds(1), 0), cudaSuccess);
  cudaGraphExecUpdateResultInfo result{};
  ASSERT_EQ(cudaGraphExecUpdate(executable, graph_that_adds(40), &result), cudaSuccess);
  EXPECT_EQ(result.result, cudaGraphExecUpdateSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(x->read()[0], 40);
  cudaGraph_t empty = nullptr;
  cudaGraphCreate(&empty, 0);
  EXPECT_EQ(cudaGraphExecUpdate(executable, empty, &result), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(result.result, cudaGraphExecUpdateErrorTopologyChanged);
}

TEST_F(Graphs, AStreamMayLeaveBeforeItsCaptureEnds) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(other, fork, 0);
  ASSERT_EQ(launch_add(x->data, 3, 4, other), cudaSuccess);
  cudaEventRecord(join, other);
  cudaStreamWaitEvent(stream, join, 0);
  ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(launched(graph, 2), 6);
}

TEST_F(Graphs, GraphsHoldGraphsAndHostFunctions) {
  cudaGraph_t inner = nullptr, outer = nullptr;
  cudaGraphCreate(&inner, 0);
  cudaGraphCreate(&outer, 0);
  cudaGraphNode_t kernel = nullptr, child = nullptr, host = nullptr;
  const cudaKernelNodeParams launch = add_parameters();
  cudaGraphAddKernelNode(&kernel, inner, nullptr, 0, &launch);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), cudaSuccess);
  int calls = 0;
  const cudaHostNodeParams function{[](void* data) { ++*static_cast<int*>(data); }, &calls};
  ASSERT_EQ(cudaGraphAddHostNode(&host, outer, &child, 1, &function), cudaSuccess);
  cudaGraphNodeType type{};
  ASSERT_EQ(cudaGraphNodeGetType(child, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeGraph);
  EXPECT_EQ(launched(outer, 2), 6);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace cudart_test
