// Values, sentences and pages, as text and as JSON.
#include "report/page/page.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

TEST(Values, AreFormattedByTheUnitInTheirNames) {
  const Record record{{"count", 1048576},        {"shared_bytes", 65536},
                      {"time_ms", 0.28},         {"peak_flops_per_second", 6.69e13},
                      {"bytes_per_second", 4e9}, {"wasted_share", 0.125},
                      {"intensity", 1.0 / 3},    {"on_chip", true},
                      {"nothing", Value()},      {"block", Dim3{1024, 2, 1}}};
  EXPECT_EQ(record.fill("{count} {shared_bytes} {time_ms} {peak_flops_per_second} "
                        "{bytes_per_second} {wasted_share} {intensity} {on_chip} {nothing} "
                        "{block:extents}"),
            "1,048,576 64.0 KiB 280 us 66.9 TFLOP/s 4.00 GB/s 12.5% 0.3333 yes - 1,024 x 2 x 1");
}

TEST(Values, AFormatSaysOtherwise) {
  const Record record{{"n", 12345678}, {"one", 1}, {"share", 0.25}, {"bytes", 65536}};
  EXPECT_EQ(record.fill("{n:plain} {n:short} {n:.2e} {one} block{one:s} {n} block{n:s} "
                        "{share:percent} {share:bar8} {bytes:bytes} {n:count}"),
            "12345678 12.3M 1.23e+07 1 block 12,345,678 blocks 25.0% ## 64.0 KiB 12,345,678");
}

TEST(Values, ShortCountsHaveAtMostFiveCharacters) {
  const auto text = [](std::uint64_t count) { return text_of(Value(count), {}, "short"); };
  EXPECT_EQ(text(99999), "99999");
  EXPECT_EQ(text(100000), "100k");
  EXPECT_EQ(text(999499), "999k");
  EXPECT_EQ(text(999500), "1.00M");
  EXPECT_EQ(text(16777216), "16.8M");
  EXPECT_EQ(text(~std::uint64_t{0}), "18.4E");
}

TEST(Sentences, ReachIntoRecordsAndHaveWordsForWhatIsMissing) {
  const Record record{{"burst", Record{{"array_ns", 40.0}}}, {"limit", Value()}};
  EXPECT_EQ(record.fill("{burst.array_ns:.1f} ns, {limit?no limit}, {unknown:.1f?none}, {limit?}."),
            "40.0 ns, no limit, none, .");
  EXPECT_THROW(record.fill("{unknown}"), std::logic_error);
  EXPECT_THROW(record.fill("{burst.other}"), std::logic_error);
  EXPECT_THROW(record.fill("{burst"), std::logic_error);
}

TEST(Sentences, ValuesAreNoPlaceholders) {
  const Record record{{"name", "{x}"}};
  EXPECT_EQ(record.fill("<{name}>"), "<{x}>");
}

TEST(Records, ReplaceValuesOfTheSameName) {
  Record record{{"a", 1}, {"b", 2}};
  record.set("a", 3).set_all({{"b", 4}, {"c", 5}});
  record.list("d").push_back("x");
  EXPECT_EQ(record.fill("{a} {b} {c} {d}"), "3 4 5 x");
  EXPECT_EQ(record.fields().size(), 4u);
}

Page page() {
  Page page("banks");
  page.data = {{"lanes", 32}, {"share", 0.5}, {"inner", Record{{"x", List{1, "two", Value()}}}}};
  page.data.let("hidden", "only in text");
  page.say("Title of {lanes} lanes");
  page.facts(10);
  page.fact("Lanes", "{lanes}, {hidden}");
  page.fact("A longer name", "{share:percent}");
  page.gap();
  page.say("indented", 2);
  page.step("Step", "{lanes} / 2 = 16");
  return page;
}

TEST(TextOfPages, HasBlocksFromTheTopDown) {
  EXPECT_EQ(render_text(page()),
            "Title of 32 lanes\n"
            "  Lanes         32, only in text\n"
            "  A longer name 50.0%\n"
            "\n"
            "  indented\n");
}

TEST(TextOfPages, ShowsStepsWhenTheyAreAskedFor) {
  Page shown = page();
  shown.with_steps = true;
  EXPECT_THAT(render_text(shown), ::testing::EndsWith("  indented\n"
                                                      "\n"
                                                      "Step by step:\n"
                                                      "  1. Step: 32 / 2 = 16\n"));
}

TEST(TextOfPages, BreaksLongLinesAndKeepsTheSpacesOfOthers) {
  Page long_page("x");
  long_page.add(Text{"a  b", 2, 2});
  long_page.add(Text{std::string(50, 'a') + ' ' + std::string(50, 'b'), 2, 2});
  EXPECT_EQ(render_text(long_page),
            "  a  b\n  " + std::string(50, 'a') + "\n    " + std::string(50, 'b') + '\n');
}

TEST(TextOfPages, QuotesAndExplainsFindings) {
  Page found("check");
  found.add(Diagnostic{.severity = "error",
                       .kind = "race",
                       .where = "k.cu:3 and 4",
                       .places = {{.line = 3, .quoted = std::string(90, 'q'), .who = "thread 0"},
                                  {.line = 0, .quoted = "", .who = "thread 1"}},
                       .paragraphs = {"Both write.", "Cure: a barrier."}});
  found.add(Diagnostic{
      .severity = "warning", .kind = "idle", .where = "", .places = {}, .paragraphs = {}});
  EXPECT_EQ(render_text(found), "error: race at k.cu:3 and 4\n    3 | " + std::string(70, 'q') +
                                    "..\n"
                                    "        thread 0\n"
                                    "        thread 1\n"
                                    "  Both write.\n"
                                    "  Cure: a barrier.\n"
                                    "\n"
                                    "warning: idle\n\n");
}

TEST(TextOfPages, ListingsMarkHotLinesAndSkipGaps) {
  Page source("explain");
  source.add(Listing{
      .file = "k.cu",
      .columns = {{"inst%", right, 5, "{share:.1f?}"}},
      .lines = {{.number = 1, .source = "int i;"},
                {},
                {.number = 9, .hot = true, .figures = {{"share", 99.5}}, .source = "x[i] = 1;"}}});
  EXPECT_EQ(render_text(source),
            "k.cu\n"
            " line inst%  source\n"
            "    1        int i;\n"
            "  ...\n"
            ">   9  99.5  x[i] = 1;\n");
  EXPECT_THAT(render_text(source, {.columns = 20, .colour = true}),
              ::testing::HasSubstr("\033[1m>   9  99.5  x[i] ..\033[0m\n"));
}

TEST(JsonOfPages, HasTheDataInOneEnvelope) {
  EXPECT_EQ(json_of(page()), (nlohmann::json{{"version", 1},
                                             {"command", "banks"},
                                             {"lanes", 32},
                                             {"share", 0.5},
                                             {"inner", {{"x", {1, "two", nullptr}}}}}));
  Page shown = page();
  shown.with_steps = true;
  EXPECT_EQ(json_of(shown).at("steps"), nlohmann::json({"Step: 32 / 2 = 16"}));
}

TEST(JsonOfPages, IsUtf8WhateverTheValuesAre) {
  Page odd("run");
  odd.data = {{"name", "k\xff.cu"}, {"infinite", 1e308 * 10}};
  const nlohmann::json parsed = nlohmann::json::parse(render_json(odd));
  EXPECT_EQ(parsed.at("name"), "k\ufffd.cu");
  EXPECT_TRUE(parsed.at("infinite").is_null());
}

}  // namespace
}  // namespace tilescope::report
