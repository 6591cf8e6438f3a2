// Streams: work waits as long as CUDA's rules allow, and no longer.
#include <thread>

#include "cudart/device_program.hpp"

extern "C" cudaError_t cudaMemsetAsync_ptsz(void*, int, size_t, cudaStream_t);
extern "C" cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t);

namespace cudart_test {
namespace {

class Streams : public RunTime {
 protected:
  Streams() {
    void* pinned = nullptr;
    cudaHostAlloc(&pinned, 16, cudaHostAllocDefault);
    x = static_cast<int*>(pinned);
    for (int i = 0; i < 4; ++i) x[i] = 0;
    cudaStreamCreate(&blocking);
    cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking);
  }
  volatile int* x = nullptr;  // pinned: the host sees what has been done
  cudaStream_t blocking = nullptr, free = nullptr;

  cudaError_t add_to_x(int value, cudaStream_t stream) {
    return launch_add(const_cast<int*>(x), value, 4, stream);
  }
};

TEST_F(Streams, WorkWaitsUntilTheProgramDoes) {
  ASSERT_EQ(add_to_x(1, nullptr), cudaSuccess);
  ASSERT_EQ(add_to_x(1, blocking), cudaSuccess);
  EXPECT_EQ(x[0], 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(x[0], 2);
}

TEST_F(Streams, AStreamWithoutBlockingIsIndependent) {
  ASSERT_EQ(add_to_x(1, free), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(x[0], 0);
  ASSERT_EQ(cudaStreamSynchronize(free), cudaSuccess);
  EXPECT_EQ(x[0], 1);
}

TEST_F(Streams, TheDefaultStreamWaitsForBlockingStreams) {
  ASSERT_EQ(add_to_x(1, blocking), cudaSuccess);
  ASSERT_EQ(add_to_x(10, nullptr), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(x[0], 11);
}

TEST_F(Streams, BlockingStreamsWaitForTheDefaultStream) {
  ASSERT_EQ(add_to_x(10, nullptr), cudaSuccess);
  ASSERT_EQ(add_to_x(1, blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(x[0], 11);
}

TEST_F(Streams, AnEventOrdersStreams) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
  ASSERT_EQ(add_to_x(1, free), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, free), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(blocking, event, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, PollingEnds) {
  ASSERT_EQ(add_to_x(1, free), cudaSuccess);
  int polls = 0;
  while (cudaStreamQuery(free) == cudaErrorNotReady && ++polls < 100) {
  }
  EXPECT_LT(polls, 100);
  EXPECT_EQ(x[0], 1);
}

TEST_F(Streams, EventsMeasureTime) {
  cudaEvent_t start = nullptr, end = nullptr;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  cudaEventRecord(start, nullptr);
  add_to_x(1, nullptr);
  cudaEventRecord(end, nullptr);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GT(milliseconds, 0);
}

TEST_F(Streams, HostFunctionsRunInOrder) {
  struct Seen {
    volatile int* x;
    int value;
  } seen{x, -1};
  ASSERT_EQ(add_to_x(5, blocking), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                blocking,
                [](void* data) {
                  auto* const s = static_cast<Seen*>(data);
                  s->value = s->x[0];
                },
                &seen),
            cudaSuccess);
  EXPECT_EQ(seen.value, -1);
  ASSERT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(seen.value, 5);
}

TEST_F(Streams, PageableMemoryIsTheProgramsAgainAtOnce) {
  int source = 3;
  const DeviceInts y(1);
  ASSERT_EQ(cudaMemcpyAsync(y.data, &source, 4, cudaMemcpyHostToDevice, blocking), cudaSuccess);
  source = 4;
  EXPECT_EQ(y.read()[0], 3);
}

TEST_F(Streams, ABatchHasItsCopiesInTheStreamOrAtOnce) {
  const DeviceInts y(4);
  ASSERT_EQ(cudaMemset(y.data, 0, 16), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 8), cudaSuccess);
  pinned[0] = 1, pinned[1] = 2;
  int on_stack = 3;
  char* const base = static_cast<char*>(y.data);
  void* const to[] = {base, base + 4, base + 8};
  const void* const from[] = {pinned, pinned + 1, &on_stack};
  const size_t sizes[] = {4, 4, 4};
  cudaMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  size_t firsts[] = {0, 2};
  const auto batch = [&](size_t count, size_t kinds, cudaStream_t stream) {
    return cudaMemcpyBatchAsync(const_cast<void**>(to), from, sizes, count, attributes, firsts,
                                kinds, stream);
  };
  EXPECT_EQ(batch(3, 2, nullptr), cudaErrorInvalidValue);  // the legacy stream
  EXPECT_EQ(batch(0, 1, free), cudaErrorInvalidValue);
  EXPECT_EQ(batch(2, 2, free), cudaErrorInvalidValue);  // attributes of no copy
  ASSERT_EQ(batch(3, 2, free), cudaSuccess);
  on_stack = 4;
  ASSERT_EQ(cudaStreamSynchronize(free), cudaSuccess);
  EXPECT_EQ(y.read(), (std::vector<int>{1, 2, 3, 0}));
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Streams, ACopyOfManyPageableBytesIsDoneAtOnceAndOfFewIsNot) {
  for (const int n : {4, 1 << 15}) {
    const std::vector<int> source(n, 7);
    const DeviceInts y(n);
    cudaMemset(y.data, 0, y.bytes);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(y.data, source.data(), y.bytes, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(launch_add(y.data, 1, n, free), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(free), cudaSuccess);
    EXPECT_EQ(y.read()[0], n == 4 ? 7 : 8);
  }
}

TEST_F(Streams, WorkIsDoneWhileTheProgramWaitsWithoutACall) {
  ASSERT_EQ(add_to_x(1, blocking), cudaSuccess);
  for (int i = 0; i < 100 && x[0] == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(x[0], 1);
}

TEST_F(Streams, ADestroyedStreamFinishesItsWork) {
  ASSERT_EQ(add_to_x(1, blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(blocking), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(x[0], 1);
}

TEST_F(Streams, EachThreadHasADefaultStreamOfItsOwn) {
  void* const data = const_cast<int*>(x);
  ASSERT_EQ(cudaMemsetAsync_ptsz(data, 1, 4, nullptr), cudaSuccess);
  std::thread([] { EXPECT_EQ(cudaStreamSynchronize_ptsz(nullptr), cudaSuccess); }).join();
  EXPECT_EQ(x[0], 0);
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(x[0], 0x01010101);
}

TEST_F(Streams, ThreadsMayCallAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      cudaStream_t stream = nullptr;
      EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
      for (int n = 0; n < 50; ++n) {
        EXPECT_EQ(add_to_x(1, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(x[0], 200);
}

TEST_F(Streams, AttributesAreKeptAndChecked) {
  cudaStream_t stream = nullptr, other = nullptr;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&other);
  cudaStreamAttrValue value{};
  ASSERT_EQ(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value),
            cudaSuccess);
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyAuto);
  value = {};
  value.accessPolicyWindow = {&value, 4096, 0.5F, cudaAccessPropertyPersisting,
                              cudaAccessPropertyStreaming};
  EXPECT_EQ(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value),
            cudaSuccess);
  EXPECT_EQ(cudaStreamCopyAttributes(other, stream), cudaSuccess);
  cudaStreamAttrValue copied{};
  cudaStreamGetAttribute(other, cudaLaunchAttributeAccessPolicyWindow, &copied);
  EXPECT_EQ(copied.accessPolicyWindow.num_bytes, 4096U);
  value.accessPolicyWindow.hitRatio = 2;
  EXPECT_EQ(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSetAttribute(stream, cudaLaunchAttributeCooperative, &value),
            cudaErrorInvalidValue);
}

TEST_F(Streams, ErrorsAreEachThreadsOwn) {
  EXPECT_EQ(cudaFree(this), cudaErrorInvalidValue);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace cudart_test
