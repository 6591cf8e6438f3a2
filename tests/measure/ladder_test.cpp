#include "measure/ladder.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <tilescope/error.hpp>

#include "support/arrays.hpp"
#include "support/fake_device.hpp"
#include "support/gpus.hpp"

namespace tilescope::measure {
namespace {

using testing::FakeDevice;
using ::testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The behaviour of a variant of the fake operation.
struct Behaviour {
  double ms = 1.0;                       ///< per run
  std::vector<double> output{1.0, 2.0};  ///< at first
  int wrong_from_run = 1 << 30;          ///< from this run on the second element is off
  bool writes = true;                    ///< false: leaves the output as it was
  std::function<void()> on_prepare, on_run;
  std::optional<std::string> refusal;
  bool on_host = false;
};

/// Two elements, [1, 2], with bounds of 0.25.
class FakeOperation final : public operations::Operation {
 public:
  FakeOperation(FakeDevice& device, std::map<std::string, Behaviour> variants, double flops = 1e9,
                double bytes = 1e6, std::string_view rate = "fp32")
      : device_(device),
        variants_(std::move(variants)),
        work_{.flops = flops, .bytes = bytes, .rate = rate} {}

  std::string_view name() const override { return "fake"; }
  std::string size_text() const override { return "2"; }
  std::vector<operations::VariantInfo> variants() const override {
    std::vector<operations::VariantInfo> infos;
    for (const auto& [name, behaviour] : variants_) {
      infos.push_back({.name = name, .idea = "", .source = "", .on_host = behaviour.on_host});
    }
    return infos;
  }
  std::string variant_name(std::string_view variant) const override { return std::string(variant); }
  operations::Work work() const override { return work_; }
  std::optional<std::string> refusal(const operations::VariantInfo& variant,
                                     const Device&) const override {
    return variants_.at(variant.name).refusal;
  }
  std::unique_ptr<operations::Prepared> prepare(const operations::VariantInfo& variant,
                                                Device&) const override {
    const Behaviour& behaviour = variants_.at(variant.name);
    if (behaviour.on_prepare) behaviour.on_prepare();
    return std::make_unique<Run>(device_, behaviour);
  }
  operations::Plan plan(const operations::VariantInfo&, const DeviceProperties&) const override {
    return {};  // the ladder runs only prepared variants
  }
  const operations::Expected& expected(const operations::VariantInfo&) const override {
    return expected_;
  }

 private:
  class Run final : public operations::Prepared {
   public:
    Run(FakeDevice& device, const Behaviour& behaviour) : device_(device), behaviour_(behaviour) {}
    void run(int) override {
      if (behaviour_.on_run) behaviour_.on_run();
      device_.spend(behaviour_.ms);
      if (!behaviour_.writes) return;
      output_ = behaviour_.output;
      if (runs_++ >= behaviour_.wrong_from_run) output_[1] += 0.5;
    }
    void poison(int) override { output_ = {nan, nan}; }
    operations::HostArray output(int) override { return testing::host_array(output_); }
    std::string note() const override { return "a note"; }

   private:
    FakeDevice& device_;
    const Behaviour& behaviour_;
    std::vector<double> output_{1.0, 2.0};  // right by accident, were it not poisoned
    int runs_ = 0;
  };

  FakeDevice& device_;
  std::map<std::string, Behaviour> variants_;
  operations::Work work_;
  operations::StoredExpected expected_{{1.0, 2.0}, {0.25, 0.25}};
};

class Ladder : public ::testing::Test {
 protected:
  RungResult climb_one(Behaviour behaviour, double flops = 1e9, double bytes = 1e6,
                       std::string_view rate = "fp32") {
    const FakeOperation operation(*device_, {{"rung", std::move(behaviour)}}, flops, bytes, rate);
    const auto results = climb(operation, *device_);
    EXPECT_EQ(results.size(), 1u);
    return results.at(0);
  }

