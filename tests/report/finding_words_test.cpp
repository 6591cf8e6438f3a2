// Words from facts: no kernel runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "report/findings_report.hpp"
#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"
#include "tilescope/finding.hpp"

namespace tilescope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kinds = static_cast<int>(FindingKind::uncovered_elements) + 1;

FindingAccess access(ThreadAction action, std::uint32_t line, std::uint32_t bytes = 4) {
  return {{"k.cu", line}, 10 * line, action, bytes, ThreadName{{0, 0, 0}, {1, 0, 0}}};
}

MemoryPlace element(MemorySpace space, std::string object, std::int64_t offset,
                    std::uint32_t size = 4) {
  MemoryPlace place;
  place.space = space;
  place.object = std::move(object);
  place.offset = offset;
  place.element_bytes = size;
  return place;
}

Finding race(RaceRelation relation, ThreadAction first = ThreadAction::write,
             ThreadAction second = ThreadAction::read) {
  Finding f;
  f.first = access(first, 4);
  f.second = access(second, 6);
  f.memory = element(MemorySpace::shared, "tile", 68);
  f.facts = RaceFacts{.relation = relation};
  return f;
}

RaceFacts& facts(Finding& f) {
  return std::get<RaceFacts>(f.facts);
}

TEST(FindingWords, EveryKindHasItsOwnNameAndAMessageEvenWithoutFacts) {
  std::set<std::string_view> names;
  for (int k = 0; k < kinds; ++k) {
    Finding f;
    f.kind = static_cast<FindingKind>(k);
    EXPECT_TRUE(names.insert(to_string(f.kind)).second) << to_string(f.kind);
    if (f.kind == FindingKind::illegal_launch || f.kind == FindingKind::trap) continue;
    EXPECT_NE(message(f), "") << to_string(f.kind);
    EXPECT_NE(cure(f), "") << to_string(f.kind);
  }
}

TEST(FindingWords, PointersToTheHost) {
  Finding f;
  f.kind = FindingKind::host_pointer;
  f.first = access(ThreadAction::read, 4);
  f.memory = element(MemorySpace::global, "", 0);
  f.memory->address = 0x7ffd1000;
  EXPECT_EQ(message(f),
            "read of 4 bytes at 0x7ffd1000 is memory of the host, which the GPU cannot reach");
  f.facts = HostFacts{.call = "cudaLaunchKernel", .given = "", .right = "", .argument = 2};
  f.memory->object = "input";
  EXPECT_EQ(message(f),
            "argument 2 of the kernel is memory of the host ('input'), which the GPU cannot reach");
}

TEST(FindingWords, PlacesInMemory) {
  EXPECT_EQ(to_string(element(MemorySpace::shared, "tile", 68)), "tile[17]");
  EXPECT_EQ(to_string(element(MemorySpace::global, "x", 3)), "x + 3 bytes");
  EXPECT_EQ(to_string(element(MemorySpace::global, "x", -8)), "x[-2]");
  EXPECT_EQ(to_string(element(MemorySpace::global, "x", -3)), "x - 3 bytes");
  EXPECT_EQ(to_string(element(MemorySpace::local, "", 8)), "local memory[2]");
  MemoryPlace scalar = element(MemorySpace::shared, "last", 0);
  scalar.scalar = true;
  EXPECT_EQ(to_string(scalar), "last");
  MemoryPlace bare = element(MemorySpace::global, "", 0);
  bare.address = 0x7000;
  EXPECT_EQ(to_string(bare), "0x7000");
  bare.space = MemorySpace::shared;
  EXPECT_EQ(to_string(bare), "byte 28672 of shared memory");
}

TEST(FindingWords, Actions) {
  EXPECT_EQ(action(access(ThreadAction::write, 1, 16)), "write of 16 bytes");
  EXPECT_EQ(action(access(ThreadAction::atomic, 1, 1)), "atomic operation of 1 byte");
  EXPECT_EQ(action(access(ThreadAction::wait, 1)), "waits");
  EXPECT_EQ(action(access(ThreadAction::none, 1)), "");
}

