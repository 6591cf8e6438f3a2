// The five forms of the vector-add pipeline, on the emulated device, whose streams defer all work
// until the program waits for it.
#include "transfer/pipeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tilescope/pinned.hpp>

namespace tilescope::transfer {
namespace {

class PipelineForms : public ::testing::TestWithParam<Form> {};

TEST_P(PipelineForms, AddsEveryLength) {
  const auto device = Device::open("emulated");
  constexpr std::size_t segment = 100;
  VectorAddPipeline pipeline(*device, GetParam(), segment);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, segment, std::size_t{1009}}) {
    PinnedBuffer a(*device, count * sizeof(float)), b(*device, count * sizeof(float)),
        c(*device, count * sizeof(float));
    auto* const x = static_cast<float*>(a.data());
    auto* const y = static_cast<float*>(b.data());
    auto* const z = static_cast<float*>(c.data());
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = static_cast<float>(3 * i);
      z[i] = std::numeric_limits<float>::quiet_NaN();
    }
    const PipelineRun run = pipeline.run({x, y, z, count});
    EXPECT_EQ(run.tasks.size(), 4 * ((count + segment - 1) / segment));
    EXPECT_EQ(run.intervals.size(), run.tasks.size());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(z[i], static_cast<float>(4 * i)) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PipelineForms, ::testing::ValuesIn(all_forms),
                         [](const auto& form) { return std::string(name_of(form.param)); });

}  // namespace
}  // namespace tilescope::transfer
