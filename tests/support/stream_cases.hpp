// The guarantees of streams and events on every device that runs kernels: included by one test file
// for each, which instantiates StreamCases with the name of its device.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/pinned.hpp>
#include <vector>

#include "support/temporary_folder.hpp"

namespace tilescope::testing {

class StreamCases : public ::testing::TestWithParam<const char*> {
 public:
  void SetUp() override {
    std::string why;
    if (std::string_view(GetParam()) == "cuda" && cuda_devices(&why).empty()) GTEST_SKIP() << why;
    device_ = Device::open(GetParam());
  }

  static constexpr int count = 1000;
  static constexpr std::size_t bytes = count * sizeof(int);

  /// y[i] = x[i] + 1.
  Kernel increment() {
    return device_->load({.source_name = "increment.cu",
                          .source = "extern \"C\" __global__ void increment(const int* x, int* y, "
                                    "int n) {\n"
                                    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                    "  if (i < n) y[i] = x[i] + 1;\n}",
                          .kernel = "increment"});
  }
  void launch(const Kernel& kernel, const Buffer& x, const Buffer& y, const Stream& stream) {
    device_->launch(kernel, {.grid = {4}, .block = {256}},
                    KernelArguments::of(x.address(), y.address(), count), stream);
  }
  Buffer zeroed() {
    Buffer buffer = device_->allocate(bytes, "x");
    device_->fill(buffer.address(), 0, bytes);
    device_->synchronize();
    return buffer;
  }
  /// Host memory of `count` integers, all `value`.
  PinnedBuffer host(int value) {
    PinnedBuffer memory(*device_, bytes);
    std::fill_n(static_cast<int*>(memory.data()), count, value);
    return memory;
  }
  static bool all_are(const void* memory, int value) {
    const int* const first = static_cast<const int*>(memory);
    return std::all_of(first, first + count, [=](int x) { return x == value; });
  }

