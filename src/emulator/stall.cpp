#include "emulator/stall.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "emulator/address_space.hpp"
#include "emulator/clock_branches.hpp"
#include "emulator/memory_access.hpp"
#include "emulator/special_register_values.hpp"
#include "ptx/opcode_table.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::emulator {
namespace {

// Rounds from one look to the next. Looking costs more than spinning; and a warp that spins this
// often has released the lanes that wait for it at a join (Warp::run), if there are any.
constexpr std::uint64_t kRounds = 16;
// The time that the program has to write to memory that a kernel waits for.
constexpr std::chrono::seconds kPatience{2};

/// May the instruction do what repeats itself only by chance: change memory, or leave the loop's
/// function? Atomics are told apart by what they did.
bool has_lasting_effect(const ptx::Instruction& instruction) {
  const ptx::OpcodeInfo& facts = ptx::info(instruction.opcode);
  switch (facts.end) {
    case BlockEnd::call:
    case BlockEnd::ret:
    case BlockEnd::exit:
    case BlockEnd::trap:
      return true;
    default:
      break;
  }
  switch (facts.effect) {
    case ptx::Effect::store:
    case ptx::Effect::copy:
    case ptx::Effect::store_matrix:
      return true;
    case ptx::Effect::none:  // mbarrier.arrive and the like; those that only test wait
      return !facts.waits && facts.operands.find('a') != std::string_view::npos;
    default:
      return false;
  }
}

/// The registers of a function on which its control flow and its accesses depend.
class Deciding {
 public:
  Deciding(const ptx::Function& function, const ClockBranches& clock)
      : clock_(clock), decides_(function.registers.size(), false) {}

  bool has(std::uint32_t reg) const { return decides_[reg]; }
  bool grew() { return std::exchange(grew_, false); }

  /// Adds what the instruction reads if it decides anything. False: a clock does, which never
  /// repeats itself.
  bool visit(const ptx::Instruction& instruction) {
    const ptx::OpcodeInfo& facts = ptx::info(instruction.opcode);
    const bool writes = ptx::has_destination(instruction);
    // How long a warp sleeps, or which way it goes to sleep, decides nothing.
    const bool by_clock = facts.end == BlockEnd::branch && clock_.guards(instruction);
    const bool branches =
        facts.end != BlockEnd::fall_through && facts.end != BlockEnd::yield && !by_clock;
    bool decides =
        branches || facts.effect == ptx::Effect::atomic || facts.effect == ptx::Effect::reduction;
    if (writes) {
      ptx::visit_registers(instruction.operands[0],
                           [&](std::uint32_t reg) { decides = decides || has(reg); });
    }
    if (!decides) return true;
    bool repeats = !instruction.guarded() || add(instruction.guard);
    for (std::size_t i = writes ? 1 : 0; i < instruction.operands.size(); ++i) {
      const ptx::Operand& operand = instruction.operands[i];
      if (operand.kind == ptx::Operand::Kind::special && is_counter(operand.special)) return false;
      ptx::visit_registers(operand, [&](std::uint32_t reg) { repeats = add(reg) && repeats; });
    }
    return repeats;
  }

 private:
  /// False: the register depends on a clock.
  bool add(std::uint32_t reg) {
    if (!decides_[reg]) decides_[reg] = grew_ = true;
    return !clock_.tells_time(reg);
  }

  const ClockBranches& clock_;
  std::vector<bool> decides_;
  bool grew_ = false;
};

std::uint64_t mixed(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace

/// Finds the deciding registers of a function; false if what it ran may have a lasting effect, or
/// if it may do something else when the time has come.
bool StallWatch::look_at(std::uint32_t function, Window& window) const {
  const CodeFunction& code = worker_.launch.program().functions()[function];
  const ptx::Function& source = *code.source;
  std::vector<bool> blocks;
  for (const CodeBlock& block : code.blocks) blocks.push_back(window.ran[block.counter]);
  const ClockBranches clock(code, std::move(blocks));
  if (clock.ends_waits()) return false;
  std::vector<const ptx::Instruction*> ran;
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    if (!clock.runs()[b]) continue;
    const CodeBlock& block = code.blocks[b];
    for (std::uint32_t i = block.begin; i < block.begin + block.size; ++i) {
      ran.push_back(&source.instructions[i]);
      if (has_lasting_effect(*ran.back())) return false;
    }
  }
  Deciding deciding(source, clock);
  do {
    for (const ptx::Instruction* instruction : ran) {
      if (!deciding.visit(*instruction)) return false;
    }
  } while (deciding.grew());
  window.begins.push_back(window.places.size());
  for (std::uint32_t reg = 0; reg < code.registers.size(); ++reg) {
    if (!deciding.has(reg)) continue;
    const RegisterPlace place = code.registers[reg];
    window.places.push_back(place.offset);
    window.places.push_back(place.width == 0 ? 4U : place.width * 32U);
  }
  return true;
}

bool StallWatch::examine(Window& window) const {
  window.ran.resize(worker_.counters.size());
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    window.ran[i] = worker_.counters[i].executed != counters_[i].executed;
  }
  const auto functions = static_cast<std::uint32_t>(worker_.launch.program().functions().size());
  for (std::uint32_t i = 0; i < functions; ++i) {
    if (!look_at(i, window)) return false;
  }
  window.begins.push_back(window.places.size());
  return true;
}

