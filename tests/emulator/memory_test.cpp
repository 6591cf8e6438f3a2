// Loads and stores of every width and space, and the faults they may meet.
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

std::string memory_kernel(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b16 %h<10>; .reg .f32 %f<10>; .reg .pred "
         "%p<5>;\n"
         "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n" +
         body + "\nret;\n}\n";
}

/// Runs one block of `threads` on 16 bytes of input and output for each; checks that nothing
/// failed.
std::vector<std::uint32_t> run_memory(const std::string& text, std::uint32_t threads = 48) {
  std::vector<std::uint32_t> first;
  const LaneKernels& before = lane_kernels();
  for (const LaneKernels* set : all_lane_kernels()) {
    use_lane_kernels(*set);
    Bench bench(text);
    std::vector<std::uint32_t> in(threads * 4);
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<std::uint32_t>(0x80f17203u * (i + 1));
    const auto di = bench.upload(in, "in"), out = bench.machine.allocate(threads * 16, "out");
    const LaunchSummary summary = bench.run("k", {1}, {threads}, {}, di, out);
    EXPECT_TRUE(summary.complete()) << summary.message;
    for (const FaultRecord& fault : summary.faults) ADD_FAILURE() << fault.text;
    const auto result = bench.download<std::uint32_t>(out, threads * 4);
    if (first.empty()) first = result;
    EXPECT_EQ(result, first) << set->name;
  }
  use_lane_kernels(before);
  return first;
}
std::uint32_t input(std::size_t i) {
  return static_cast<std::uint32_t>(0x80f17203u * (i + 1));
}

TEST(Memory, VectorsRoundTrip) {
  for (const std::string type : {"v4.u32 {%r2,%r3,%r4,%r5}", "v2.u64 {%rd6,%rd7}"}) {
    const std::string width = type.substr(0, 6), list = type.substr(7);
    for (const std::string space : {"global.", ""}) {
      const auto out =
          run_memory(memory_kernel("ld." + space + width + " " + list + ", [%rd4]; st." + space +
                                   width + " [%rd5], " + list + ";"));
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], input(i)) << type << i;
    }
  }
}

TEST(Memory, NarrowElementsExtend) {
  const auto out = run_memory(memory_kernel(
      "ld.global.s8 %r2, [%rd4+3]; ld.global.u8 %r3, [%rd4+3]; ld.global.s16 %r4, [%rd4+2];"
      "ld.global.v4.u8 {%r5,%r6,%r7,%r8}, [%rd4+4]; add.u32 %r9, %r5, %r8;"
      "st.global.u32 [%rd5], %r2; st.global.u32 [%rd5+4], %r3; st.global.u32 [%rd5+8], %r4;"
      "st.global.u32 [%rd5+12], %r9;"));
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(out[i * 4], static_cast<std::uint32_t>(static_cast<std::int8_t>(input(i * 4) >> 24)));
    EXPECT_EQ(out[i * 4 + 1], input(i * 4) >> 24);
    EXPECT_EQ(out[i * 4 + 2],
              static_cast<std::uint32_t>(static_cast<std::int16_t>(input(i * 4) >> 16)));
    EXPECT_EQ(out[i * 4 + 3], (input(i * 4 + 1) & 255) + (input(i * 4 + 1) >> 24));
  }
  // Into wider and narrower registers than the element.
  const auto wide = run_memory(
      memory_kernel("ld.global.s32 %rd6, [%rd4]; ld.global.s8 %h1, [%rd4]; cvt.s32.s16 %r2, %h1;"
                    "st.global.u64 [%rd5], %rd6; st.global.u32 [%rd5+8], %r2;"
                    "st.global.u32 [%rd5+12], 7;"));
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(wide[i * 4], input(i * 4));
    EXPECT_EQ(wide[i * 4 + 1], input(i * 4) >> 31 != 0 ? ~0u : 0u);
    EXPECT_EQ(wide[i * 4 + 2], static_cast<std::uint32_t>(static_cast<std::int8_t>(input(i * 4))));
  }
}