  std::shared_ptr<Device> device_;
};

TEST_P(StreamCases, WorkOfOneStreamIsDoneInOrder) {
  const Kernel kernel = increment();
  const Buffer x = zeroed(), y = zeroed();
  const PinnedBuffer up = host(5), down = host(0);
  const Stream stream = device_->create_stream();
  device_->copy_to_device(x.address(), up.data(), bytes, stream);
  launch(kernel, x, y, stream);
  launch(kernel, y, x, stream);
  device_->copy_on_device(y.address(), x.address(), bytes, stream);
  device_->fill(x.address(), 0, bytes, stream);
  device_->copy_to_host(down.data(), y.address(), bytes, stream);
  device_->synchronize(stream);
  EXPECT_TRUE(all_are(down.data(), 7));
}

TEST_P(StreamCases, AnEventOrdersTwoStreams) {
  const Kernel kernel = increment();
  const Buffer x = zeroed(), y = zeroed();
  const PinnedBuffer up = host(5), down = host(0);
  const Stream uploads = device_->create_stream(), work = device_->create_stream();
  const Event there = device_->create_event();
  device_->copy_to_device(x.address(), up.data(), bytes, uploads);
  device_->record(there, uploads);
  device_->wait(work, there);
  launch(kernel, x, y, work);
  device_->copy_to_host(down.data(), y.address(), bytes, work);
  device_->synchronize(work);
  EXPECT_TRUE(all_are(down.data(), 6));
}

TEST_P(StreamCases, TheDefaultStreamWaitsWhereItIsTold) {
  const Kernel kernel = increment();
  const Buffer x = zeroed(), y = zeroed();
  const PinnedBuffer up = host(1);
  std::vector<int> down(count);
  const Stream uploads = device_->create_stream();
  const Event there = device_->create_event();
  device_->copy_to_device(x.address(), up.data(), bytes, uploads);
  device_->record(there, uploads);
  device_->wait({}, there);
  launch(kernel, x, y, {});
  device_->copy_to_host(down.data(), y.address(), bytes);
  EXPECT_TRUE(all_are(down.data(), 2)) << "a copy without a stream has happened";
}

TEST_P(StreamCases, TheDeviceWaitsForAllStreams) {
  const PinnedBuffer up = host(3), a = host(0), b = host(0);
  const Buffer x = zeroed(), y = zeroed();
  const Stream first = device_->create_stream(), second = device_->create_stream();
  device_->copy_to_device(x.address(), up.data(), bytes, first);
  device_->copy_to_host(a.data(), x.address(), bytes, first);
  device_->copy_to_device(y.address(), up.data(), bytes, second);
  device_->copy_to_host(b.data(), y.address(), bytes, second);
  device_->synchronize();
  EXPECT_TRUE(all_are(a.data(), 3) && all_are(b.data(), 3));
}

TEST_P(StreamCases, AnEventThatIsAskedForOftenEnoughHasHappened) {
  const PinnedBuffer up = host(4), down = host(0);
  const Buffer x = zeroed();
  const Stream uploads = device_->create_stream(), downloads = device_->create_stream();
  const Event there = device_->create_event(), back = device_->create_event();
  EXPECT_TRUE(device_->finished(there)) << "what was not recorded holds nobody up";
  EXPECT_NO_THROW(device_->wait(uploads, there));
  device_->copy_to_device(x.address(), up.data(), bytes, uploads);
  device_->record(there, uploads);
  device_->wait(downloads, there);
  device_->copy_to_host(down.data(), x.address(), bytes, downloads);
  device_->record(back, downloads);
  while (!device_->finished(back)) {
  }
  EXPECT_TRUE(all_are(down.data(), 4));
  EXPECT_TRUE(device_->finished(there));
}

TEST_P(StreamCases, TimeRunsForward) {
  const Buffer x = zeroed();
  const Stream stream = device_->create_stream();
  const Event before = device_->create_event(), after = device_->create_event(),
              never = device_->create_event();
  device_->record(before, stream);
  device_->fill(x.address(), 1, bytes, stream);
  device_->record(after, stream);
  EXPECT_GE(device_->elapsed_ms(before, after), 0.0) << "it waits for the second";
  EXPECT_THROW(device_->elapsed_ms(before, never), Error);
}

TEST_P(StreamCases, PageableMemoryIsTheCallersAgainWhenACopyReturns) {
  const Buffer x = zeroed();
  std::vector<int> memory(count, 8), down(count);
  const Stream stream = device_->create_stream();
  device_->copy_to_device(x.address(), memory.data(), bytes, stream);
  std::fill(memory.begin(), memory.end(), 9);
  device_->copy_to_host(down.data(), x.address(), bytes, stream);
  EXPECT_TRUE(all_are(down.data(), 8)) << "and what comes down is there";
}

TEST_P(StreamCases, AMemoryIsFreedAfterItsLastUse) {
  const PinnedBuffer up = host(6), down = host(0);
  const Stream stream = device_->create_stream();
  {
    const Buffer x = zeroed();
    device_->copy_to_device(x.address(), up.data(), bytes, stream);
    device_->copy_to_host(down.data(), x.address(), bytes, stream);
  }
  device_->synchronize(stream);
  EXPECT_TRUE(all_are(down.data(), 6));
}

TEST_P(StreamCases, AStreamMayGoBeforeItsWorkIsDone) {
  const PinnedBuffer up = host(2), down = host(0);
  const Buffer x = zeroed();
  const Event there = device_->create_event();
  {
    const Stream stream = device_->create_stream();
    device_->copy_to_device(x.address(), up.data(), bytes, stream);
    device_->copy_to_host(down.data(), x.address(), bytes, stream);
    device_->record(there, stream);
  }
  device_->synchronize(there);
  EXPECT_TRUE(all_are(down.data(), 2));
}

}  // namespace tilescope::testing
