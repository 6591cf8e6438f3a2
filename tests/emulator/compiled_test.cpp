// Compiled code against the interpreter: the same memory, counts, faults and number of
// instructions, for random kernels; watched by nobody, by an observer that takes accesses added up,
// and by one that takes known accesses: then all that they are told is the same too.
//
// 150 kernels run with the other tests. More, from any seed:
//
//     TILESCOPE_RANDOM_KERNELS=10000 TILESCOPE_RANDOM_SEED=7
//       build/tests/test_emulator --gtest_filter='Compiled.RandomKernels'
//
// With TILESCOPE_COMPILE_AFTER=1 every block is compiled before its first run, not its second.
#include <fmt/format.h>

#include <cstdlib>
#include <tuple>

#include "emulator/access_recorder.hpp"
#include "emulator/compiled_code.hpp"
#include "emulator/harness.hpp"
#include "emulator/lane_key.hpp"
#include "emulator/random_kernel.hpp"
#include "emulator/sum_recorder.hpp"
#include "emulator/tile_of_sums.hpp"

namespace tilescope::emulator::test {
namespace {

/// Listens to no event, so that kernels are compiled, and keeps the counts.
class Counts final : public Observer {
 public:
  std::uint32_t events() const override { return kNoEvents; }
  std::unique_ptr<BlockObserver> make_block_observer() override { return nullptr; }
  void end_launch(const LaunchTotals& totals) override {
    executed.assign(totals.counts.executed.begin(), totals.counts.executed.end());
    active.assign(totals.counts.active.begin(), totals.counts.active.end());
    on.assign(totals.counts.on.begin(), totals.counts.on.end());
  }
  std::vector<std::uint64_t> executed, active, on;
};

enum class Watched { no, sums, sums_by_block, accesses };

struct CompiledOutcome {
  explicit CompiledOutcome(Watched watched) : recorder(watched == Watched::sums_by_block) {}
  LaunchSummary summary;
  Counts counts;
  SumRecorder recorder;
  AccessRecorder accesses;
  std::vector<std::uint8_t> data, results;
};

struct LaunchShape {
  Dim3 grid, block;
};

constexpr std::uint64_t kLimit = 3'000'000;  // instructions of a launch

std::unique_ptr<CompiledOutcome> run(const std::string& ptx, const LaunchShape& shape,
                                     Watched watched, bool interpret,
                                     std::uint64_t limit = kLimit) {
  auto outcome = std::make_unique<CompiledOutcome>(watched);
  Bench bench(ptx);
  std::vector<std::uint32_t> start(kRandomDataBytes / 4);
  std::mt19937 random(7);
  for (std::uint32_t& value : start) value = static_cast<std::uint32_t>(random());
  for (std::size_t i = 0; i < start.size(); i += 3) start[i] = static_cast<std::uint32_t>(i);
  const std::uint64_t data = bench.upload(start, "data");
  const std::size_t bytes = shape.grid.count() * shape.block.count() * kRandomResultBytes;
  const std::uint64_t results = bench.machine.allocate(bytes, "results");
  LaunchOptions options{.threads = 1, .max_instructions = limit};
  options.observers = {&outcome->counts};
  if (watched == Watched::accesses) {
    options.observers.push_back(&outcome->accesses);
  } else if (watched != Watched::no) {
    options.observers.push_back(&outcome->recorder);
  }
  options.interpret = interpret;
  outcome->summary = bench.run("k", shape.grid, shape.block, options, data, results);
  outcome->data = bench.download<std::uint8_t>(data, kRandomDataBytes);
  outcome->results = bench.download<std::uint8_t>(results, bytes);
  return outcome;
}

void expect_same_bytes(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                       std::string_view name) {
  ASSERT_EQ(a.size(), b.size());
  if (a == b) return;  // the loop takes long
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i], b[i]) << name << ": thread " << i / kRandomResultBytes << ", byte "
                          << i % kRandomResultBytes;
  }
}

