// Pipelines against an H200: 4,814 GB/s x 480 cycles of 1.98 GHz / 132 SMs are 8,842 bytes an SM.
#include "report/pipeline_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tilescope/gpu/gpu_table.hpp>

namespace tilescope::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// `count` phases of `bytes`, of which `depth` may be full or under way.
Pipeline pipeline(std::uint32_t stages, std::uint32_t depth, std::uint64_t bytes,
                  std::uint32_t count = 16) {
  Pipeline p{.kernel = "k", .barrier = "full", .stages = stages};
  p.issue = {"k.cu", 7};
  p.wait = {"k.cu", 9};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t ahead = std::min(i + 1, depth);
    p.phases.push_back({.stage = i % stages,
                        .bytes = bytes,
                        .ahead = ahead,
                        .under_way = ahead,
                        .ready = ahead,
                        .producer_waited = i >= depth});
  }
  return p;
}

ExplainResult result_with(std::vector<Pipeline> pipelines, int registers = 0,
                          std::uint64_t shared_bytes = 0) {
  ExplainResult result;
  result.properties = gpu::find_gpu("h200").properties;
  result.pipelines = std::move(pipelines);
  result.resources = {{.kernel = "k",
                       .registers_per_thread = registers,
                       .static_shared_bytes = shared_bytes,
                       .threads_per_block = 128}};
  return result;
}

std::vector<std::string> advice_of(const ExplainResult& result) {
  std::vector<Advice> advice;
  advise_on_pipelines(result, advice);
  std::vector<std::string> messages;
  for (const Advice& piece : advice) {
    EXPECT_EQ(piece.kind, AdviceKind::shallow_pipeline);
    EXPECT_EQ(piece.place, (SourcePlace{"k.cu", 7}));
    EXPECT_GT(piece.weight, 0);
    EXPECT_LE(piece.weight, 1);
    messages.push_back(piece.message);
  }
  return messages;
}

TEST(PipelineReport, LittlesLawIsThatOfTheChip) {
  const ExplainResult result = result_with({pipeline(4, 4, 2048)});
  const PipelineNeed need = need_of(result.pipelines.front(), result);
  EXPECT_EQ(need.blocks_per_sm, 1u);
  EXPECT_EQ(need.bytes_per_sm, 4 * 2048);
  EXPECT_NEAR(need.latency_ns, 242.4, 0.1);
  EXPECT_NEAR(need.needed_per_sm, 8842, 1);
}

TEST(PipelineReport, AllPipelinesAndBlocksOfAnSmCount) {
  // 64 KB of shared memory a block: three of them fit into 228 KB.
  const ExplainResult result =
      result_with({pipeline(2, 2, 1000), pipeline(3, 3, 500)}, 32, 64 * 1024);
  const PipelineNeed need = need_of(result.pipelines.front(), result);
  EXPECT_EQ(need.blocks_per_sm, 3u);
  EXPECT_EQ(need.bytes_per_sm, 3 * (2 * 1000 + 3 * 500));
}

TEST(PipelineReport, TooFewBytesNameTheStagesThatAreMissing) {
  // 2 x 2,048 of 8,842 bytes: three stages more make 10,240.
  const std::vector<std::string> advice = advice_of(result_with({pipeline(2, 2, 2048)}));
  ASSERT_THAT(advice, SizeIs(1));
  EXPECT_THAT(advice.front(), AllOf(HasSubstr("At most 4,096 bytes are under way on an SM"),
                                    HasSubstr("needs 8,842 (4,814 GB/s x 242 ns / 132 SMs)"),
                                    HasSubstr("3 stages more would be enough")));
  EXPECT_THAT(advice_of(result_with({pipeline(5, 5, 2048)})), IsEmpty());
}

TEST(PipelineReport, DepthOneWaitsForTheWholeLatency) {
  const std::vector<std::string> one = advice_of(result_with({pipeline(1, 1, 32768)}));
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_THAT(one.front(), AllOf(HasSubstr("nothing is under way meanwhile"),
                                 HasSubstr("each of 16 phases waits for the whole latency, 242 ns"),
                                 HasSubstr("into a second stage")));
  EXPECT_THAT(one.front(), Not(HasSubstr("other blocks")));
  EXPECT_THAT(advice_of(result_with({pipeline(1, 1, 32768)}, 32, 64 * 1024)).front(),
              HasSubstr("unless other blocks work (3 fit on an SM)"));
  const std::vector<std::string> unused = advice_of(result_with({pipeline(4, 1, 32768)}));
  ASSERT_THAT(unused, SizeIs(1));
  EXPECT_THAT(unused.front(),
              AllOf(HasSubstr("there are 4 stages for it"), Not(HasSubstr("into a second stage"))));
}

TEST(PipelineReport, StagesThatAreNeverFilledAheadAreNamed) {
  const std::vector<std::string> advice = advice_of(result_with({pipeline(4, 3, 32768)}));
  ASSERT_THAT(advice, SizeIs(1));
  EXPECT_THAT(advice.front(), HasSubstr("At most 3 of the 4 stages of full"));
}

TEST(PipelineReport, GoodPipelinesAndThoseIssuedAtOnceGetNone) {
  EXPECT_THAT(advice_of(result_with({pipeline(2, 2, 32768)})), IsEmpty());
  EXPECT_THAT(advice_of(result_with({pipeline(4, 4, 32768)})), IsEmpty());
  EXPECT_THAT(advice_of(result_with({pipeline(2, 2, 64, 2)})), IsEmpty());
}

TEST(PipelineReport, TheSectionSaysWhoWaits) {
  Page page("explain");
  add_pipelines(page, result_with({pipeline(4, 4, 32768)}));
  const auto* const text = std::get_if<Text>(&page.blocks.back());
  ASSERT_NE(text, nullptr);
  EXPECT_THAT(text->text, AllOf(HasSubstr("full: 4 stages filled at k.cu:7, 16 phases of 32,768 "
                                          "bytes; depth 4, 131,072 bytes under way at most"),
                                HasSubstr("on an SM 131,072 of the 8,842 that its memory needs"),
                                HasSubstr("waited in 0 of 16 phases; the producer waited in 12")));
  Page empty("explain");
  add_pipelines(empty, result_with({}));
  EXPECT_THAT(empty.blocks, IsEmpty());
}

}  // namespace
}  // namespace tilescope::report
