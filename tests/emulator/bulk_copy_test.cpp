// cp.async.bulk: what arrives and when, groups, reductions, masks, and copies against the rules.
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kCopiedWords = 64;

/// A kernel of one thread (unless `threads` says more) with 4,096 bytes of shared memory at `tile`,
/// an mbarrier `bar` for one arrival, and the parameters in %rd1 (from) and %rd2 (to). `body` runs
/// in thread 0 with %r1 = tile and %r2 = bar; WAIT waits for the barrier's first phase.
std::string kernel_text(std::string body) {
  const std::string wait =
      "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra AGAIN;\n";
  if (const auto at = body.find("WAIT"); at != body.npos) body.replace(at, 4, wait);
  return std::string(kHeader) +
         ".shared .align 128 .b8 tile[4096];\n.shared .align 8 .b64 bar;\n"
         ".visible .entry k(.param .u64 from, .param .u64 to) {\n.reg .pred %p<4>; "
         ".reg .b16 %rs<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"
         "ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; mov.u32 %r1, tile; "
         "mov.u32 %r2, bar;\nmbarrier.init.shared::cta.b64 [bar], 1;\n" +
         body + "\nret; }\n";
}

/// Copies `count` words of shared memory at byte `offset` to the output.
std::string read_out(std::uint32_t offset, std::uint32_t count) {
  return "mov.u32 %r8, 0;\nNEXT: add.u32 %r9, %r1, %r8; ld.shared.u32 %r10, [%r9+" +
         std::to_string(offset) +
         "]; cvt.u64.u32 %rd9, %r8; add.u64 %rd9, %rd9, %rd2; st.global.u32 [%rd9], %r10;\n"
         "add.u32 %r8, %r8, 4; setp.lt.u32 %p3, %r8, " +
         std::to_string(count * 4) + "; @%p3 bra NEXT;\n";
}

struct CopyOutcome {
  LaunchSummary summary;
  std::vector<std::uint32_t> to;
};