/// All places of lanes and the registers that decide where they go, whatever the order of paths.
std::uint64_t StallWatch::digest(const WaitingClusters& clusters, const Window& window) const {
  std::uint64_t sum = 0;
  const auto add = [&](const Block& block, const Warp& warp, const Path& path) {
    const std::uint64_t place[] = {block.linear(),
                                   warp.index(),
                                   path.mask,
                                   path.block,
                                   static_cast<std::uint64_t>(path.state),
                                   path.frame->index};
    std::uint64_t hash = mixed(place, sizeof place, 0);
    hash = mixed(path.frame->registers + kCarryOffset, 4, hash);
    const std::size_t end = window.begins[path.frame->index + 1];
    for (std::size_t i = window.begins[path.frame->index]; i < end; i += 2) {
      hash = mixed(path.frame->registers + window.places[i], window.places[i + 1], hash);
    }
    sum += hash;
  };
  for (const auto& cluster : clusters) {
    for (const ResidentCluster::Member& member : cluster->members()) {
      if (!member.running) continue;
      for (const Warp& warp : member.block->warps()) {
        for (const Path& path : warp.paths()) add(*member.block, warp, path);
      }
    }
  }
  return sum;
}

/// Is there still time for the program to change what one of the loops looks at?
bool StallWatch::program_may_help(const WaitingClusters& clusters, std::uint64_t since) {
  const MemoryMap& memory = worker_.launch.setup().memory;
  const auto looks_at_host_memory = [&](const Warp& warp) {
    return std::any_of(warp.paths().begin(), warp.paths().end(), [&](const Path& path) {
      if (path.state != PathState::ready) return false;
      const StuckLanes lanes = spinning_lanes(warp.index(), path);
      if (lanes.bytes == 0 || lanes.space != Space::global) return false;
      const Allocation* const holder = memory.find(lanes.address, lanes.bytes);
      return holder != nullptr && holder->is_host_memory();
    });
  };
  const bool waits_for_host = std::any_of(
      clusters.begin(), clusters.end(), [&](const std::unique_ptr<ResidentCluster>& cluster) {
        const auto& members = cluster->members();
        return std::any_of(members.begin(), members.end(), [&](const auto& member) {
          const auto& warps = member.block->warps();
          return member.running && std::any_of(warps.begin(), warps.end(), looks_at_host_memory);
        });
      });
  if (!waits_for_host) return false;
  const auto now = std::chrono::steady_clock::now();
  if (std::exchange(patient_since_, since) != since) patient_until_ = now + kPatience;
  if (now >= patient_until_) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

void StallWatch::round(const WaitingClusters& clusters) {
  if (++rounds_ % kRounds != 0) return;
  // Three looks: the first begins a window, the second says where the lanes are, the third whether
  // they are there again.
  worker_.settle_counts();
  const std::uint64_t phase = rounds_ / kRounds % 3;
  const std::uint64_t since = worker_.launch.progress();
  const std::uint64_t changes = worker_.context.atomic_changes;
  if (phase == 0) {
    counters_ = worker_.counters;
    since_ = since;
    changes_ = changes;
    suspected_ = true;
    return;
  }
  Window window;
  suspected_ = suspected_ && since == since_ && changes == changes_ && examine(window);
  if (!suspected_) return;
  const std::uint64_t now = digest(clusters, window);
  if (phase == 1) {
    digest_ = now;
    counters_ = worker_.counters;
  } else if (now == digest_ && since != told_ && !program_may_help(clusters, since)) {
    told_ = since;
    worker_.launch.stalled(since);
  }
}

StuckLanes spinning_lanes(std::uint32_t warp, const Path& path) {
  const CodeFunction& function = *path.frame->function;
  const SpinLoop* innermost = nullptr;
  for (const SpinLoop& loop : function.spins) {
    if (path.block < loop.first || path.block > loop.last) continue;
    if (innermost == nullptr || loop.last - loop.first < innermost->last - innermost->first) {
      innermost = &loop;
    }
  }
  const Code* code = &function.code[function.blocks[path.block].begin];
  StuckLanes lanes{warp, path.mask, code->id, StuckReason::spin, 0};
  if (innermost == nullptr || innermost->looks_at == kNone) return lanes;
  code = &function.code[innermost->looks_at];
  lanes.instruction = code->id;
  if (code->bytes == 0) return lanes;
  Context w;
  w.frame = path.frame->registers;
  std::uint64_t addresses[kWarpSize];
  lane_addresses(w, *code, addresses);
  const std::uint64_t address = addresses[std::countr_zero(path.mask)];
  const ResolvedAddress resolved = code->space == kGenericSpace ? resolve_generic(address)
                                   : code->space == kClusterSpace
                                       ? ResolvedAddress{Space::shared, address}
                                       : ResolvedAddress{static_cast<Space>(code->space), address};
  lanes.space = resolved.space;
  lanes.address = resolved.address;
  lanes.bytes = code->bytes;
  return lanes;
}

}  // namespace tilescope::emulator