TEST(Memory, SharedAddressesOfBothWidthsAndGeneric) {
  const auto out = run_memory(memory_kernel(
      "mov.u32 %r2, buffer; mov.u64 %rd6, buffer; shl.b32 %r3, %r1, 3; add.u32 %r4, %r2, %r3;"
      "cvt.u64.u32 %rd7, %r3; add.u64 %rd8, %rd6, %rd7; cvta.shared.u64 %rd9, %rd8;"
      "st.shared.u32 [%r4], %r1; st.u32 [%rd9+4], 5; bar.sync 0;"
      "ld.shared.u32 %r5, [%rd8]; ld.shared.u32 %r6, [%r4+4]; ld.u32 %r7, [%rd9];"
      "isspacep.shared %p1, %rd9; selp.u32 %r8, 1, 0, %p1; isspacep.global %p2, %rd9; selp.u32 "
      "%r9, 2, 0, %p2;"
      "add.u32 %r8, %r8, %r9;"
      "st.global.v4.u32 [%rd5], {%r5, %r6, %r7, %r8};",
      ".shared .align 8 .b8 other[24];\n.shared .align 8 .b8 buffer[512];\n"));
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(out[i * 4], i);
    EXPECT_EQ(out[i * 4 + 1], 5u);
    EXPECT_EQ(out[i * 4 + 2], i);
    EXPECT_EQ(out[i * 4 + 3], 1u);
  }
}

TEST(Memory, SharedAddressesWrapAt32Bits) {
  const auto out = run_memory(
      memory_kernel("mov.u32 %r2, buffer; sub.u32 %r2, %r2, 64; st.shared.u32 [%r2+64], 9;"
                    "ld.shared.u32 %r3, [%r2+64]; st.global.u32 [%rd5], %r3;",
                    ".shared .align 8 .b8 buffer[64];\n"));
  EXPECT_EQ(out[0], 9u);
}

TEST(Memory, LocalMemoryIsEachThreadsOwn) {
  const auto out = run_memory(memory_kernel(
      ".local .align 8 .b8 depot[64]; mov.u64 %rd6, depot; cvta.local.u64 %rd7, %rd6;"
      "st.local.u32 [depot+8], %r1; st.u32 [%rd7+12], 77; ld.u32 %r2, [%rd7+8]; "
      "ld.local.u32 %r3, [%rd6+12];"
      "ld.local.u32 %r4, [depot+32]; st.global.v4.u32 [%rd5], {%r2, %r3, %r4, %r1};"));
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(out[i * 4], i);
    EXPECT_EQ(out[i * 4 + 1], 77u);
    EXPECT_EQ(out[i * 4 + 2], 0u);
  }
}

TEST(Memory, InitialisedVariablesAndPointersToThem) {
  const auto out = run_memory(
      memory_kernel("ld.const.u32 %r2, [table+4]; mov.u64 %rd6, table; mul.wide.u32 %rd7, %r1, 4; "
                    "and.b64 %rd7, %rd7, 12;"
                    "add.u64 %rd6, %rd6, %rd7; ld.const.u32 %r3, [%rd6]; ld.global.u64 %rd8, "
                    "[pointer]; ld.u32 %r4, [%rd8];"
                    "st.global.v4.u32 [%rd5], {%r2, %r3, %r4, 0};",
                    ".const .align 4 .u32 table[4] = {10, 20, 30, 40};\n"
                    ".global .align 8 .u64 pointer = generic(numbers)+4;\n"
                    ".global .align 4 .u32 numbers[3] = {5, 6, 7};\n"));
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(out[i * 4], 20u);
    EXPECT_EQ(out[i * 4 + 1], 10 * (i % 4 + 1));
    EXPECT_EQ(out[i * 4 + 2], 6u);
  }
}

TEST(Memory, WhereLanesCollideTheHighestWins) {
  const auto out =
      run_memory(memory_kernel("st.global.u32 [%rd2], %r1; st.shared.u32 [cell], %r1; bar.sync 0;"
                               "ld.shared.u32 %r2, [cell]; st.global.u32 [%rd5+4], %r2;",
                               ".shared .u32 cell;\n"),
                 32);
  EXPECT_EQ(out[0], 31u);
  EXPECT_EQ(out[1], 31u);
}

