// Memory that the host and kernels reach at the same address, and memory that only the host may.
#include "emulator/address_space.hpp"
#include "harness.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tilescope::testing::error_of;

/// to[i] = from[i] + 1 for 32 threads, with global and with generic addresses.
std::string increments() {
  std::string text(kHeader);
  for (const char* space : {"global", "generic"}) {
    const std::string dot = space == std::string("global") ? ".global" : "";
    text += std::string(".visible .entry ") + space +
            "(.param .u64 from, .param .u64 to) {\n"
            ".reg .b64 %f, %t, %i; .reg .b32 %x, %v;\n"
            "ld.param.u64 %f, [from]; ld.param.u64 %t, [to];\n"
            "mov.u32 %x, %tid.x; mul.wide.u32 %i, %x, 4;\n"
            "add.u64 %f, %f, %i; add.u64 %t, %t, %i;\n"
            "ld" +
            dot + ".u32 %v, [%f]; add.u32 %v, %v, 1; st" + dot + ".u32 [%t], %v; ret; }\n";
  }
  return text;
}

class HostMemory : public ::testing::Test {
 protected:
  LaunchSummary run(const void* from, const void* to, std::string_view kernel = "global") {
    return bench.run(kernel, {1}, {32}, {.threads = 1}, reinterpret_cast<std::uint64_t>(from),
                     reinterpret_cast<std::uint64_t>(to));
  }
  static std::vector<FaultKind> kinds(const LaunchSummary& summary) {
    std::vector<FaultKind> kinds;
    for (const FaultRecord& fault : summary.faults) kinds.push_back(fault.kind);
    return kinds;
  }
  void adopt(std::vector<std::uint32_t>& values, std::size_t count, std::string_view name) {
    bench.machine.memory().adopt(values.data(), count * 4, name);
  }

  Bench bench{increments()};
};

TEST_F(HostMemory, KernelsReachAdoptedMemoryAtItsOwnAddress) {
  std::uint32_t on_stack[32] = {};
  std::vector<std::uint32_t> on_heap(32, 4);
  bench.machine.memory().adopt(on_stack, sizeof on_stack, "on_stack");
  adopt(on_heap, 32, "on_heap");
  for (const char* kernel : {"global", "generic"}) {
    std::fill_n(on_stack, 32, 0);
    EXPECT_EQ(run(on_heap.data(), on_stack, kernel).fault_count, 0u);
    EXPECT_THAT(std::vector(on_stack, on_stack + 32), ::testing::Each(5u)) << kernel;
  }
}

TEST_F(HostMemory, AnAccessBesideAdoptedMemoryMissesIt) {
  std::vector<std::uint32_t> values(64);
  adopt(values, 30, "pinned");
  const LaunchSummary summary = run(values.data(), values.data());
  EXPECT_THAT(kinds(summary), ElementsAre(FaultKind::out_of_bounds, FaultKind::out_of_bounds));
  EXPECT_THAT(summary.faults[0].text, HasSubstr("4 bytes past the end of 'pinned' (120 bytes)"));
  EXPECT_EQ(values[29], 1u);
  EXPECT_EQ(values[30], 0u);
}

TEST_F(HostMemory, OtherMemoryOfTheHostIsAFaultOfItsOwn) {
  std::vector<std::uint32_t> values(4096), far_away(1 << 20);
  adopt(values, 32, "pinned");
  for (const void* wild : {static_cast<void*>(far_away.data()),
                           static_cast<void*>(values.data() + 2048), static_cast<void*>(this)}) {
    for (const char* kernel : {"global", "generic"}) {
      const LaunchSummary summary = run(wild, values.data(), kernel);
      EXPECT_THAT(kinds(summary), ElementsAre(FaultKind::host_memory));
      EXPECT_THAT(summary.faults[0].text, HasSubstr("memory of the host that no kernel can reach"));
    }
  }
}

TEST_F(HostMemory, AWildAddressWithNoMemoryIsOutOfBounds) {
  std::vector<std::uint32_t> values(32);
  adopt(values, 32, "pinned");
  const auto* const nowhere = reinterpret_cast<const void*>(0x6543'0000'0000);
  EXPECT_THAT(kinds(run(nowhere, values.data())), ElementsAre(FaultKind::out_of_bounds));
}