void expect_equal(const CompiledOutcome& a, const CompiledOutcome& b) {
  EXPECT_EQ(a.summary.end, b.summary.end) << a.summary.message << " / " << b.summary.message;
  EXPECT_EQ(a.summary.warp_instructions, b.summary.warp_instructions);
  EXPECT_EQ(a.summary.thread_instructions, b.summary.thread_instructions);
  EXPECT_EQ(a.summary.fault_count, b.summary.fault_count);
  ASSERT_EQ(a.summary.faults.size(), b.summary.faults.size());
  for (std::size_t i = 0; i < a.summary.faults.size(); ++i) {
    EXPECT_EQ(a.summary.faults[i].text, b.summary.faults[i].text);
    EXPECT_EQ(a.summary.faults[i].count, b.summary.faults[i].count);
  }
  EXPECT_EQ(a.counts.executed, b.counts.executed);
  EXPECT_EQ(a.counts.active, b.counts.active);
  EXPECT_EQ(a.counts.on, b.counts.on);
  EXPECT_EQ(a.recorder.branches, b.recorder.branches);
  EXPECT_EQ(a.recorder.touched, b.recorder.touched);
  EXPECT_TRUE(a.recorder.tallies == b.recorder.tallies);
  EXPECT_EQ(a.accesses.number, b.accesses.number);
  EXPECT_EQ(a.accesses.digest, b.accesses.digest);
  expect_same_bytes(a.data, b.data, "data");
  expect_same_bytes(a.results, b.results, "results");
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Each lane's address is one of 32 words, in no order; in the last block one lane's is `wrong`,
/// counted from the begin of the memory. `type`: of the access.
std::string stray_lane(std::string_view space, std::string_view address, std::string_view type,
                       bool store, int wrong) {
  const std::string base = space == "global"  ? "ld.param.u64 %base, [data];"
                           : address == "u64" ? "mov.u64 %base, tile;"
                                              : "mov.u32 %base, tile;";
  const std::string access = store ? fmt::format("st.{}.{} [%at], %word;", space, type)
                                   : fmt::format("ld.{}.{} %word, [%at];", space, type);
  return fmt::format(R"(
    .shared .align 16 .b8 tile[16384];
    .visible .entry k(.param .u64 data, .param .u64 results) {{
      .reg .u32 %lane, %word, %block; .reg .u64 %result, %results; .reg .{1} %at, %base, %stray;
      .reg .pred %last, %fifth;
      {0}
      ld.param.u64 %results, [results];
      mov.u32 %lane, %tid.x;
      mul.lo.u32 %word, %lane, %lane;
      mul.lo.u32 %word, %word, 28;
      and.b32 %word, %word, 124;
      cvt.{1}.u32 %at, %word;
      add.{1} %at, %at, %base;
      add.{1} %stray, %base, {3};
      mov.u32 %block, %ctaid.x;
      setp.eq.u32 %last, %block, 23;
      setp.eq.u32 %fifth, %lane, 5;
      and.pred %last, %last, %fifth;
      selp.{1} %at, %stray, %at, %last;
      {2}
      mul.wide.u32 %result, %lane, {4};
      add.u64 %result, %result, %results;
      st.global.u32 [%result], %word;
      ret;
    }})",
                     base, address, access, wrong, kRandomResultBytes);
}

TEST(Compiled, LanesOfAnyAddressesStayInside) {
  const CompileSoon soon;
  const int end = kRandomDataBytes;
  for (const auto& [space, address] :
       {std::pair{"global", "u64"}, std::pair{"shared", "u32"}, std::pair{"shared", "u64"}}) {
    for (const bool store : {false, true}) {
      for (const auto& [type, wrong, faults] :
           {std::tuple{"u32", end, 1u}, std::tuple{"u32", end - 2, 1u},
            std::tuple{"u32", end - 4, 0u}, std::tuple{"u32", -4, 1u}, std::tuple{"u32", 2, 1u},
            std::tuple{"u8", end, 1u}, std::tuple{"u8", end - 1, 0u}}) {
        const std::string ptx =
            std::string(kHeader) + stray_lane(space, address, type, store, wrong);
        for (const Watched watched :
             {Watched::no, Watched::sums, Watched::sums_by_block, Watched::accesses}) {
          SCOPED_TRACE(fmt::format("{} {} {} {} {} {}", space, address, type, store, wrong,
                                   static_cast<int>(watched)));
          const auto compiled = run(ptx, {{24}, {32}}, watched, false);
          expect_equal(*compiled, *run(ptx, {{24}, {32}}, watched, true));
          EXPECT_EQ(compiled->summary.fault_count, faults);
        }
      }
    }
  }
}