TEST(Memory, ParametersByAddressAndStructs) {
  Bench bench(std::string(kHeader) +
              ".visible .entry k(.param .align 8 .b8 s[24], .param .u64 out)\n{\n"
              ".reg .b32 %r<5>; .reg .b64 %rd<5>;\n"
              "mov.b64 %rd1, s; ld.param.u32 %r1, [%rd1+16]; ld.param.v2.u32 {%r2, %r3}, [s+8];\n"
              "ld.param.u64 %rd2, [out]; st.global.u32 [%rd2], %r1; st.global.u32 [%rd2+4], %r2;\n"
              "st.global.u32 [%rd2+8], %r3; ret;\n}\n");
  const auto out = bench.machine.allocate(12, "out");
  const std::uint64_t words[4] = {1, 0x0000000300000002u, 4, out};
  const auto summary = bench.machine.launch(*bench.module, "k", {1}, {32}, 0, pack(words), {});
  EXPECT_EQ(summary.fault_count, 0u);
  EXPECT_EQ(bench.download<std::uint32_t>(out, 3), (std::vector<std::uint32_t>{4, 2, 3}));
}

// --- faults
// -------------------------------------------------------------------------------------------

struct Faulty {
  LaunchSummary summary;
  std::vector<std::uint32_t> out;
};
Faulty run_faulty(const std::string& body, const std::string& before = "") {
  Bench bench(memory_kernel(body, before));
  const auto in = bench.upload(std::vector<std::uint32_t>(16, 3), "in");
  const auto out = bench.upload(std::vector<std::uint32_t>(8, 9), "out");
  const auto gone = bench.machine.allocate(64, "gone");
  bench.machine.free(gone);
  Faulty result;
  result.summary = bench.run("k", {1}, {1}, {}, in, out);
  result.out = bench.download<std::uint32_t>(out, 8);
  return result;
}

void expect_fault(const Faulty& result, FaultKind kind, const std::string& text) {
  EXPECT_TRUE(result.summary.complete());
  ASSERT_EQ(result.summary.faults.size(), 1u);
  EXPECT_EQ(result.summary.faults[0].kind, kind);
  EXPECT_THAT(result.summary.faults[0].text, HasSubstr(text));
  EXPECT_THAT(result.summary.faults[0].text, HasSubstr("block (0,0,0), thread (0,0,0)"));
}

TEST(Faults, BeyondAnAllocation) {
  const Faulty load = run_faulty("ld.global.u32 %r2, [%rd1+64]; st.global.u32 [%rd2], %r2;");
  expect_fault(load, FaultKind::out_of_bounds,
               "global load of 4 bytes 4 bytes past the end of 'in' (64 bytes)");
  EXPECT_EQ(load.out[0], 0u);  // a faulty load gives 0
  const Faulty store = run_faulty("st.global.u32 [%rd2+-8], %r1;");
  expect_fault(store, FaultKind::out_of_bounds,
               "global store of 4 bytes 8 bytes before the start of 'out'");
  const Faulty part = run_faulty("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+56];");
  ASSERT_EQ(part.summary.faults.size(), 1u);  // also misaligned; the bounds come first
}

TEST(Faults, OtherWaysToMissGlobalMemory) {
  expect_fault(run_faulty("mov.u64 %rd6, 16; ld.global.u32 %r2, [%rd6];"), FaultKind::null_pointer,
               "null pointer (address 0x10)");
  expect_fault(run_faulty("ld.global.u32 %r2, [%rd1+2];"), FaultKind::misaligned,
               "no multiple of 4");
  expect_fault(run_faulty("add.u64 %rd6, %rd2, 4608; ld.global.u32 %r2, [%rd6];"), FaultKind::freed,
               "in 'gone', which was freed");
  expect_fault(run_faulty("mov.u64 %rd6, table; st.u32 [%rd6], 1;", ".const .u32 table[2];\n"),
               FaultKind::read_only, "cannot be written");
  expect_fault(
      run_faulty("mov.u64 %rd6, table; ld.global.u32 %r2, [%rd6];", ".const .u32 table[2];\n"),
      FaultKind::wrong_space, "cannot be made");
  expect_fault(run_faulty("atom.global.add.u32 %r2, [%rd1+64], 1; st.global.u32 [%rd2], %r2;"),
               FaultKind::out_of_bounds, "global atomic operation of 4 bytes");
}

