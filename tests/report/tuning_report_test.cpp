// Tables of tuned products.
#include "report/tuning_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Page tuning_page(const TuneReport& report) {
  Page page("tune");
  add_tuning(page, report);
  return page;
}

std::string tuning_table(const TuneReport& report) {
  return render_text(tuning_page(report));
}

TuneCandidate candidate(const std::string& variant, const std::string& note, double ms,
                        TuneVerdict verdict = TuneVerdict::ok) {
  return {.variant = variant,
          .plan = "plan of " + std::to_string(ms),
          .note = note,
          .predicted_ms = 0.25,
          .time_ms = ms,
          .verdict = verdict,
          .reason = {}};
}

TuneReport tuned() {
  TuneReport report{.product =
                        "4096x4096x4096 bf16, A bfloat16 by rows of 4096, B bfloat16 by "
                        "rows of 4096, C bfloat16 by rows of 4096",
                    .candidates = {candidate("tensor_tiles", "128x128x6 in turn boxes 2", 0.3),
                                   candidate("general", "", 9.0, TuneVerdict::slower),
                                   candidate("tensor_tiles",
                                             "256x128x4 cluster 2 split 16 in turn "
                                             "boxes 2, A repacked, B repacked",
                                             0.2)},
                    .file = "/cache/tuned/gpu.json"};
  report.candidates[0].by_model = true;
  report.candidates[1].predicted_ms = 0.0;
  report.candidates[2].chosen = true;
  return report;
}

TEST(TuningTable, SaysWhatWasPredictedMeasuredAndChosen) {
  const std::string text = tuning_table(tuned());
  EXPECT_THAT(text,
              HasSubstr("128x128x6 in turn boxes 2        250 us    300 us   1.000  model's\n"));
  EXPECT_THAT(text, HasSubstr("general                                            -   9.00 ms   "
                              "0.033  slower\n"));
  EXPECT_THAT(text, HasSubstr("   1.500  chosen\n"));
  EXPECT_THAT(text, HasSubstr("1.500 times as fast as the model's choice; kept in "
                              "/cache/tuned/gpu.json\n"));
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
}

TEST(TuningTable, SaysWhyOneIsWrongOrFailed) {
  TuneReport report = tuned();
  report.candidates[2].chosen = false;
  report.candidates[2].verdict = TuneVerdict::wrong;
  report.candidates[2].time_ms = 0.0;
  report.candidates[2].reason = "1 of 9 elements are wrong, the first at 7: 1, not 2";
  report.candidates[0].chosen = true;
  report.file.clear();
  const std::string text = tuning_table(report);
  EXPECT_THAT(text, HasSubstr(" -  wrong\n  16 in turn boxes 2, A repacked, B\n  repacked\n  1 of "
                              "9 elements are wrong, the first at 7: 1, not 2\n"));
  EXPECT_THAT(text, HasSubstr("the model's choice stays; not kept\n"));
  report.candidates[0].chosen = false;
  EXPECT_THAT(tuning_table(report), HasSubstr("nothing is taken: no candidate was right\n"));
}

TEST(TuningTable, PlansWithTheSameWordsAreToldApart) {
  TuneReport report = tuned();
  EXPECT_THAT(tuning_table(report), Not(HasSubstr("plan of")));
  report.candidates[2].note = report.candidates[0].note;
  const std::string text = tuning_table(report);
  EXPECT_THAT(text, HasSubstr("tensor_tiles plan of 0.3"));
  EXPECT_THAT(text, HasSubstr("tensor_tiles plan of 0.2"));
}

TEST(TuningTable, OneCandidateIsNoChoice) {
  TuneReport report = tuned();
  report.candidates = {report.candidates[2]};
  EXPECT_THAT(tuning_table(report), HasSubstr("nothing to choose from"));
}

TEST(TuningJson, HasNumbersAndNullForWhatIsNotKnown) {
  const nlohmann::json json = json_of(tuning_page(tuned()))["products"][0];
  EXPECT_EQ(json["file"], "/cache/tuned/gpu.json");
  EXPECT_EQ(json["candidates"][0]["predicted_ms"], 0.25);
  EXPECT_EQ(json["candidates"][0]["time_ms"], 0.3);
  EXPECT_TRUE(json["candidates"][1]["predicted_ms"].is_null());
  EXPECT_EQ(json["candidates"][1]["verdict"], "slower");
  EXPECT_EQ(json["candidates"][2]["chosen"], true);
}

TEST(TunedList, GroupsByDevice) {
  const TunedMatmul product{.product = "8x8x8 fp16",
                            .device = "a GPU",
                            .variant = "general",
                            .note = {},
                            .time_ms = 1.0,
                            .model = "mma_sync",
                            .model_time_ms = 2.0};
  EXPECT_EQ(render_text(tuned_page({product, product})),
            "a GPU\n  8x8x8 fp16\n    general: 1.00 ms; model's mma_sync: 2.00 ms\n"
            "  8x8x8 fp16\n    general: 1.00 ms; model's mma_sync: 2.00 ms\n");
  EXPECT_EQ(render_text(tuned_page({})), "nothing is tuned\n");
}

}  // namespace
}  // namespace tilescope::report