TEST(FindingWords, OutOfBoundsSaysByHowMuch) {
  Finding f;
  f.kind = FindingKind::out_of_bounds;
  f.first = access(ThreadAction::read, 4);
  f.memory = element(MemorySpace::global, "x", 400);
  f.memory->object_bytes = 400;
  f.facts = BoundsMiss{4, 4, false};
  EXPECT_EQ(message(f), "x[100] misses x, which has 100 elements of 4 bytes: 4 bytes past its end");
  EXPECT_THAT(cure(f), HasSubstr("if (i < n)"));
  f.facts = BoundsMiss{4, 1024, false};
  EXPECT_THAT(message(f), HasSubstr("4 bytes (others by up to 1,024 bytes) past its end"));
  f.memory->offset = -4;
  f.facts = BoundsMiss{-4, -4, false};
  EXPECT_THAT(message(f), HasSubstr("x[-1] misses x"));
  EXPECT_THAT(message(f), HasSubstr("4 bytes before its start"));
  EXPECT_THAT(cure(f), HasSubstr("if (i > 0)"));
}

TEST(FindingWords, DynamicSharedMemoryIsToldHowMuchItNeeds) {
  Finding f;
  f.kind = FindingKind::out_of_bounds;
  f.first = access(ThreadAction::write, 4);
  f.memory = element(MemorySpace::shared, "tile", 256);
  f.memory->object_bytes = 256;
  f.facts = BoundsMiss{4, 256, true};
  EXPECT_THAT(cure(f), HasSubstr("this needs 512 bytes"));
  f.facts = BoundsMiss{4, 256, false};
  EXPECT_THAT(cure(f), HasSubstr("declare the array larger"));
}

TEST(FindingWords, AnAccessWhereNothingIsNamesTheAddress) {
  Finding f;
  f.kind = FindingKind::out_of_bounds;
  f.first = access(ThreadAction::read, 4);
  f.memory = element(MemorySpace::global, "", 0);
  f.memory->address = 0x1234'5000;
  EXPECT_EQ(message(f),
            "read of 4 bytes of global memory at 0x12345000, where no buffer or variable lies");
}

TEST(FindingWords, RacesByTheDistanceOfTheirThreads) {
  EXPECT_EQ(message(race(RaceRelation::same_block)),
            "threads of two warps access tile[17], and no barrier orders them");
  EXPECT_EQ(cure(race(RaceRelation::same_block)), "put __syncthreads() between the two accesses");
  EXPECT_EQ(cure(race(RaceRelation::same_warp)), "put __syncwarp() between the two accesses");
  EXPECT_THAT(message(race(RaceRelation::two_blocks)), HasSubstr("nothing orders blocks"));
  EXPECT_THAT(cure(race(RaceRelation::two_blocks)), HasSubstr("a launch of its own"));
  Finding strong = race(RaceRelation::same_warp);
  facts(strong).both_strong = true;
  EXPECT_THAT(message(strong), HasSubstr("volatile does not make them"));
}

TEST(FindingWords, RacesWithGridsThatKernelsLaunch) {
  Finding reads = race(RaceRelation::child_grid, ThreadAction::read, ThreadAction::write);
  facts(reads).child = "sum";
  EXPECT_EQ(message(reads),
            "a kernel and a grid of sum that it launched both access tile[17], and nothing orders "
            "the two: they run at the same time");
  EXPECT_THAT(cure(reads), HasSubstr("into cudaStreamTailLaunch"));
  Finding writes = race(RaceRelation::child_grid, ThreadAction::write, ThreadAction::read);
  EXPECT_THAT(cure(writes), HasSubstr("write before the launch"));
}