TEST_F(HostMemory, PagesAreGuardedAndFreedOnesAreRemembered) {
  MemoryMap& memory = bench.machine.memory();
  const std::uint64_t used = memory.used();
  const std::uint64_t address = memory.allocate_shared(100, "managed");
  EXPECT_EQ(memory.used(), used) << "it takes nothing of the device's memory";
  auto* const managed = reinterpret_cast<std::uint32_t*>(address);
  LaunchSummary summary = run(managed, managed);
  EXPECT_THAT(summary.faults[0].text, HasSubstr("4 bytes past the end of 'managed' (100 bytes)"));
  EXPECT_EQ(managed[24], 1u);
  memory.free(address);
  summary = run(managed, managed);
  EXPECT_THAT(kinds(summary), ElementsAre(FaultKind::freed, FaultKind::freed));
  EXPECT_THAT(summary.faults[0].text, HasSubstr("'managed', which was freed"));
}

TEST_F(HostMemory, ReleasedMemoryIsTheHostsAlone) {
  std::vector<std::uint32_t> values(32);
  adopt(values, 32, "pinned");
  bench.machine.memory().release(reinterpret_cast<std::uint64_t>(values.data()));
  EXPECT_THAT(kinds(run(values.data(), values.data())),
              ElementsAre(FaultKind::host_memory, FaultKind::host_memory));
}

TEST_F(HostMemory, CountsAsInitialisedWhateverIsCopiedThere) {
  MemoryMap& memory = bench.machine.memory();
  const std::uint64_t shared = memory.allocate_shared(128, "managed");
  const std::uint64_t undefined = bench.machine.allocate(128, "undefined");
  EXPECT_TRUE(memory.find(shared)->initialised(0, 128));
  bench.machine.copy_on_device(shared, undefined, 128);
  EXPECT_TRUE(memory.find(shared)->initialised(0, 128));
  bench.machine.copy_on_device(undefined, shared, 64);
  EXPECT_TRUE(memory.find(undefined)->initialised(0, 64));
  EXPECT_FALSE(memory.find(undefined)->initialised(64, 64));
}

TEST_F(HostMemory, RefusesWhatCannotBeAdopted) {
  MemoryMap& memory = bench.machine.memory();
  std::vector<std::uint32_t> values(64);
  const auto refusal = [&](void* data, std::uint64_t bytes) {
    return error_of(ErrorKind::usage, [&] { memory.adopt(data, bytes, "again"); });
  };
  adopt(values, 32, "first");
  EXPECT_THAT(refusal(values.data() + 31, 8), HasSubstr("'first' is part of it already"));
  EXPECT_THAT(refusal(values.data(), 256), HasSubstr("'first' is part of it already"));
  EXPECT_THAT(refusal(values.data() + 40, 0), HasSubstr("it is empty"));
  EXPECT_THAT(refusal(values.data() + 40, ~std::uint64_t{0}), HasSubstr("it is empty"));
  for (const std::uint64_t taken : {kSharedWindow, kLocalWindow + 5, kConstantBase, kGlobalBase}) {
    EXPECT_THAT(refusal(reinterpret_cast<void*>(taken), 4), HasSubstr("other memory"));
  }
  EXPECT_NO_THROW(memory.adopt(values.data() + 32, 128, "second"));
}

TEST(ManagedVariables, AreReachedByTheHostAtTheirAddress) {
  Bench bench(std::string(kHeader) +
              ".visible .global .attribute(.managed) .align 4 .u32 total = 3;\n"
              ".visible .global .align 4 .u32 plain = 3;\n"
              ".visible .entry bump() {\n.reg .b32 %v;\n"
              "ld.global.u32 %v, [total]; add.u32 %v, %v, 1; st.global.u32 [total], %v; ret; }\n");
  const Variable total = bench.machine.variable(*bench.module, "total");
  EXPECT_TRUE(total.managed);
  EXPECT_FALSE(bench.machine.variable(*bench.module, "plain").managed);
  auto& value = *reinterpret_cast<std::uint32_t*>(total.address);
  EXPECT_EQ(value, 3u);
  value = 8;
  EXPECT_EQ(bench.run("bump", {1}, {1}, {}).fault_count, 0u);
  EXPECT_EQ(value, 9u);
}

}  // namespace
}  // namespace tilescope::emulator::test