TEST(Faults, SharedLocalAndParameterMemory) {
  expect_fault(run_faulty("mov.u32 %r2, buffer; ld.shared.u32 %r3, [%r2+32];",
                          ".shared .align 4 .b8 buffer[32];\n"),
               FaultKind::out_of_bounds,
               "shared load of 4 bytes 4 bytes past the end of 'buffer' (32 bytes)");
  expect_fault(
      run_faulty(".local .align 8 .b8 depot[16]; mov.u64 %rd6, depot; st.local.u32 [%rd6+20], 1;"),
      FaultKind::out_of_bounds, "local store of 4 bytes 8 bytes past the end of 'depot'");
  expect_fault(run_faulty("mov.b64 %rd6, in; ld.param.u64 %rd7, [%rd6+24];"),
               FaultKind::out_of_bounds, "parameter load of 8 bytes");
}

TEST(Faults, OfSomeLanesLeaveTheOthersAlone) {
  Bench bench(
      memory_kernel("mul.wide.u32 %rd6, %r1, 4; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6;"
                    "ld.global.u32 %r2, [%rd7]; st.global.u32 [%rd8], %r2;"));
  const auto in = bench.upload(std::vector<std::uint32_t>(20, 3), "in");
  const auto out = bench.upload(std::vector<std::uint32_t>(32, 9), "out");
  const LaunchSummary summary = bench.run("k", {1}, {32}, {}, in, out);
  ASSERT_EQ(summary.faults.size(), 1u);
  EXPECT_EQ(summary.fault_count, 12u);
  EXPECT_THAT(summary.faults[0].text, HasSubstr("thread (20,0,0)"));
  const auto got = bench.download<std::uint32_t>(out, 32);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 20 ? 3u : 0u);
}

TEST(Faults, HostCopiesAreChecked) {
  Machine machine(tilescope::testing::h200());
  const auto a = machine.allocate(100, "a");
  std::vector<char> data(200);
  EXPECT_THROW(machine.copy_to_device(a, data.data(), 101), Error);
  EXPECT_THROW(machine.copy_to_host(data.data(), a + 200, 1), Error);
  EXPECT_THROW(machine.free(a + 4), Error);
  EXPECT_THROW(machine.allocate(std::uint64_t{1} << 50, "huge"), Error);
  machine.free(a);
  EXPECT_THROW(machine.free(a), Error);
}

TEST(Faults, AddressesAtBothEndsOfTheAddressSpace) {
  // Lane 1's word is in memory; lane 0 is 2^63 above it, lane 2 the word before. Their extent, and
  // the distance from any variable, is more than 64 bits with a sign hold.
  const std::string addresses =
      "mov.u64 %rd6, 0x8000000000000000; setp.eq.u32 %p1, %r1, 0; selp.u64 %rd6, %rd6, 0, %p1;"
      "setp.eq.u32 %p1, %r1, 2; selp.u64 %rd7, 4, 0, %p1; sub.u64 %rd6, %rd6, %rd7;";
  const struct {
    const char *access, *text;
  } accesses[] = {
      {"add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r2, [%rd6];", "global load of 4 bytes"},
      {"add.u64 %rd6, %rd1, %rd6; ld.u32 %r2, [%rd6];", "global load of 4 bytes"},
      {"mov.u64 %rd8, cell; add.u64 %rd6, %rd8, %rd6; ld.shared.u32 %r2, [%rd6];",
       "shared load of 4 bytes"},
  };
  const LaneKernels& before = lane_kernels();
  for (const LaneKernels* set : all_lane_kernels()) {
    use_lane_kernels(*set);
    for (const auto& [access, text] : accesses) {
      Bench bench(
          memory_kernel("mov.u32 %r2, 77;" + addresses + access + " st.global.u32 [%rd5], %r2;",
                        ".shared .u32 cell;\n"));
      const auto in = bench.upload(std::vector<std::uint32_t>(4, 3), "in");
      const auto out = bench.upload(std::vector<std::uint32_t>(12, 9), "out");
      const LaunchSummary summary = bench.run("k", {1}, {3}, {}, in, out);
      EXPECT_EQ(summary.fault_count, 2u) << access;
      ASSERT_EQ(summary.faults.size(), 1u) << access;
      EXPECT_THAT(summary.faults[0].text, HasSubstr(text));
      const auto got = bench.download<std::uint32_t>(out, 12);
      EXPECT_EQ(got[0], 0u);
      EXPECT_EQ(got[4], text[0] == 's' ? 0u : 3u);
      EXPECT_EQ(got[8], 0u);
    }
  }
  use_lane_kernels(before);
}