CopyOutcome copy_with(const std::string& body, std::size_t results = kCopiedWords) {
  Bench bench(kernel_text(body));
  std::vector<std::uint32_t> source(kCopiedWords);
  for (std::uint32_t i = 0; i < kCopiedWords; ++i) source[i] = 1000 + i;
  const auto from = bench.upload(source, "from");
  const auto to = bench.upload(std::vector<std::uint32_t>(results, 7), "to");
  CopyOutcome outcome{bench.run("k", {1}, {1}, {.max_instructions = 100'000}, from, to), {}};
  outcome.to = bench.download<std::uint32_t>(to, results);
  return outcome;
}

const std::string kLoad256 =
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 256, "
    "[%r2];\n";

TEST(BulkCopy, ArrivesWhenItsBarrierIsWaitedFor) {
  const CopyOutcome done = copy_with(kLoad256 + "WAIT" + read_out(0, kCopiedWords));
  EXPECT_TRUE(done.summary.complete()) << done.summary.message;
  EXPECT_EQ(done.summary.fault_count, 0u);
  for (std::uint32_t i = 0; i < kCopiedWords; ++i) EXPECT_EQ(done.to[i], 1000 + i);
}

TEST(BulkCopy, IsSeenToBeMissingWithoutTheWait) {
  const CopyOutcome done = copy_with(kLoad256 + read_out(0, kCopiedWords));
  EXPECT_TRUE(done.summary.complete());
  for (std::uint32_t i = 0; i < kCopiedWords; ++i) EXPECT_EQ(done.to[i], 0u);
}

TEST(BulkCopy, ReadsItsSourceAsLateAsTheBarrierAllows) {
  // The source changes between the copy and the wait.
  const CopyOutcome done = copy_with(
      kLoad256 + "mov.u32 %r4, 5; st.global.u32 [%rd1+8], %r4;\nWAIT" + read_out(0, 4), 4);
  EXPECT_EQ(done.to, (std::vector<std::uint32_t>{1000, 1001, 5, 1003}));
}

TEST(BulkCopy, ABarrierTakesOnlyTheCopiesOfItsPhase) {
  // Two copies on one barrier, which expects the bytes of one: the second waits for the next phase.
  const CopyOutcome done = copy_with(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, "
      "[%r2];\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%rd1+16], 16, "
      "[%r2];\nWAIT" +
          read_out(0, 8),
      8);
  EXPECT_EQ(done.to, (std::vector<std::uint32_t>{1000, 1001, 1002, 1003, 0, 0, 0, 0}));
}

/// Stores 16 words 50, 51, ... to shared memory.
const std::string kFill =
    "mov.u32 %r4, 0;\nFILL: shl.b32 %r5, %r4, 2; add.u32 %r5, %r5, %r1; add.u32 %r6, %r4, 50;\n"
    "st.shared.u32 [%r5], %r6; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 16; @%p2 bra FILL;\n";

TEST(BulkCopy, AGroupIsStoredWhenItIsWaitedFor) {
  const std::string store =
      kFill + "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 64;\n";
  const std::string commit = "cp.async.bulk.commit_group;\n";
  // Reads what arrived, and writes it behind the destination.
  const std::string look = "ld.global.u32 %r7, [%rd2]; st.global.u32 [%rd2+64], %r7;\n";
  EXPECT_EQ(copy_with(store + commit + look, 17).to[16], 7u);
  EXPECT_EQ(copy_with(store + commit + "cp.async.bulk.wait_group 1;\n" + look, 17).to[16], 7u);
  EXPECT_EQ(copy_with(store + "cp.async.bulk.wait_group 0;\n" + look, 17).to[16], 7u)
      << "no group without a commit";
  const CopyOutcome waited = copy_with(store + commit + "cp.async.bulk.wait_group 0;\n" + look, 17);
  EXPECT_EQ(waited.to[16], 50u);
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(waited.to[i], 50 + i);
  // The end of the block waits for everything.
  EXPECT_EQ(copy_with(store, 17).to[3], 53u);
}

TEST(BulkCopy, WaitGroupReadOnlyReadsTheSource) {
  const std::string body = kFill +
                           "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 64;\n"
                           "cp.async.bulk.commit_group;\n@WAITS@\n"
                           "mov.u32 %r4, 9; st.shared.u32 [%r1], %r4;\n"
                           "ld.global.u32 %r7, [%rd2]; st.global.u32 [%rd2+64], %r7;\n";
  const auto with = [&](const std::string& wait) {
    std::string text = body;
    text.replace(text.find("@WAITS@"), 7, wait);
    return copy_with(text, 17).to;
  };
  const auto read = with("cp.async.bulk.wait_group.read 0;");
  EXPECT_EQ(read[0], 50u);
  EXPECT_EQ(read[16], 7u) << "the destination waits";
  EXPECT_EQ(with("")[0], 9u) << "the source was overwritten before it was read";
}

TEST(BulkCopy, AMaskChoosesBytesOfEachSixteen) {
  const CopyOutcome done = copy_with(
      kFill +
          "mov.b16 %rs1, 0x00f0;\n"
          "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd2], [%r1], 32, %rs1;\n",
      8);
  EXPECT_EQ(done.to, (std::vector<std::uint32_t>{7, 51, 7, 7, 7, 55, 7, 7}));
}

TEST(BulkCopy, BetweenPlacesOfSharedMemory) {
  const CopyOutcome done = copy_with(
      kFill +
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;\n"
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1+1024], "
          "[%r1+16], 32, [%r2];\nWAIT" +
          read_out(1024, 8),
      8);
  EXPECT_EQ(done.to, (std::vector<std::uint32_t>{54, 55, 56, 57, 58, 59, 60, 61}));
}

TEST(BulkCopy, PrefetchAndHintsChangeNothing) {
  const CopyOutcome done = copy_with(
      "cp.async.bulk.prefetch.L2.global [%rd1], 128;\nmov.u64 %rd5, 0;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], "
      "[%rd1], 16, [%r2], %rd5;\nWAIT" +
          read_out(0, 4),
      4);
  EXPECT_EQ(done.summary.fault_count, 0u);
  EXPECT_EQ(done.to, (std::vector<std::uint32_t>{1000, 1001, 1002, 1003}));
}

/// Reduces the 16 bytes of `values` into the output, which holds `before`.
std::vector<std::uint64_t> reduced(const std::string& suffix, std::vector<std::uint64_t> values,
                                   std::vector<std::uint64_t> before) {
  Bench bench(
      kernel_text("ld.global.v2.u64 {%rd4, %rd5}, [%rd1]; st.shared.v2.u64 [%r1], {%rd4, %rd5};\n"
                  "cp.reduce.async.bulk.global.shared::cta.bulk_group." +
                  suffix + " [%rd2], [%r1], 16;"));
  const auto from = bench.upload(values, "from");
  const auto to = bench.upload(before, "to");
  const LaunchSummary summary = bench.run("k", {1}, {1}, {}, from, to);
  EXPECT_TRUE(summary.complete() && summary.fault_count == 0) << suffix;
  return bench.download<std::uint64_t>(to, 2);
}

std::uint64_t halves(std::array<std::uint16_t, 4> h) {
  return std::bit_cast<std::uint64_t>(h);
}
std::uint64_t words(std::array<std::uint32_t, 2> w) {
  return std::bit_cast<std::uint64_t>(w);
}

TEST(BulkReduction, EveryOperationAndType) {
  using V = std::vector<std::uint64_t>;
  const auto u32 = [](std::uint32_t a, std::uint32_t b) { return words({a, b}); };
  const V x{u32(5, ~0u), u32(3, 8)}, y{u32(7, 2), u32(9, 1)};
  EXPECT_EQ(reduced("add.u32", x, y), (V{u32(12, 1), u32(12, 9)}));
  EXPECT_EQ(reduced("add.s32", x, y), (V{u32(12, 1), u32(12, 9)}));
  EXPECT_EQ(reduced("min.u32", x, y), (V{u32(5, 2), u32(3, 1)}));
  EXPECT_EQ(reduced("min.s32", x, y), (V{u32(5, ~0u), u32(3, 1)}));
  EXPECT_EQ(reduced("max.u32", x, y), (V{u32(7, ~0u), u32(9, 8)}));
  EXPECT_EQ(reduced("max.s32", x, y), (V{u32(7, 2), u32(9, 8)}));
  EXPECT_EQ(reduced("inc.u32", x, y), (V{u32(0, 3), u32(0, 2)}));
  EXPECT_EQ(reduced("dec.u32", x, y), (V{u32(5, 1), u32(3, 0)}));
  EXPECT_EQ(reduced("and.b32", x, y), (V{u32(5, 2), u32(1, 0)}));
  EXPECT_EQ(reduced("or.b32", x, y), (V{u32(7, ~0u), u32(11, 9)}));
  EXPECT_EQ(reduced("xor.b32", x, y), (V{u32(2, ~2u), u32(10, 9)}));
  const V p{5, ~std::uint64_t{0}}, q{7, 2};
  EXPECT_EQ(reduced("add.u64", p, q), (V{12, 1}));
  EXPECT_EQ(reduced("min.u64", p, q), (V{5, 2}));
  EXPECT_EQ(reduced("min.s64", p, q), (V{5, ~std::uint64_t{0}}));
  EXPECT_EQ(reduced("max.s64", p, q), (V{7, 2}));
  EXPECT_EQ(reduced("and.b64", p, q), (V{5, 2}));
  EXPECT_EQ(reduced("or.b64", p, q), (V{7, ~std::uint64_t{0}}));
  EXPECT_EQ(reduced("xor.b64", p, q), (V{2, ~std::uint64_t{2}}));
}

TEST(BulkReduction, FloatingPoint) {
  using V = std::vector<std::uint64_t>;
  const auto f32 = [](float a, float b) {
    return words({std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b)});
  };
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(reduced("add.f32", {f32(1.5f, -2), f32(tiny, 8)}, {f32(2, 3), f32(0, 1)}),
            (V{f32(3.5f, 1), f32(0, 9)}))
      << "subnormal numbers are flushed";
  EXPECT_EQ(reduced("add.f64", {std::bit_cast<std::uint64_t>(1.25), 0},
                    {std::bit_cast<std::uint64_t>(2.5), 0}),
            (V{std::bit_cast<std::uint64_t>(3.75), 0}));
  const auto f16 = [](float v) { return float32_to_float16(v); };
  const auto bf16 = [](float v) { return float32_to_bfloat16(v); };
  const V h{halves({f16(1), f16(2), f16(-3), f16(4)}), 0};
  const V g{halves({f16(0.5f), f16(5), f16(1), f16(4)}), 0};
  EXPECT_EQ(reduced("add.noftz.f16", h, g), (V{halves({f16(1.5f), f16(7), f16(-2), f16(8)}), 0}));
  EXPECT_EQ(reduced("min.f16", h, g), (V{halves({f16(0.5f), f16(2), f16(-3), f16(4)}), 0}));
  const V b{halves({bf16(1), bf16(2), bf16(-3), bf16(4)}), 0};
  const V c{halves({bf16(0.5f), bf16(5), bf16(1), bf16(4)}), 0};
  EXPECT_EQ(reduced("add.noftz.bf16", b, c),
            (V{halves({bf16(1.5f), bf16(7), bf16(-2), bf16(8)}), 0}));
  EXPECT_EQ(reduced("max.bf16", b, c), (V{halves({bf16(1), bf16(5), bf16(1), bf16(4)}), 0}));
}

TEST(BulkReduction, IntoSharedMemory) {
  const CopyOutcome done = copy_with(
      kFill +
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
          "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
          "[%r1+16], [%r1], 16, [%r2];\nWAIT" +
          read_out(0, 8),
      8);
  EXPECT_EQ(done.to, (std::vector<std::uint32_t>{50, 51, 52, 53, 104, 106, 108, 110}));
}

/// The text of the launch's first fault.
std::string fault_of(const std::string& body) {
  const CopyOutcome done = copy_with(body);
  EXPECT_TRUE(done.summary.complete()) << done.summary.message;
  EXPECT_EQ(done.summary.faults.size(), 1u) << body;
  return done.summary.faults.empty() ? "" : done.summary.faults.front().text;
}

TEST(BulkCopyFaults, RulesOfSizeAndAlignment) {
  const auto load = [](const std::string& to, const std::string& from, const std::string& size,
                       const std::string& barrier) {
    return "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" + to + "], [" +
           from + "], " + size + ", [" + barrier + "];\n";
  };
  EXPECT_THAT(fault_of(load("%r1", "%rd1", "20", "%r2")),
              HasSubstr("a bulk copy of 20 bytes; sizes are multiples of 16"));
  EXPECT_THAT(fault_of(load("%r1+8", "%rd1", "16", "%r2")), HasSubstr("no multiple of 16"));
  EXPECT_THAT(fault_of(load("%r1", "%rd1+4", "16", "%r2")), HasSubstr("no multiple of 16"));
  EXPECT_THAT(fault_of(load("%r1", "%rd1", "16", "%r2+4")), HasSubstr("no multiple of 8"));
  EXPECT_THAT(fault_of(load("%r1+4080", "%rd1", "64", "%r2")),
              HasSubstr("shared store of 64 bytes"));
}

TEST(BulkCopyFaults, BeyondTheAllocationButOnlyThere) {
  // The 64 words have 256 bytes: 32 too many. What exists arrives, and the barrier completes.
  const CopyOutcome done = copy_with(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 288;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 288, "
      "[%r2];\nWAIT" +
      read_out(0, kCopiedWords));
  ASSERT_EQ(done.summary.faults.size(), 1u);
  EXPECT_THAT(done.summary.faults.front().text,
              HasSubstr("global load of 288 bytes 32 bytes past the end of 'from' (256 bytes)"));
  EXPECT_EQ(done.to[63], 1063u);
  EXPECT_THAT(
      fault_of(kFill + "cp.async.bulk.global.shared::cta.bulk_group [%rd2+240], [%r1], 32;"),
      HasSubstr("global store of 32 bytes 16 bytes past the end of 'to' (256 bytes)"));
  EXPECT_THAT(fault_of("mov.u64 %rd1, 0;\n" + kLoad256), HasSubstr("null pointer"));
}

TEST(BulkCopyFaults, FormsThatDoNotExistAreRefused) {
  for (const char* text :
       {"cp.async.bulk.shared::cluster.global.bulk_group [%r1], [%rd1], 16;",
        "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%rd1], [%r1], 16, [%r2];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd2], [%r1], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.s32 [%rd2], [%r1], 16;"}) {
    Bench bench(kernel_text(text));
    EXPECT_ANY_THROW(bench.module->program("k")) << text;
  }
}

/// Counts the events of bulk work.
class BulkListener : public Observer {
 public:
  struct Block : BlockObserver {
    void bulk_issued(const BulkEvent& e) override { issued.push_back(e.bytes); }
    void bulk_done(const BulkEvent& e) override { done.push_back(e.bytes); }
    void bulk_group(const BulkGroup& e) override { groups.push_back(e.pending); }
    std::vector<std::uint32_t> issued, done;
    std::vector<std::int64_t> groups;
  };
  std::uint32_t events() const override { return kBulk; }
  std::unique_ptr<BlockObserver> make_block_observer() override {
    return std::make_unique<Block>();
  }
  void merge(BlockObserver& block) override { seen = static_cast<Block&>(block); }
  Block seen;
};

TEST(BulkEvents, TellWhenAndHowMuch) {
  Bench bench(kernel_text(kFill +
                          "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 64;\n"
                          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                          "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 32;\n"));
  const auto to = bench.upload(std::vector<std::uint32_t>(kCopiedWords), "to");
  BulkListener listener;
  LaunchOptions options{.threads = 1};
  options.observers = {&listener};
  EXPECT_TRUE(bench.run("k", {1}, {1}, options, to, to).complete());
  EXPECT_EQ(listener.seen.issued, (std::vector<std::uint32_t>{64, 32}));
  EXPECT_EQ(listener.seen.done, (std::vector<std::uint32_t>{64, 32}));
  EXPECT_EQ(listener.seen.groups, (std::vector<std::int64_t>{-1, 0}));
}

}  // namespace
}  // namespace tilescope::emulator::test
