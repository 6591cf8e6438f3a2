#include "report/profile_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

using measure::RungResult;
using measure::Verdict;
using ::testing::HasSubstr;
using ::testing::Not;

std::string profile_table(const std::vector<RungResult>& results) {
  Page page("ladder");
  add_profile(page, results);
  return render_text(page);
}

RungResult rung(std::string name, std::uint64_t instructions) {
  RungResult result;
  result.variant.name = std::move(name);
  result.verdict = Verdict::ok;
  result.counts.emplace();
  result.counts->instructions = instructions;
  return result;
}

TEST(ProfileTable, SharesAreOfTheInstructionsWhereThereIsNoTime) {
  const std::string table = profile_table({rung("small", 100), rung("large", 300)});
  EXPECT_THAT(table, HasSubstr("75.0%"));
  EXPECT_THAT(table, HasSubstr("25.0%"));
  EXPECT_LT(table.find("large"), table.find("small")) << "the most first";
}

TEST(ProfileTable, SharesAreOfTheTimeWhereThereIsOne) {
  RungResult fast = rung("fast", 300), slow = rung("slow", 100);
  fast.timing.emplace();
  fast.timing->samples_ms = {1.0, 1.0, 1.0};
  slow.timing.emplace();
  slow.timing->samples_ms = {9.0, 9.0, 9.0};
  slow.counts->global_load = {.requests = 10, .sectors = 1'000'000, .ideal_sectors = 250'000};
  const std::string table = profile_table({fast, slow});
  EXPECT_THAT(table, HasSubstr("90.0%"));
  EXPECT_THAT(table, HasSubstr("9.00 ms"));
  EXPECT_THAT(table, HasSubstr("25%")) << "of the sectors' bytes were wanted";
  EXPECT_THAT(table, HasSubstr("3.56 GB/s")) << "32 MB in 9 ms";
}

TEST(ProfileTable, SerialisedWarpsAreTheTurnsLostToConflicts) {
  RungResult conflicts = rung("conflicts", 1);
  conflicts.counts->shared_load = {.requests = 10, .wavefronts = 320, .ideal_wavefronts = 10};
  EXPECT_THAT(profile_table({conflicts}), HasSubstr("310"));
  EXPECT_THAT(profile_table({rung("clean", 1)}), HasSubstr("none"));
}

TEST(ProfileTable, RungsThatWereNotVerifiedAreLeftOut) {
  RungResult wrong = rung("wrong_one", 5);
  wrong.verdict = Verdict::wrong;
  EXPECT_THAT(profile_table({wrong, rung("right", 5)}), Not(HasSubstr("wrong_one")));
}

}  // namespace
}  // namespace tilescope::report