// --- the record of initialised bytes
// ----------------------------------------------------------------------

TEST(Initialised, BytesAsTheyAreMarked) {
  MemoryMap map(1 << 20);
  Allocation& a = *map.find(map.allocate(100, "a"));
  EXPECT_FALSE(a.initialised(0, 1));
  EXPECT_FALSE(map.all_initialised());
  a.mark_initialised(10, 10);
  a.mark_initialised(40, 10);
  EXPECT_TRUE(a.initialised(12, 8));
  EXPECT_FALSE(a.initialised(12, 9));
  a.mark_initialised(15, 25);  // closes the gap
  EXPECT_TRUE(a.initialised(10, 40));
  EXPECT_FALSE(a.initialised(9, 1));
  EXPECT_FALSE(a.initialised(50, 1));
  a.mark_initialised(0, 10);
  EXPECT_FALSE(a.fully_initialised());
  a.mark_initialised(50, 1000);  // what lies past the end is left out
  EXPECT_TRUE(a.fully_initialised());
  EXPECT_TRUE(map.all_initialised());
}

TEST(Initialised, ScatteredBytesTakeTimeInProportion) {
  constexpr std::uint64_t kBytes = 8 << 20;
  MemoryMap map(kBytes);
  Allocation& a = *map.find(map.allocate(kBytes, "a"));
  for (std::uint64_t i = 0; i < kBytes; i += 8) a.mark_initialised(i, 4);
  EXPECT_TRUE(a.initialised(kBytes - 8, 4));
  EXPECT_FALSE(a.initialised(kBytes - 4, 1));
  for (std::uint64_t i = kBytes; i != 0; i -= 8) a.mark_initialised(i - 4, 4);
  EXPECT_TRUE(a.fully_initialised());
}

TEST(Initialised, CopiesOnTheDeviceAreAsDefinedAsTheirSource) {
  Machine machine(tilescope::testing::h200());
  const std::vector<char> data(300, 1);
  const auto defined = [&](std::uint64_t at) {
    std::string text;
    const Allocation& a = *machine.memory().find(at);
    for (std::uint64_t i = 0; i < a.bytes(); ++i) text += a.initialised(i, 1) ? '1' : '.';
    return text;
  };
  const auto full = machine.allocate(300, "full"), empty = machine.allocate(300, "empty"),
             some = machine.allocate(300, "some");
  machine.copy_to_device(full, data.data(), 300);
  machine.copy_to_device(some + 100, data.data(), 70);
  // Undefined bytes make what they are copied over undefined, whatever the alignment.
  machine.copy_on_device(full + 7, some + 90, 100);
  EXPECT_EQ(defined(full), std::string(7, '1') + std::string(10, '.') + std::string(70, '1') +
                               std::string(20, '.') + std::string(193, '1'));
  machine.copy_on_device(full, empty, 300);
  EXPECT_EQ(defined(full), std::string(300, '.'));
  machine.copy_on_device(empty + 1, some + 150, 40);
  EXPECT_EQ(defined(empty), "." + std::string(20, '1') + std::string(279, '.'));
  // Within one allocation, overlapping in both directions.
  machine.copy_on_device(some + 60, some + 95, 130);
  EXPECT_EQ(defined(some), std::string(65, '.') + std::string(70, '1') + std::string(165, '.'));
  machine.copy_on_device(some + 10, some, 200);
  EXPECT_EQ(defined(some), std::string(75, '.') + std::string(70, '1') + std::string(155, '.'));
  machine.fill(some, 0, 300);
  EXPECT_EQ(defined(some), std::string(300, '1'));
}

}  // namespace
}  // namespace tilescope::emulator::test
