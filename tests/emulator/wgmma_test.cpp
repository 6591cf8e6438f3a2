// wgmma: a tile with several steps along k, the rules of a warpgroup, operands beyond shared
// memory, events. The arithmetic itself is in tensor_core_test.cpp.
#include <tilescope/error.hpp>

#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

/// A kernel of one warpgroup with 16 KiB of shared memory, %a at its start. `%d0` to `%d3` are
/// sums; %desc describes a K-major tile without swizzle at the start.
std::string wgmma_kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 x, .param .u64 y) {\n"
         ".reg .b32 %d<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .pred %p<8>;\n"
         ".reg .b64 %desc, %other;\n.shared .align 1024 .b8 tile[16384];\n"
         "mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.ne.u32 %p0, 1, 0;\n"
         "mov.u64 %desc, 0x0000001000080000; mov.u64 %other, 0x0000001000080010;\n" +
         body + "DONE: ret;\n}\n";
}

constexpr std::string_view kProduct =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, ";

LaunchSummary run_wgmma(const std::string& body, unsigned threads = 128) {
  Bench bench(wgmma_kernel(body));
  return bench.run("k", {1}, {threads}, {.threads = 1}, std::uint64_t{0}, std::uint64_t{0});
}

std::string product(const std::string& operands) {
  return std::string(kProduct) + operands + ", %p0, 1, 1, 0, 0;\n";
}

// D (64 x 8) = A (64 x 64) * B (64 x 8), both K-major in rows of 128 bytes that are swizzled: the
// descriptors advance by 32 bytes for each of four steps.
TEST(Wgmma, MultipliesATileInSteps) {
  std::string text =
      "ld.param.u64 %rd0, [x]; mov.u32 %r2, tile; mov.u32 %r3, %r0;\n"
      "COPY: mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %rd0, %rd1; ld.global.u32 %r4, [%rd1];\n"
      "mad.lo.u32 %r5, %r3, 4, %r2; st.shared.u32 [%r5], %r4; add.u32 %r3, %r3, 128;\n"
      "setp.lt.u32 %p1, %r3, 2304; @%p1 bra COPY;\n"
      "bar.sync 0; wgmma.fence.sync.aligned;\n"
      "mov.u64 %rd2, 0x4000004000010000; mov.u64 %rd3, 0x4000004000010200;\n";
  for (int step = 0; step < 4; ++step) {
    text += "setp.ne.u32 %p0, " + std::to_string(step) + ", 0;\n" + product("%rd2, %rd3") +
            "add.u64 %rd2, %rd2, 2; add.u64 %rd3, %rd3, 2;\n";
  }
  text +=
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "ld.param.u64 %rd4, [y]; mul.wide.u32 %rd5, %r0, 16; add.u64 %rd4, %rd4, %rd5;\n"
      "st.global.v4.b32 [%rd4], {%d0, %d1, %d2, %d3};\n";
  Bench bench(wgmma_kernel(text));
  std::mt19937 generator(5);
  std::uniform_int_distribution<int> any(-9, 9);
  std::vector<std::uint16_t> image(72 * 64);
  int matrix[72][64];  // rows of A, then columns of B
  for (std::size_t row = 0; row < 72; ++row) {
    for (std::size_t k = 0; k < 64; ++k) {
      matrix[row][k] = any(generator);
      image[row * 64 + ((k / 8) ^ (row % 8)) * 8 + k % 8] = float64_to_float16(matrix[row][k]);
    }
  }
  const auto x = bench.upload(image, "x"), y = bench.machine.allocate(64 * 8 * 4, "y");
  const LaunchSummary summary = bench.run("k", {1}, {128}, {.threads = 1}, x, y);
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(summary.fault_count, 0u);
  const auto out = bench.download<float>(y, 64 * 8);
  for (std::size_t thread = 0; thread < 128; ++thread) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8;
      const std::size_t column = thread % 4 * 2 + i % 2;
      int sum = 0;
      for (int k = 0; k < 64; ++k) sum += matrix[row][k] * matrix[64 + column][k];
      EXPECT_EQ(out[thread * 4 + i], static_cast<float>(sum)) << row << ", " << column;
    }
  }
}

TEST(Wgmma, AllWarpsOfAGroupAgree) {
  EXPECT_EQ(run_wgmma(product("%desc, %desc") + product("%desc, %other")).fault_count, 0u);
}

void expect_mismatch(const LaunchSummary& summary) {
  ASSERT_FALSE(summary.faults.empty());
  EXPECT_EQ(summary.faults[0].kind, FaultKind::warpgroup);
  EXPECT_THAT(summary.faults[0].text, HasSubstr("four warps of a warpgroup"));
}