TEST(FindingWords, RacesBeyondBarriers) {
  Finding scoped = race(RaceRelation::two_blocks);
  facts(scoped).both_strong = facts(scoped).block_scope = true;
  EXPECT_THAT(message(scoped), HasSubstr("block scope counts only in its own block"));
  EXPECT_THAT(cure(scoped), HasSubstr("the scope of the device"));
  Finding same = race(RaceRelation::two_blocks, ThreadAction::write, ThreadAction::write);
  facts(same).same_bits = true;
  EXPECT_EQ(message(same),
            "two blocks write tile[17], and nothing orders them; in this run they wrote the same "
            "bits");
  EXPECT_EQ(cure(same), "let one thread write");
  Finding unchanged = race(RaceRelation::two_blocks);
  facts(unchanged).same_bits = true;
  EXPECT_THAT(message(unchanged), HasSubstr("it wrote back the bits that it had read"));
  EXPECT_EQ(cure(unchanged), "leave out the write that changes nothing");
  EXPECT_THAT(message(race(RaceRelation::copy_source)), HasSubstr("asynchronous copy from it"));
  EXPECT_THAT(message(race(RaceRelation::relaxed_flag)), HasSubstr("orders nothing behind it"));
  EXPECT_THAT(cure(race(RaceRelation::unfenced_relay)), HasSubstr("__threadfence()"));
}

TEST(FindingWords, TheCureOfARaceDependsOnItsAccesses) {
  using enum ThreadAction;
  EXPECT_THAT(cure(race(RaceRelation::same_block, write, atomic)), HasSubstr("make both atomic"));
  EXPECT_THAT(cure(race(RaceRelation::two_blocks, write, write)), HasSubstr("is blockIdx in"));
  Finding update = race(RaceRelation::same_block);
  facts(update).update = true;
  EXPECT_THAT(cure(update), HasSubstr("use an atomic"));
  EXPECT_THAT(cure(update), Not(HasSubstr("add those up")));
  update.memory->space = MemorySpace::global;
  EXPECT_THAT(cure(update), HasSubstr("add those up"));
  Finding one_line = race(RaceRelation::same_block);
  one_line.second->place = one_line.first.place;
  EXPECT_THAT(cure(one_line), HasSubstr("let all threads read before any writes"));
}

// Without a line table two instructions are on one line only if they are on one line of the PTX.
TEST(FindingWords, UnknownLinesAreNotTheSameLine) {
  Finding f = race(RaceRelation::same_block);
  f.first.place = f.second->place = {};
  EXPECT_EQ(cure(f), "put __syncthreads() between the two accesses");
  f.second->ptx_line = f.first.ptx_line;
  EXPECT_THAT(cure(f), HasSubstr("let all threads read before any writes"));
}

TEST(FindingWords, AFlagOrAFenceBetweenBlocksChangesTheCure) {
  Finding f = race(RaceRelation::two_blocks);
  facts(f).announces = true;
  EXPECT_THAT(cure(f), HasSubstr("between the write and that atomic"));
  facts(f).fences = true;
  EXPECT_THAT(cure(f), HasSubstr("write, __threadfence(), atomic"));
}

