// The journal between a watched program and its parent, without either.
#include "inspect/program/program_journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tilescope/error.hpp>

#include "inspect/program/launch_selection.hpp"
#include "inspect/program/program_settings.hpp"
#include "inspect/program/resumed_check.hpp"

namespace tilescope::inspect {
namespace {

class ProgramJournal : public ::testing::Test {
 protected:
  ~ProgramJournal() override { std::filesystem::remove(path_); }

  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  std::string path_ = ::testing::TempDir() + "tilescope-journal-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

Finding full_finding() {
  Finding f;
  f.kind = FindingKind::race;
  f.severity = Severity::warning;
  f.kernel = "scale<float>";
  f.launch = 7;
  f.first = {{"k.cu", 3}, 30, ThreadAction::write, 4, ThreadName{{1, 2, 3}, {4, 5, 6}}};
  f.second = {{"k.cu", 4}, 40, ThreadAction::read, 8, std::nullopt};
  f.memory = MemoryPlace{MemorySpace::shared, 0x7000, "tile", 256, -8, 4, true};
  f.facts = RaceFacts{RaceRelation::two_blocks, true, false, true, false, true};
  f.count = 99;
  return f;
}

TEST_F(ProgramJournal, FindingsComeBackWhole) {
  JournalWriter writer(path_);
  writer.finding({full_finding(), 3, 4});
  const Journal journal = read_journal(path_);
  ASSERT_EQ(journal.findings.size(), 1U);
  EXPECT_EQ(journal.findings[0].first, 3U);
  EXPECT_EQ(journal.findings[0].second, 4U);
  const Finding f = journal.findings[0].finding, g = full_finding();
  EXPECT_EQ(f.kind, g.kind);
  EXPECT_EQ(f.severity, g.severity);
  EXPECT_EQ(f.kernel, g.kernel);
  EXPECT_EQ(f.launch, g.launch);
  EXPECT_EQ(f.first.place, g.first.place);
  EXPECT_EQ(f.first.thread, g.first.thread);
  EXPECT_EQ(f.second->action, ThreadAction::read);
  EXPECT_FALSE(f.second->thread);
  EXPECT_EQ(f.count, 99U);
  // The words come from everything else.
  EXPECT_EQ(message(f), message(g));
  EXPECT_EQ(cure(f), cure(g));
  EXPECT_EQ(to_string(*f.memory), to_string(*g.memory));
}

TEST_F(ProgramJournal, EveryKindOfFactsComesBack) {
  const FindingFacts all[] = {std::monostate{},
                              BoundsMiss{-4, 12, true},
                              WaitFacts{false, 3, 4, true, true},
                              MaskFacts{MaskFault::exited, 5, 6},
                              OperandFacts{17},
                              ClusterFacts{ClusterFault::exited_block, 7},
                              CopyFacts{"sizes are multiples of 16"},
                              TextureFacts{18, true, false, true},
                              SurfaceMiss{{1, -2, 3}, {4, 5, 6}, 2},
                              TrapFacts{TrapReason::assertion, "x > 0", true},
                              LimitFacts{1000, 12.5},
                              LaunchRefusal{"too many threads"},
                              HostFacts{"cudaMemcpy", 4000, "cudaMemcpyHostToDevice", "other", 2},
                              CoverageFacts{"cudaMemcpy", 100, 28, 72}};
  JournalWriter writer(path_);
  for (const FindingFacts& facts : all) {
    Finding f;
    f.facts = facts;
    writer.finding({f});
  }
  const Journal journal = read_journal(path_);
  ASSERT_EQ(journal.findings.size(), std::size(all));
  for (std::size_t i = 0; i < std::size(all); ++i) {
    EXPECT_EQ(journal.findings[i].finding.facts.index(), all[i].index());
  }
  const auto& coverage = std::get<CoverageFacts>(journal.findings.back().finding.facts);
  EXPECT_EQ(coverage.missing, 28U);
  EXPECT_EQ(coverage.first_missing, 72U);
  EXPECT_EQ(std::get<HostFacts>(journal.findings[12].finding.facts).given,
            "cudaMemcpyHostToDevice");
  EXPECT_EQ(std::get<LimitFacts>(journal.findings[10].finding.facts).percent, 12.5);
}

TEST_F(ProgramJournal, LaunchesCountsAndTheRestComeBack) {
  JournalLaunch launch;
  launch.kernel = "k";
  launch.grid = {4, 2, 1};
  launch.ran = {.launches = 1, .blocks = 8, .warp_instructions = 300, .message = "a\nb"};
  launch.totals.global_load = {1, 2, 3};
  launch.totals.operations.ffma = 5;
  JournalCounts counts;
  counts.sum.lines = {{{"k.cu", 3}, launch.totals}};
  counts.sum.footprint = {{"x", 100, 40, 60}};
  ExplainDetails::OfLaunch of;
  of.counted.instructions = {{.id = 4, .place = {"k.cu", 3}, .counts = launch.totals}};
  of.samples.resize(1);
  of.samples[0].object = "x";
  of.samples[0].addresses[31] = 1234567890123;
  of.rounds = {of.samples[0], of.samples[0]};
  of.blocks = {{.index = {1, 0, 0}, .complete = true, .warps = {{}, {{0, 9}}}}};
  of.blocks[0].warps[1][0].state = observe::WarpState::stuck;
  of.code = {{{"k.cu", 3}, 30, "ret;"}};
  counts.kernels = {of};
  {
    JournalWriter writer(path_);
    writer.device("emulated:t4");
    writer.launch(launch);
    writer.counts({});
    writer.counts(counts);  // the last one counts
    writer.note("a function");
    writer.allocation({"cudaMalloc 1", 1});
    writer.limitation(Limitation::memory_records);
    writer.finished();
  }
  const Journal journal = read_journal(path_);
  EXPECT_EQ(journal.device, "emulated:t4");
  ASSERT_EQ(journal.launches.size(), 1U);
  EXPECT_EQ(journal.launches[0].grid, (Dim3{4, 2, 1}));
  EXPECT_EQ(journal.launches[0].totals, launch.totals);
  EXPECT_EQ(journal.launches[0].ran.message, "a\nb");
  ASSERT_EQ(journal.counts.sum.lines.size(), 1U);
  EXPECT_EQ(journal.counts.sum.lines[0].counts, launch.totals);
  EXPECT_EQ(journal.counts.sum.footprint[0].written, 60U);
  ASSERT_EQ(journal.counts.kernels.size(), 1U);
  EXPECT_EQ(journal.counts.kernels[0].counted.instructions[0].id, 4U);
  EXPECT_FALSE(journal.counts.kernels[0].counted.instructions[0].diverged);
  EXPECT_EQ(journal.counts.kernels[0].samples[0].addresses[31], 1234567890123U);
  EXPECT_EQ(journal.counts.kernels[0].rounds.size(), 2U);
  const observe::CourseOfBlock& block = journal.counts.kernels[0].blocks.at(0);
  EXPECT_TRUE(block.complete);
  EXPECT_TRUE(block.warps.at(0).empty());
  EXPECT_EQ(block.warps.at(1).at(0).end, 9U);
  EXPECT_EQ(block.warps[1][0].state, observe::WarpState::stuck);
  EXPECT_EQ(journal.counts.kernels[0].code.at(0).text, "ret;");
  EXPECT_EQ(journal.counts.kernels[0].code[0].place.line, 3U);
  EXPECT_THAT(journal.notes, ::testing::ElementsAre("a function"));
  EXPECT_EQ(journal.allocations[0].name, "cudaMalloc 1");
  EXPECT_EQ(journal.limitation, Limitation::memory_records);
  EXPECT_TRUE(journal.finished);
}

TEST_F(ProgramJournal, RepeatedFindingsAddUp) {
  JournalWriter writer(path_);
  writer.finding({full_finding()});
  writer.finding({full_finding()});
  writer.repeated(1, 10);
  writer.repeated(1, 1);
  const Journal journal = read_journal(path_);
  EXPECT_EQ(journal.findings[0].finding.count, 99U);
  EXPECT_EQ(journal.findings[1].finding.count, 110U);
}

TEST_F(ProgramJournal, ATornLastLineIsPassedOver) {
  JournalWriter(path_).note("whole");
  append(R"({"note":"to)");
  const Journal journal = read_journal(path_);
  EXPECT_THAT(journal.notes, ::testing::ElementsAre("whole"));
  EXPECT_FALSE(journal.finished);
}

TEST_F(ProgramJournal, AnyOtherDamageIsNamed) {
  JournalWriter(path_).note("whole");
  append("{\"note\":\n");
  try {
    read_journal(path_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("line 2 is damaged"));
  }
  std::filesystem::remove(path_);
  append("{\"launch\":[\"k\"]}\n");  // too few members
  EXPECT_THROW(read_journal(path_), Error);
}

TEST_F(ProgramJournal, AStackIsWrittenOnce) {
  JournalWriter writer(path_);
  HostCall call = HostCall::here("cudaMalloc");
  ASSERT_GT(call.depth, 0U);
  const StackId first = writer.stack(call);
  EXPECT_EQ(writer.stack(call), first);
  call.name = "cudaFree";
  EXPECT_NE(writer.stack(call), first);
  const Journal journal = read_journal(path_);
  ASSERT_EQ(journal.stacks.size(), 2U);
  EXPECT_EQ(journal.stacks.at(first).call, "cudaMalloc");
  EXPECT_THAT(journal.stacks.at(first).frames.front().object, ::testing::HasSubstr("test_inspect"));
}

TEST_F(ProgramJournal, SettingsComeBack) {
  write_program_settings({.mode = ProgramMode::explain,
                          .device = "emulated:t4",
                          .journal = "/tmp/j",
                          .watcher = 12,
                          .max_instructions = 5,
                          .device_memory = 6,
                          .launches = {{"scale<2>", 1, 3}, {"", 7, 7}},
                          .blocks = BlockSample{.percent = 2.5, .seed = 9},
                          .pictures = true,
                          .max_findings = 4,
                          .resume = "/tmp/r",
                          .checked = {UINT64_MAX, 11}},
                         path_);
  const ProgramSettings settings = read_program_settings(path_);
  EXPECT_EQ(settings.mode, ProgramMode::explain);
  EXPECT_EQ(settings.device, "emulated:t4");
  EXPECT_EQ(settings.journal, "/tmp/j");
  EXPECT_EQ(settings.watcher, 12);
  EXPECT_EQ(settings.max_instructions, 5U);
  EXPECT_EQ(settings.device_memory, 6U);
  ASSERT_EQ(settings.launches.size(), 2U);
  EXPECT_EQ(to_string(settings.launches[0]), "scale<2>:1-3");
  EXPECT_EQ(to_string(settings.launches[1]), "7");
  ASSERT_TRUE(settings.blocks);
  EXPECT_EQ(settings.blocks->percent, 2.5);
  EXPECT_EQ(settings.blocks->seed, 9U);
  EXPECT_EQ(settings.max_findings, 4U);
  EXPECT_EQ(settings.resume, "/tmp/r");
  EXPECT_THAT(settings.checked, ::testing::ElementsAre(UINT64_MAX, 11U));
  EXPECT_TRUE(settings.pictures);
  std::filesystem::remove(path_);
  append("{}");
  EXPECT_THROW(read_program_settings(path_), Error);
}

TEST_F(ProgramJournal, RunsOfOneCheckShareTheirLaunches) {
  const auto launch = [](const char* kernel) {
    return JournalLaunch{.kernel = kernel, .grid = {4}, .block = {32}, .ran = {}, .totals = {}};
  };
  EXPECT_THAT(begin_resumed_run(path_, "check"), ::testing::IsEmpty());
  {
    JournalWriter writer(path_);
    writer.device("emulated:t4");
    for (const char* kernel : {"a", "b", "c"}) writer.launch(launch(kernel));
    writer.checked(2);  // the third one was cut short
  }
  append("{\"launch\":[\"torn");
  EXPECT_THAT(begin_resumed_run(path_, "check"),
              ::testing::ElementsAre(digest_of("a", {4}, {32}), digest_of("b", {4}, {32})));
  EXPECT_THROW(begin_resumed_run(path_, "another"), Error);
  std::vector<CheckedRun> runs = checked_runs(read_journals(path_));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].last, 2U);
  EXPECT_EQ(runs[1].first, 2U);
  {
    JournalWriter writer(path_);  // whose second launch is another one
    writer.device("emulated:t4");
    writer.launch(launch("a"));
    writer.changed_at(1);
    writer.launch(launch("d"));
    writer.launch(launch("e"));
    writer.checked(3);
  }
  runs = checked_runs(read_journals(path_));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].first, 0U);
  EXPECT_EQ(runs[0].last, 1U);
  EXPECT_EQ(runs[1].first, 1U);
  EXPECT_EQ(runs[1].last, 3U);
  EXPECT_THAT(begin_resumed_run(path_, "check"),
              ::testing::ElementsAre(digest_of("a", {4}, {32}), digest_of("d", {4}, {32}),
                                     digest_of("e", {4}, {32})));
}