  static void expect_no_figures(const RungResult& result) {
    EXPECT_FALSE(result.timing);
    EXPECT_FALSE(result.max_error);
    EXPECT_EQ(result.flops_per_second, 0.0);
    EXPECT_EQ(result.bytes_per_second, 0.0);
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>(testing::h200());
};

TEST_F(Ladder, AVerifiedRungHasFigures) {
  const RungResult result = climb_one({.ms = 2.0, .output = {1.125, 2.0}});
  EXPECT_EQ(result.verdict, Verdict::ok);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(result.note, "a note");
  ASSERT_TRUE(result.timing);
  EXPECT_DOUBLE_EQ(result.timing->median_ms(), 2.0);
  EXPECT_DOUBLE_EQ(*result.max_error, 0.125);
  EXPECT_DOUBLE_EQ(result.flops_per_second, 1e9 / 2e-3);
  EXPECT_DOUBLE_EQ(result.bytes_per_second, 1e6 / 2e-3);
}

TEST_F(Ladder, AWrongRungIsNotTimed) {
  const RungResult result = climb_one({.output = {1.0, 2.5}});
  EXPECT_EQ(result.verdict, Verdict::wrong);
  EXPECT_EQ(result.reason, "1 of 2 elements are wrong, the first at 1: 2.5, not 2 (bound 0.25)");
  expect_no_figures(result);
}

TEST_F(Ladder, NanIsWrong) {
  EXPECT_EQ(climb_one({.output = {nan, 2.0}}).verdict, Verdict::wrong);
}

TEST_F(Ladder, ARungThatWritesNothingIsWrong) {
  const RungResult result = climb_one({.writes = false});
  EXPECT_EQ(result.verdict, Verdict::wrong);
  EXPECT_THAT(result.reason, HasSubstr("2 of 2 elements are wrong, the first at 0: nan, not 1"));
}

TEST_F(Ladder, WrongOnlyAfterTimingIsWrong) {
  const RungResult result = climb_one({.wrong_from_run = 5});
  EXPECT_EQ(result.verdict, Verdict::wrong);
  EXPECT_THAT(result.reason, HasSubstr("2.5, not 2 (bound 0.25) after timing"));
  expect_no_figures(result);
}

TEST_F(Ladder, ARateAboveThePeakIsWrong) {
  // 66.9 TFLOP/s is the peak: 1 ms for 1e11 operations would be 100 TFLOP/s.
  const RungResult result = climb_one({.ms = 1.0}, 1e11);
  EXPECT_EQ(result.verdict, Verdict::wrong);
  EXPECT_EQ(result.reason,
            "100 TFLOP/s exceeds the chip's peak of 66.9 TFLOP/s: the work cannot have been done");
  expect_no_figures(result);
  EXPECT_EQ(climb_one({.ms = 1.0}, 6e10).verdict, Verdict::ok);
}

TEST_F(Ladder, ThePeakIsThatOfTheUnitsThatCompute) {
  // 989 TFLOP/s on tensor cores: 1 ms for 1e11 operations is possible, for 1.1e12 it is not.
  EXPECT_EQ(climb_one({.ms = 1.0}, 1e11, 1e6, "bf16_tensor").verdict, Verdict::ok);
  const RungResult result = climb_one({.ms = 1.0}, 1.1e12, 1e6, "bf16_tensor");
  EXPECT_EQ(result.verdict, Verdict::wrong);
  EXPECT_THAT(result.reason, HasSubstr("exceeds the chip's peak of 989 TFLOP/s"));
  expect_no_figures(result);
  // An unknown rate of a GPU cannot be exceeded.
  EXPECT_EQ(climb_one({.ms = 1.0}, 1e15, 1e6, "int4_tensor").verdict, Verdict::ok);
}

TEST_F(Ladder, ABandwidthAboveThePeakIsWrong) {
  // 4.92 TB/s is the peak: 1 ms for 1e10 bytes would be 10 TB/s.
  const RungResult result = climb_one({.ms = 1.0}, 0.0, 1e10);
  EXPECT_EQ(result.verdict, Verdict::wrong);
  EXPECT_EQ(result.reason,
            "10.0 TB/s exceeds the chip's peak of 4.92 TB/s: the work cannot have been done");
  expect_no_figures(result);
  EXPECT_EQ(climb_one({.ms = 1.0}, 0.0, 4.8e9).verdict, Verdict::ok);
  // Data that fit into the cache may be faster than memory.
  EXPECT_EQ(climb_one({.ms = 1e-3}, 0.0, 1e8).verdict, Verdict::ok);
}

TEST_F(Ladder, NoTimeAtAllIsAboveThePeak) {
  const RungResult result = climb_one({.ms = 0.0});
  EXPECT_EQ(result.verdict, Verdict::wrong);
  expect_no_figures(result);
}

TEST_F(Ladder, ThePeakOfTheDeviceDoesNotBindTheHost) {
  const RungResult result = climb_one({.on_host = true}, 1e15);
  EXPECT_EQ(result.verdict, Verdict::ok);
  EXPECT_TRUE(result.timing);
}

TEST_F(Ladder, ARefusalIsSkippedWithItsReason) {
  bool prepared = false;
  const RungResult result =
      climb_one({.on_prepare = [&] { prepared = true; }, .refusal = "too large"});
  EXPECT_EQ(result.verdict, Verdict::skipped);
  EXPECT_EQ(result.reason, "too large");
  EXPECT_FALSE(prepared);
  expect_no_figures(result);
}

TEST_F(Ladder, ErrorsOfTheMachineAreSkippedAndOfTheWorkWrong) {
  const auto verdict = [&](ErrorKind kind) {
    const RungResult result = climb_one({.on_run = [=] { throw Error(kind, "why"); }});
    EXPECT_EQ(result.reason, "why");
    expect_no_figures(result);
    return result.verdict;
  };
  EXPECT_EQ(verdict(ErrorKind::no_device), Verdict::skipped);
  EXPECT_EQ(verdict(ErrorKind::usage), Verdict::skipped);
  EXPECT_EQ(verdict(ErrorKind::bad_input), Verdict::wrong) << "a kernel that does not compile";
  EXPECT_EQ(verdict(ErrorKind::wrong_result), Verdict::wrong);
}

TEST_F(Ladder, AnErrorOfOneRungDoesNotStopTheOthers) {
  const FakeOperation operation(
      *device_, {{"a", {}},
                 {"b", {.on_prepare = [] { throw Error(ErrorKind::no_device, "no memory"); }}},
                 {"c", {}}});
  std::vector<std::string> started, ended;
  const auto results =
      climb(operation, *device_,
            {.on_result = [&](const RungResult& r) { ended.push_back(r.variant.name); },
             .on_start = [&](const std::string& name) { started.push_back(name); }});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].verdict, Verdict::ok);
  EXPECT_EQ(results[1].verdict, Verdict::skipped);
  EXPECT_EQ(results[2].verdict, Verdict::ok);
  EXPECT_THAT(started, ::testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(started, ended);
}

TEST_F(Ladder, OnlyTheNamedRungs) {
  const FakeOperation operation(*device_, {{"a", {}}, {"b", {}}, {"c", {}}});
  const auto results = climb(operation, *device_, {.only = {"c", "a"}});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].variant.name, "a");
  EXPECT_EQ(results[1].variant.name, "c");
}

