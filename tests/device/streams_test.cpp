// Streams and events of the emulated device: what every device promises, and that it does nothing
// which a GPU need not have done.
#include <numeric>

#include "device/emulated/stream_queues.hpp"
#include "support/stream_cases.hpp"

namespace tilescope {
namespace testing {
INSTANTIATE_TEST_SUITE_P(Emulated, StreamCases, ::testing::Values("emulated"));
}
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class EmulatedStreams : public testing::StreamCases {};

INSTANTIATE_TEST_SUITE_P(Emulated, EmulatedStreams, ::testing::Values("emulated"));
TEST_P(EmulatedStreams, AForgottenEventShowsInTheResult) {
  const Kernel kernel = increment();
  const Buffer x = zeroed(), y = zeroed();
  const PinnedBuffer up = host(5), down = host(0);
  const Stream uploads = device_->create_stream(), work = device_->create_stream();
  device_->copy_to_device(x.address(), up.data(), bytes, uploads);
  launch(kernel, x, y, work);  // without waiting for the upload
  device_->copy_to_host(down.data(), y.address(), bytes, work);
  device_->synchronize(work);
  EXPECT_TRUE(all_are(down.data(), 1)) << "computed from what was there before";
}

TEST_P(EmulatedStreams, AForgottenSynchronizeShowsInTheResult) {
  const PinnedBuffer up = host(5), down = host(0);
  const Buffer x = zeroed();
  const Stream stream = device_->create_stream();
  device_->copy_to_device(x.address(), up.data(), bytes, stream);
  device_->copy_to_host(down.data(), x.address(), bytes, stream);
  EXPECT_TRUE(all_are(down.data(), 0));
  std::fill_n(static_cast<int*>(up.data()), count, 6);  // too early
  device_->synchronize(stream);
  EXPECT_TRUE(all_are(down.data(), 6));
}

TEST_P(EmulatedStreams, TheDefaultStreamHoldsNobodyUp) {
  const Kernel kernel = increment();
  const Buffer x = zeroed(), y = zeroed();
  const PinnedBuffer up = host(5);
  const Stream uploads = device_->create_stream();
  device_->copy_to_device(x.address(), up.data(), bytes, uploads);
  launch(kernel, x, y, {});
  std::vector<int> down(count);
  device_->copy_to_host(down.data(), y.address(), bytes);
  EXPECT_TRUE(all_are(down.data(), 1));
}

TEST_P(EmulatedStreams, ErrorsOfAStreamAppearAtTheNextSynchronize) {
  const Kernel trap = device_->load({.source_name = "trap.cu",
                                     .source = "extern \"C\" __global__ void stop() { __trap(); }",
                                     .kernel = "stop"});
  const PinnedBuffer down = host(7);
  const Buffer x = zeroed();
  const Stream first = device_->create_stream(), second = device_->create_stream();
  const Event after = device_->create_event();
  EXPECT_NO_THROW(device_->launch(trap, {.grid = {1}, .block = {1}}, {}, first));
  device_->record(after, first);
  device_->wait(second, after);
  device_->copy_to_host(down.data(), x.address(), bytes, second);
  EXPECT_THAT(error_of(ErrorKind::wrong_result, [&] { device_->synchronize(second); }),
              HasSubstr("kernel stop failed"));
  EXPECT_TRUE(all_are(down.data(), 7)) << "what came after it was not done";
  EXPECT_NO_THROW(device_->synchronize()) << "an error is told once";
  device_->copy_to_host(down.data(), x.address(), bytes, second);
  device_->synchronize(second);
  EXPECT_TRUE(all_are(down.data(), 0)) << "and the device goes on";
}

TEST_P(EmulatedStreams, AnErrorMetWhileMemoryIsFreedIsToldLater) {
  const Kernel trap = device_->load({.source_name = "trap.cu",
                                     .source = "extern \"C\" __global__ void stop() { __trap(); }",
                                     .kernel = "stop"});
  const Stream stream = device_->create_stream();
  device_->launch(trap, {.grid = {1}, .block = {1}}, {}, stream);
  { const Buffer gone = device_->allocate(4, "gone"); }
  EXPECT_THAT(error_of(ErrorKind::wrong_result, [&] { device_->synchronize(stream); }),
              HasSubstr("kernel stop failed"));
}

TEST_P(EmulatedStreams, ALaunchBeyondALimitIsRefusedAtOnce) {
  const Kernel kernel = increment();
  const Stream stream = device_->create_stream();
  EXPECT_THAT(
      error_of(ErrorKind::usage,
               [&] { device_->launch(kernel, {.grid = {1}, .block = {2048}}, {}, stream); }),
      HasSubstr("2048 threads per block"));
  EXPECT_NO_THROW(device_->synchronize(stream));
}

class Queues : public ::testing::Test {
 protected:
  device::StreamQueues::Work say(int number) {
    return [this, number] { done_.push_back(number); };
  }
  device::StreamQueues queues_;
  std::vector<int> done_;
};

TEST_F(Queues, HandlesOfAnotherDeviceAreMistakes) {
  const auto stream = queues_.create();
  const auto event = queues_.create_event();
  const auto refusal = [](const auto& call) { return error_of(ErrorKind::usage, call); };
  EXPECT_THAT(refusal([&] { queues_.enqueue(0x1234, say(1)); }), HasSubstr("no stream 0x1234"));
  EXPECT_THAT(refusal([&] { queues_.finish_stream(0x1234); }), HasSubstr("no stream 0x1234"));
  EXPECT_THAT(refusal([&] { queues_.record(event, 0x1234); }), HasSubstr("no stream 0x1234"));
  EXPECT_THAT(refusal([&] { queues_.record(0x99, stream); }), HasSubstr("no event 0x99"));
  EXPECT_THAT(refusal([&] { queues_.wait(stream, 0x99); }), HasSubstr("no event 0x99"));
  EXPECT_THAT(refusal([&] { queues_.finish_event(0x99); }), HasSubstr("no event 0x99"));
  EXPECT_THAT(refusal([&] { queues_.elapsed_ms(0x99, event); }), HasSubstr("no event 0x99"));
  EXPECT_TRUE(done_.empty());
}

TEST_F(Queues, AWaitIsForTheRecordBeforeIt) {
  const auto a = queues_.create(), b = queues_.create();
  const auto event = queues_.create_event();
  queues_.enqueue(a, say(1));
  queues_.record(event, a);
  queues_.wait(b, event);
  queues_.enqueue(a, say(2));
  queues_.record(event, a);
  queues_.enqueue(b, say(3));
  queues_.finish_stream(b);
  EXPECT_THAT(done_, ElementsAre(1, 3));
  queues_.finish_event(event);
  EXPECT_THAT(done_, ElementsAre(1, 3, 2));
}

TEST_F(Queues, NothingIsDoneThatNobodyWaitsFor) {
  const auto a = queues_.create(), b = queues_.create(), c = queues_.create();
  const auto event = queues_.create_event();
  queues_.enqueue(a, say(1));
  queues_.enqueue(b, say(2));
  queues_.record(event, b);
  queues_.enqueue(b, say(3));
  queues_.wait(c, event);
  queues_.enqueue(c, say(4));
  queues_.finish_stream(c);
  EXPECT_THAT(done_, ElementsAre(2, 4));
  queues_.finish_all();
  EXPECT_THAT(done_, ElementsAre(2, 4, 3, 1)) << "the stream created last is first";
}

TEST_F(Queues, AskingDoesOneThingAtATime) {
  const auto a = queues_.create();
  const auto event = queues_.create_event();
  queues_.enqueue(a, say(1));
  queues_.enqueue(a, say(2));
  queues_.record(event, a);
  EXPECT_FALSE(queues_.finished(event));
  EXPECT_THAT(done_, ElementsAre(1));
  EXPECT_FALSE(queues_.finished(event));
  EXPECT_TRUE(queues_.finished(event));
}

TEST_F(Queues, StreamsThatWaitForEachOtherInTurn) {
  const auto a = queues_.create(), b = queues_.create();
  std::vector<std::uint64_t> events;
  for (int i = 0; i < 200; ++i) {
    const auto here = i % 2 == 0 ? a : b, there = i % 2 == 0 ? b : a;
    queues_.enqueue(here, say(i));
    events.push_back(queues_.create_event());
    queues_.record(events.back(), here);
    queues_.wait(there, events.back());
  }
  queues_.finish_stream(a);
  std::vector<int> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(done_, expected);
}

}  // namespace
}  // namespace tilescope