TEST(FindingWords, Masks) {
  Finding f;
  f.kind = FindingKind::warp_mask;
  f.facts = MaskFacts{MaskFault::absent, 0xffff'ffff, 0xfff0'0000};
  EXPECT_EQ(message(f),
            "the member mask 0xffffffff names lanes 20 to 31, which do not arrive here");
  f.facts = MaskFacts{MaskFault::not_a_member, 0x1, 0x8000'0006};
  EXPECT_EQ(message(f),
            "lanes 1 to 2 and 31 run this, but the member mask 0x00000001 does not name them");
  f.facts = MaskFacts{MaskFault::exited, 0x3, 0x2};
  EXPECT_THAT(message(f), HasSubstr("names lane 1, which has left the kernel: values read from it "
                                    "are undefined"));
  f.facts = MaskFacts{MaskFault::absent, 0x3, 0x2};
  EXPECT_THAT(message(f), HasSubstr("names lane 1, which does not arrive here"));
  f.facts = MaskFacts{MaskFault::not_a_member, 0x3, 0x4};
  EXPECT_THAT(message(f), HasSubstr("lane 2 runs this, but the member mask 0x00000003 does not "
                                    "name it"));
}

TEST(FindingWords, WhoWaitsForWhom) {
  Finding f;
  f.kind = FindingKind::barrier_unreached;
  f.facts = WaitFacts{.exited = 1};
  EXPECT_EQ(message(f),
            "threads wait at a barrier that others of the block never reach (1 thread had left the "
            "kernel)");
  f.facts = WaitFacts{.barrier = 3};
  EXPECT_THAT(cure(f), HasSubstr("reach barrier 3"));
  f.facts = WaitFacts{.at_barrier = false};
  EXPECT_THAT(message(f), HasSubstr("wait at a warp instruction"));
  f.facts = WaitFacts{.exited = 24, .went_on = true};
  EXPECT_THAT(message(f), HasSubstr("24 threads of the block left the kernel"));
}

TEST(FindingWords, WhyAKernelGaveUp) {
  Finding f;
  f.kind = FindingKind::trap;
  f.facts = TrapFacts{TrapReason::trap, "trap", false};
  EXPECT_THAT(message(f), HasSubstr("by a trap"));
  f.facts = TrapFacts{TrapReason::trap, "trap", true};
  EXPECT_THAT(cure(f), HasSubstr("--cooperative"));
  f.facts = TrapFacts{TrapReason::assertion, "assertion `i < n` failed in k", false};
  EXPECT_EQ(message(f), "assertion `i < n` failed in k");
  EXPECT_THAT(cure(f), HasSubstr("asserted condition"));
}

TEST(FindingWords, WhatWasNotChecked) {
  EXPECT_EQ(message(Limitation::none), "");
  EXPECT_THAT(std::string(message(Limitation::memory_records)), HasSubstr("more global memory"));
}

std::string findings_text(const std::vector<Finding>& findings) {
  report::SourceTexts sources;
  report::Page page("check");
  report::add_findings(page, findings, sources);
  return report::render_text(page);
}

TEST(FindingsReport, AnIllegalLaunchHasNoPlaceAndAllFields) {
  Finding f;
  f.kind = FindingKind::illegal_launch;
  f.facts = LaunchRefusal{"2000 threads per block are too many"};
  CheckResult result;
  result.findings = {f, race(RaceRelation::same_block)};
  const report::Page page = report::check_page(result);
  EXPECT_THAT(report::render_text(page),
              HasSubstr("\nerror: illegal-launch\n  2000 threads per block are too many.\n\n"));
  const nlohmann::json reports = report::json_of(page).at("reports");
  const nlohmann::json &illegal = reports[0], &other = reports[1];
  for (const auto& [key, value] : other.items()) EXPECT_TRUE(illegal.contains(key)) << key;
}

// Counts the rest of many findings of one kind about nothing in particular; drops none.
TEST(FindingsReport, ManyOfOneKindAreCounted) {
  std::vector<Finding> findings;
  for (std::uint32_t line = 1; line <= 6; ++line) {
    Finding f;
    f.kind = FindingKind::null_pointer;
    f.first = access(ThreadAction::read, line);
    findings.push_back(f);
  }
  EXPECT_THAT(findings_text(findings),
              HasSubstr("3 more of kind null-pointer, in lines 4, 5, 6 (--json has all)"));
  for (Finding& f : findings) {
    f.kind = FindingKind::uninitialised_read;
    f.memory = element(MemorySpace::shared, "tile", 0);
  }
  EXPECT_THAT(findings_text(findings),
              HasSubstr("3 more of kind uninitialised-read about tile, in lines 4, 5, 6"));
}

}  // namespace
}  // namespace tilescope
