// The widths of accesses to shared memory that merge_by_rule foresees against the machine code that
// ptxas really makes, for every rung of every ladder that the emulated device does not refuse.
// Needs no GPU: NVRTC gives the machine code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "device/emulated/emulated_device.hpp"
#include "device/loading/ptx_kernel.hpp"
#include "kernel_run.hpp"
#include "observe/count/merge_plan.hpp"
#include "operations/registry.hpp"
#include "operations/rung/kernel_program.hpp"

namespace tilescope::observe {
namespace {

/// "LDS.128" -> how many of them stand in a kernel's code.
using Widths = std::map<std::string, int>;

/// Rungs with a loop that the PTX leaves and ptxas unrolls: its code has more instructions than the
/// PTX, so that the two cannot be compared one to one. (Nor is that needed for the matmul ones:
/// their counts are compared with the chip's.)
const std::set<std::string> unrolled{"matmul/tiled_dynamic",   "matmul/register_tile_1d",
                                     "matmul/vector_loads",    "matmul/double_buffered",
                                     "matmul/warp_tiles",      "histogram/vector",
                                     "histogram/lane_columns", "histogram/byte_columns"};

template <class T>
T at(const std::string& image, std::size_t offset) {
  T value{};
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

/// Instructions are 16 bytes; the low 12 bits are the operation, the next 4 its predicate, and bits
/// 9 to 11 of the upper half the width of an access. Behind cp.async ptxas places loads whose
/// predicate is never true.
Widths machine_widths(const std::string& cubin, const std::string& kernel) {
  constexpr std::size_t header_bytes = 64, instruction_bytes = 16;
  const auto headers = at<std::uint64_t>(cubin, 0x28);
  const auto header = [&](std::size_t i) { return headers + header_bytes * i; };
  const auto names = at<std::uint64_t>(cubin, header(at<std::uint16_t>(cubin, 0x3e)) + 0x18);
  Widths widths;
  for (std::size_t i = 0; i < at<std::uint16_t>(cubin, 0x3c); ++i) {
    if (cubin.data() + names + at<std::uint32_t>(cubin, header(i)) != ".text." + kernel) continue;
    const auto begin = at<std::uint64_t>(cubin, header(i) + 0x18);
    const auto bytes = at<std::uint64_t>(cubin, header(i) + 0x20);
    for (std::uint64_t o = begin; o + instruction_bytes <= begin + bytes; o += instruction_bytes) {
      const auto lower = at<std::uint64_t>(cubin, o);
      const std::uint64_t operation = lower & 0xfff;
      const bool load = operation == 0x984, never_runs = (lower >> 12 & 0xf) == 0xf;
      if (never_runs || (!load && operation != 0x388 && operation != 0x988)) continue;
      constexpr int bits[] = {8, 8, 16, 16, 32, 64, 128, 0};
      ++widths[fmt::format("{}.{}", load ? "LDS" : "STS",
                           bits[at<std::uint64_t>(cubin, o + 8) >> 9 & 7])];
    }
  }
  return widths;
}

Widths foreseen_widths(const emulator::Program& program) {
  const MergePlan plan = merge_by_rule(program);
  Widths widths;
  for (std::uint32_t id = 0; id < program.instructions().size(); ++id) {
    const ptx::Instruction& in = *program.instruction(id).source;
    const bool load = in.opcode == ptx::Opcode::ld;
    if ((!load && in.opcode != ptx::Opcode::st) || in.modifiers.space != ptx::Space::shared) {
      continue;
    }
    if (plan[id].role == MergeRole::member) continue;
    const unsigned bytes = plan[id].role == MergeRole::leader
                               ? plan[id].bytes
                               : ptx::byte_size(in.modifiers.type()) * in.modifiers.vector;
    ++widths[fmt::format("{}.{}", load ? "LDS" : "STS", 8 * bytes)];
  }
  return widths;
}

/// Compares every launch of a rung; how many have accesses to shared memory.
int compare(const operations::VariantInfo& variant, const operations::Plan& plan,
            const DeviceProperties& gpu) {
  int compared = 0;
  for (const operations::Step& step : plan.steps) {
    if (step.kernel.empty()) continue;
    const compile::Program program =
        device::program_of(operations::step_request(variant.source, plan, step), gpu);
    emulator::Machine machine(gpu);
    const auto module = machine.load(ptx::parse(program.ptx, "kernel.ptx"));
    const Widths foreseen = foreseen_widths(*module->program(program.kernel_name));
    EXPECT_EQ(foreseen, machine_widths(program.cubin, program.kernel_name))
        << step.kernel << ": if ptxas unrolls one of its loops, it belongs to `unrolled`";
    compared += foreseen.empty() ? 0 : 1;
  }
  return compared;
}

/// The problems of which a rung is compared at the first that the emulated device does not refuse:
/// one that every tile divides, one for a single block, a matrix times a vector.
std::vector<ProblemOptions> merged_problems(const operations::RegisteredOperation& operation) {
  std::vector<ProblemOptions> list{{.size = 256}, {.size = 32}};
  if (operation.name == "matmul") list.push_back({.size = 256, .columns = 1});
  return list;
}

TEST(MergeRule, ForeseesWhatPtxasJoins) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  const device::EmulatedDevice device("h200");
  int compared = 0;
  for (const operations::RegisteredOperation& registered : operations::registered_operations()) {
    std::set<std::string> done;
    for (const ProblemOptions& problem : merged_problems(registered)) {
      const auto operation = operations::make_operation(registered.name, problem);
      for (const operations::VariantInfo& variant : operation->variants()) {
        const std::string name = fmt::format("{}/{}", registered.name, variant.name);
        if (variant.source.empty() || unrolled.contains(name)) continue;
        if (operation->refusal(variant, device) || !done.insert(name).second) continue;
        SCOPED_TRACE(name);
        compared +=
            compare(variant, operation->plan(variant, device.properties()), device.properties());
      }
    }
  }
  EXPECT_GE(compared, 25);
}

}  // namespace
}  // namespace tilescope::observe