TEST_F(Ladder, CancellingKeepsWhatIsComplete) {
  const FakeOperation operation(*device_, {{"a", {}}, {"b", {}}, {"c", {}}});
  int done = 0;
  std::atomic<bool> stop = false;
  const auto results =
      climb(operation, *device_,
            {.on_result = [&](const RungResult&) { stop = ++done == 2; }, .cancel = &stop});
  EXPECT_EQ(results.size(), 2u);
}

TEST(LadderEmulated, IsVerifiedAndNotTimed) {
  const auto device = std::make_shared<FakeDevice>(testing::h200(), DeviceKind::emulated);
  const FakeOperation operation(*device, {{"right", {}}, {"wrong", {.output = {0.0, 2.0}}}});
  const auto results = climb(operation, *device);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].verdict, Verdict::ok);
  EXPECT_FALSE(results[0].timing);
  EXPECT_TRUE(results[0].max_error);
  EXPECT_EQ(results[1].verdict, Verdict::wrong);
}

TEST(VerdictNames, AreThoseOfTheJson) {
  EXPECT_EQ(name_of(Verdict::ok), "ok");
  EXPECT_EQ(name_of(Verdict::wrong), "wrong");
  EXPECT_EQ(name_of(Verdict::skipped), "skipped");
}

}  // namespace
}  // namespace tilescope::measure