/// Behind a barrier the warp that has completed it stores before the others: the first access is
/// that of the lowest warp all the same, however turns are given.
TEST(Compiled, WarpsThatTakeTurnsAtBarriersHaveTheirOwnPlaces) {
  const CompileSoon soon;
  std::string ptx = std::string(kHeader) + R"(
    .visible .entry k(.param .u64 data, .param .u64 results) {
      .reg .u32 %block; .reg .u64 %at, %results;
      ld.param.u64 %results, [results];
      mov.u32 %block, %ctaid.x;
      mul.wide.u32 %at, %tid.x, 4;
      add.u64 %at, %at, %results;
)";
  for (int round = 0; round < 6; ++round) {
    ptx += fmt::format("  bar.sync 0;\n  st.global.u32 [%at+{}], %block;\n", 512 * round);
  }
  ptx += "  ret;\n}\n";
  const auto compiled = run(ptx, {{24}, {96}}, Watched::sums_by_block, false);
  expect_equal(*compiled, *run(ptx, {{24}, {96}}, Watched::sums_by_block, true));
}

TEST(Compiled, TilesOfSums) {
  const CompileSoon soon;
  const std::uint64_t first = setting("TILESCOPE_RANDOM_SEED", 1);
  std::vector<std::uint64_t> seeds(setting("TILESCOPE_RANDOM_TILES", 500));
  std::iota(seeds.begin(), seeds.end(), first);
  seeds.push_back(500'247);  // a sum is stored, leaves its vector, and is then negated: a NaN
  for (const std::uint64_t seed : seeds) {
    const std::string ptx = std::string(kHeader) + tile_of_sums(seed);
    const Watched watched = seed % 3 == 0   ? Watched::no
                            : seed % 3 == 1 ? Watched::sums
                                            : Watched::accesses;
    const auto compiled = run(ptx, {{8}, {64}}, watched, false);
    expect_equal(*compiled, *run(ptx, {{8}, {64}}, watched, true));
    EXPECT_EQ(compiled->summary.fault_count, 0u);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << ptx;
      return;
    }
  }
}

TEST(Compiled, RandomKernels) {
  if (std::getenv("TILESCOPE_INTERPRET") != nullptr) GTEST_SKIP() << "compares both tiers";
  const CompileSoon soon;
  const std::uint64_t first = setting("TILESCOPE_RANDOM_SEED", 1);
  const std::uint64_t count = setting("TILESCOPE_RANDOM_KERNELS", 150);
  constexpr LaunchShape kShapes[] = {{{3}, {64}},    {{2}, {16, 6}}, {{4}, {48}},
                                     {{2}, {33, 2}}, {{24}, {40}},   {{16}, {96}}};
  std::uint64_t sums = 0, known = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string ptx = std::string(kHeader) + random_kernel(seed);
    const LaunchShape& shape = kShapes[seed % std::size(kShapes)];
    for (const Watched watched :
         {Watched::no, seed % 3 == 0 ? Watched::sums_by_block : Watched::sums, Watched::accesses}) {
      const auto interpreted = run(ptx, shape, watched, true);
      const auto compiled = run(ptx, shape, watched, false);
      expect_equal(*interpreted, *compiled);
      EXPECT_EQ(interpreted->recorder.added_up, 0u);
      EXPECT_EQ(interpreted->accesses.known, 0u);
      sums += compiled->recorder.added_up;
      known += compiled->accesses.known;
      // Without a limit turns pass inside compiled code, and blocks follow each other there.
      if (watched == Watched::no && interpreted->summary.end == LaunchEnd::complete) {
        expect_equal(*run(ptx, shape, watched, true, 0), *run(ptx, shape, watched, false, 0));
      }
      if (HasFailure()) {
        ADD_FAILURE() << "seed " << seed << "\n" << ptx;
        return;
      }
    }
  }
  EXPECT_EQ(sums != 0, lane_kernels("v3") != nullptr);
  EXPECT_EQ(known != 0, lane_kernels("v3") != nullptr);
}

}  // namespace
}  // namespace tilescope::emulator::test
