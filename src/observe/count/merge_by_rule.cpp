#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>

#include "observe/address_values.hpp"
#include "observe/count/merge_plan.hpp"
#include "ptx/control_flow.hpp"

namespace tilescope::observe {
namespace {

using ptx::Effect;
using ptx::Instruction;

ptx::Effect effect(const Instruction& instruction) {
  return ptx::info(instruction.opcode).effect;
}
bool may_be_shared(const Instruction& instruction) {
  return instruction.modifiers.space == ptx::Space::shared ||
         instruction.modifiers.space == ptx::Space::none;
}
bool is_weak(const Instruction& instruction) {
  return instruction.modifiers.ordering == ptx::Ordering::none ||
         instruction.modifiers.ordering == ptx::Ordering::weak;
}
unsigned access_bytes(const Instruction& instruction) {
  return ptx::byte_size(instruction.modifiers.type()) * instruction.modifiers.vector;
}

/// Loads (or stores) since the last instruction that they may not be moved across.
class Segment {
 public:
  explicit Segment(MergePlan& plan) : plan_(plan) {}

  void add(const AddressValue& address, const Instruction& instruction, std::uint32_t id) {
    const Key key{address.root, address.version, instruction.guard, instruction.guard_negated};
    groups_[key].push_back({address.offset, access_bytes(instruction), address.zero_bits, id});
  }
  void close() {
    for (auto& [key, accesses] : groups_) {
      join(accesses, 16);
      join(accesses, 8);
    }
    groups_.clear();
  }

 private:
  using Key = std::tuple<AddressRoot, std::uint32_t, std::uint32_t, bool>;
  struct Member {
    std::int64_t offset;
    unsigned bytes;
    unsigned zero_bits;
    std::uint32_t id;
  };

  /// Joins the accesses that fill aligned windows of `window` bytes and removes them from
  /// `accesses`.
  void join(std::vector<Member>& accesses, unsigned window) {
    std::map<std::int64_t, std::vector<Member>> windows;
    for (const Member& a : accesses) {
      const bool aligned = (1u << a.zero_bits) >= window;
      const auto size = static_cast<std::int64_t>(window);
      const std::int64_t start = a.offset - ((a.offset % size) + size) % size;
      if (aligned && a.bytes >= 4 && a.bytes < window) windows[start].push_back(a);
    }
    for (auto& [start, members] : windows) {
      std::uint32_t covered = 0;  // one bit a byte of the window
      for (const Member& m : members) {
        covered |= ((1u << m.bytes) - 1) << static_cast<unsigned>(m.offset - start);
      }
      if (covered != (1u << window) - 1) continue;
      const Member& leader =
          *std::min_element(members.begin(), members.end(),
                            [](const Member& a, const Member& b) { return a.id < b.id; });
      for (const Member& m : members) plan_[m.id] = {MergeRole::member, 0, 0, leader.id};
      plan_[leader.id] = {MergeRole::leader, static_cast<std::uint16_t>(window),
                          static_cast<std::int32_t>(start - leader.offset), leader.id};
    }
    std::erase_if(accesses, [&](const Member& a) { return plan_[a.id].role != MergeRole::alone; });
  }

  MergePlan& plan_;
  std::map<Key, std::vector<Member>> groups_;
};

void merge_function(const ptx::Module& module, const ptx::Function& function,
                    std::uint32_t first_id, MergePlan& plan) {
  const ptx::ControlFlow flow = ptx::build_control_flow(function);
  AddressValues values(module, function);
  Segment loads(plan), stores(plan);
  for (const ptx::BasicBlock& block : flow.blocks) {
    values.begin_block();
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction& instruction = function.instructions[i];
      const bool orders = ptx::info(instruction.opcode).orders || !is_weak(instruction);
      const bool load = effect(instruction) == Effect::load;
      const bool store = effect(instruction) == Effect::store;
      if (orders || (store && may_be_shared(instruction))) loads.close();
      if (orders || (load && may_be_shared(instruction))) stores.close();
      if (is_weak(instruction) && (load || store) &&
          instruction.modifiers.space == ptx::Space::shared) {
        (load ? loads : stores)
            .add(values.address(instruction.operands[load ? 1 : 0]), instruction, first_id + i);
      }
      values.pass(instruction);
    }
    loads.close();
    stores.close();
  }
}

}  // namespace

MergePlan merge_by_rule(const emulator::Program& program) {
  const auto instructions = program.instructions();
  MergePlan plan(instructions.size());
  for (std::uint32_t id = 0; id < instructions.size(); ++id) {
    if (instructions[id].index != 0) continue;
    const emulator::CodeFunction& function = program.functions()[instructions[id].function];
    if (function.source != nullptr) merge_function(program.module(), *function.source, id, plan);
  }
  return plan;
}

}  // namespace tilescope::observe