TEST(Wgmma, AnotherDescriptorInOneWarpIsAFault) {
  expect_mismatch(run_wgmma("setp.eq.u32 %p1, %r1, 2; @%p1 mov.u64 %desc, %other;\n" +
                            product("%desc, %desc")));
}
TEST(Wgmma, AnotherDescriptorInOneLaneIsAFault) {
  expect_mismatch(run_wgmma("setp.eq.u32 %p1, %r0, 37; @%p1 mov.u64 %desc, %other;\n" +
                            product("%desc, %desc")));
}
TEST(Wgmma, AWarpThatStaysAwayIsAFault) {
  expect_mismatch(run_wgmma("setp.eq.u32 %p1, %r1, 3; @%p1 bra DONE;\n" + product("%desc, %desc")));
}
TEST(Wgmma, AnotherInstructionInOneWarpIsAFault) {
  expect_mismatch(run_wgmma("setp.eq.u32 %p1, %r1, 1; @%p1 bra OTHER;\n" + product("%desc, %desc") +
                            "bra DONE;\nOTHER: " + product("%desc, %desc")));
}
TEST(Wgmma, AGroupOfFewerWarpsIsAFault) {
  expect_mismatch(run_wgmma(product("%desc, %desc"), 96));
}
TEST(Wgmma, LanesThatDivergedAreAFault) {
  expect_mismatch(
      run_wgmma("setp.lt.u32 %p1, %r0, 40; @%p1 bra DONE;\n" + product("%desc, %desc")));
}

TEST(Wgmma, OperandsBeyondSharedMemoryAreNamed) {
  // 64 rows of A begin 14 KiB into 16 KiB, with 256 bytes from one group of 8 to the next.
  const LaunchSummary a =
      run_wgmma("mov.u64 %other, 0x0000001000080390;\n" + product("%other, %desc"));
  ASSERT_FALSE(a.faults.empty());
  EXPECT_EQ(a.faults[0].kind, FaultKind::out_of_bounds);
  EXPECT_THAT(a.faults[0].text, HasSubstr("for operand A"));
  const LaunchSummary b =
      run_wgmma("mov.u64 %other, 0x0000001000080400;\n" + product("%desc, %other"));
  ASSERT_FALSE(b.faults.empty());
  EXPECT_THAT(b.faults[0].text, HasSubstr("shared load of 16 bytes for operand B"));
  EXPECT_THAT(b.faults[0].text, HasSubstr("past the end of 'tile'"));
  // The last byte is inside.
  EXPECT_EQ(
      run_wgmma("mov.u64 %other, 0x0000001000080380;\n" + product("%other, %desc")).fault_count,
      0u);
}

void expect_refused(const DeviceProperties& gpu, const std::string& instruction,
                    const std::string& words) {
  Machine machine(gpu);
  const auto module = machine.load(ptx::parse(wgmma_kernel(instruction), "k.ptx"));
  try {
    module->program("k");
    ADD_FAILURE() << instruction;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(words)) << instruction;
  }
}

TEST(Wgmma, NeedsItsCapability) {
  expect_refused(tilescope::testing::a100(), product("%desc, %desc"), "compute capability 9.0");
}

TEST(Wgmma, ShapesAndTypesThatDoNotExistAreRefused) {
  const std::string head = "wgmma.mma_async.sync.aligned.";
  for (const std::string text : {
           "m64n12k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1, 0, 0;",
           "m64n8k32.f32.f16.f16 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1, 0, 0;",
           "m32n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.bf16 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1, 0, 0;",
           "m64n8k16.f16.bf16.bf16 {%d0, %d1}, %desc, %desc, %p0, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {%d0, %d1, %d2}, %desc, %desc, %p0, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 2, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1;",
           "m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, {%d4, %d5}, %desc, %p0, 1, 1, 0;",
           "m64n8k8.f32.tf32.tf32 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1, 0, 1;",
           "m64n8k32.s32.s8.s8 {%d0, %d1, %d2, %d3}, %desc, %desc, %p0, 1, 1;",
       }) {
    expect_refused(tilescope::testing::h200(), head + text + "\n", "wgmma.mma_async");
  }
}

/// Counts what observers receive.
class MatrixEvents : public Observer {
 public:
  std::uint32_t events() const override { return kMatrix; }
  std::unique_ptr<BlockObserver> make_block_observer() override {
    auto made = std::make_unique<Block>();
    made->all = this;
    return made;
  }
  std::string text;

 private:
  struct Block final : BlockObserver {
    MatrixEvents* all = nullptr;
    void matrix_product(const MatrixIssue& e) override {
      all->text += "product " + std::to_string(e.warp) + " a " + std::to_string(e.a.size()) +
                   " from " + std::to_string(e.a.front()) + " b " + std::to_string(e.b.size()) +
                   "\n";
    }
    void matrix_order(const MatrixOrder& e) override {
      if (e.warp != 0) return;
      all->text += std::to_string(static_cast<int>(e.ordering)) + " pending " +
                   std::to_string(e.pending) + "\n";
    }
  };
};

TEST(Wgmma, ObserversLearnWhatIsReadAndWhatOrdersIt) {
  Bench bench(wgmma_kernel("wgmma.fence.sync.aligned;\n" + product("%desc, %desc") +
                           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 2;\n"));
  MatrixEvents observer;
  bench.run("k", {1}, {128}, {.threads = 1, .observers = {&observer}}, std::uint64_t{0},
            std::uint64_t{0});
  EXPECT_THAT(observer.text, HasSubstr("0 pending 0\nproduct 0 a 32 from 0 b 16\n"
                                       "1 pending 0\n2 pending 2\n"));
  EXPECT_THAT(observer.text, HasSubstr("product 3 a 32 from 1536 b 16\n"));  // rows 48 to 63
}

}  // namespace
}  // namespace tilescope::emulator::test
