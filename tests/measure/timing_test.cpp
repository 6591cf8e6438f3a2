#include "measure/timing.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "support/fake_device.hpp"
#include "support/gpus.hpp"

namespace tilescope::measure {
namespace {

using testing::FakeDevice;

TEST(Timing, MedianOfOddAndEvenCounts) {
  EXPECT_EQ((Timing{{1.0, 2.0, 9.0}}).median_ms(), 2.0);
  EXPECT_EQ((Timing{{1.0, 2.0, 4.0, 9.0}}).median_ms(), 3.0);
  EXPECT_EQ((Timing{{5.0}}).median_ms(), 5.0);
}

TEST(TimeOnDevice, TakesTheMedianOfSingleRunsAfterWarmUp) {
  const auto device = std::make_shared<FakeDevice>(testing::h200());
  std::vector<int> inputs;
  const Timing timing = time_on_device(*device, [&](int i) {
    inputs.push_back(i);
    device->spend(i < 2 ? 1000.0 : 100.0 + i);  // cold runs are slow, and must not count
  });
  EXPECT_EQ(timing.samples_ms.size(), 9u) << "a slow run is still sampled this often";
  EXPECT_EQ(timing.median_ms(), 106.0);
  EXPECT_EQ(timing.fastest_ms(), 102.0);
  EXPECT_EQ(timing.slowest_ms(), 110.0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(inputs[i], static_cast<int>(i)) << "every run takes the next input set";
  }
  EXPECT_EQ(device->events_alive(), 0);
}

TEST(TimeOnDevice, FastRunsAreSampledMoreOftenUpToALimit) {
  const auto device = std::make_shared<FakeDevice>(testing::h200());
  const auto samples = [&](double ms) {
    return time_on_device(*device, [&](int) { device->spend(ms); }).samples_ms.size();
  };
  EXPECT_EQ(samples(10.0), 30u);
  EXPECT_EQ(samples(0.001), 200u);
  EXPECT_EQ(samples(0.0), 200u);
}

TEST(TimeOnDevice, AHeadStartComesBeforeTheTimedRunsAndIsNotTimed) {
  const auto device = std::make_shared<FakeDevice>(testing::h200());
  int runs = 0, runs_before = -1;
  const Timing timing = time_on_device(*device,
                                       [&](int) {
                                         ++runs;
                                         device->spend(1.0);
                                       },
                                       {.head_start = [&] {
                                         EXPECT_EQ(runs_before, -1) << "once";
                                         runs_before = runs;
                                         device->spend(1000.0);
                                       }});
  EXPECT_EQ(runs_before, 2) << "after the warm-up";
  EXPECT_EQ(timing.slowest_ms(), 1.0);
}

TEST(TimeOnHost, MeasuresTheWallClockAfterWarmUp) {
  int runs = 0;
  const Timing timing = time_on_host(
      [&](int i) {
        EXPECT_EQ(i, runs++);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      },
      {.least_samples = 5, .most_samples = 5});
  EXPECT_EQ(runs, 6);
  EXPECT_EQ(timing.samples_ms.size(), 5u);
  EXPECT_GE(timing.fastest_ms(), 2.0);
}

}  // namespace
}  // namespace tilescope::measure