TEST_F(ProgramJournal, LaunchesOfSeveralProcessesHaveNoCommonOrder) {
  begin_resumed_run(path_, "check");
  {
    JournalWriter writer(path_);
    writer.device("emulated:t4");
    writer.device("emulated:t4");
    writer.launch({.kernel = "a", .grid = {1}, .block = {1}, .ran = {}, .totals = {}});
    writer.checked(1);
  }
  EXPECT_THAT(begin_resumed_run(path_, "check"), ::testing::IsEmpty());
}

TEST_F(ProgramJournal, AFileWithoutACheckIsLeftAlone) {
  append("{\"note\":\"mine\"}\n");
  EXPECT_THROW(begin_resumed_run(path_, "check"), Error);
  EXPECT_EQ(read_journal(path_).notes, std::vector<std::string>{"mine"});
}

TEST(LaunchRanges, AreReadAndMatched) {
  const std::vector<LaunchRange> ranges = parse_launch_ranges("1-2, scale<16, 2>:1,lib::add,9-");
  std::string texts;
  for (const LaunchRange& range : ranges) texts += to_string(range) + ";";
  EXPECT_EQ(texts, "1-2;scale<16, 2>:1;lib::add;9-;");
  EXPECT_TRUE(selects({}, 5, "any", 0));
  EXPECT_TRUE(selects(ranges, 2, "other", 0));
  EXPECT_FALSE(selects(ranges, 3, "other", 0));
  EXPECT_TRUE(selects(ranges, 3, "scale<16, 2>", 1));
  EXPECT_FALSE(selects(ranges, 3, "scale<16, 2>", 0));
  EXPECT_FALSE(selects(ranges, 3, "scale<8, 2>", 1));
  EXPECT_TRUE(selects(ranges, 3, "lib::add<float>", 4));
  EXPECT_FALSE(selects(ranges, 3, "add", 4));
  EXPECT_TRUE(selects(ranges, 100, "other", 0));
  EXPECT_TRUE(selects(parse_launch_ranges("add"), 3, "lib::add<float>", 4));
  for (const char* wrong : {"", ",", "x:", "3-1", "-3", "1,,2", "1x", ":2"}) {
    EXPECT_THROW(parse_launch_ranges(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace tilescope::inspect
