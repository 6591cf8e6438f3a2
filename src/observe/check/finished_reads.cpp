#include "observe/check/finished_reads.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "observe/check/value_uses.hpp"
#include "ptx/control_flow.hpp"

namespace tilescope::observe {
namespace {

using ptx::BlockEnd;
using ptx::Effect;

/// Whether the instruction can tell other blocks something (GridOrder::set_flag).
bool sets_flag(const ptx::Instruction& instruction) {
  const ptx::Modifiers& m = instruction.modifiers;
  return ptx::info(instruction.opcode).effect == Effect::store && m.space != ptx::Space::shared &&
         m.scope != ptx::Scope::cta && m.ordering != ptx::Ordering::none &&
         m.ordering != ptx::Ordering::weak;
}

/// Whether threads meet here, so that another one may set the flag from now on.
bool meets(const ptx::Instruction& instruction) {
  const BlockEnd end = ptx::info(instruction.opcode).end;
  return end == BlockEnd::barrier || end == BlockEnd::cluster_barrier ||
         end == BlockEnd::collective;
}

/// Whether the instruction does nothing but compute registers.
bool only_computes(const ptx::Instruction& instruction) {
  const ptx::OpcodeInfo& facts = ptx::info(instruction.opcode);
  return facts.effect == Effect::none && facts.end == BlockEnd::fall_through &&
         ptx::has_destination(instruction);
}

/// The paths of a function from one of its loads.
class Paths {
 public:
  Paths(const ptx::Function& function, std::uint32_t load)
      : text_(function.instructions), flow_(ptx::build_control_flow(function)), load_(load) {
    used_.resize(text_.size());
    ValueUses(function).flow(load, [&](std::uint32_t user, std::uint32_t) {
      const bool computes = only_computes(text_[user]);
      if (!computes) used_[user] = true;
      return computes;
    });
  }

  bool flag_comes_last() const {
    if (std::find(used_.begin(), used_.end(), true) == used_.end()) return true;  // no use at all
    return walk(load_ + 1, [&](std::uint32_t i) {
      if (i == load_ || used_[i]) return Step::stop;
      if (sets_flag(text_[i])) return Step::fail;
      return meets(text_[i]) && !no_flag_until_next_meeting(i + 1) ? Step::fail : Step::go_on;
    });
  }

 private:
  enum class Step : std::uint8_t { go_on, stop, fail };

  bool no_flag_until_next_meeting(std::uint32_t from) const {
    return walk(from, [&](std::uint32_t i) {
      if (sets_flag(text_[i])) return Step::fail;
      return meets(text_[i]) ? Step::stop : Step::go_on;
    });
  }

  /// Follows all paths from an instruction; false once a step fails.
  template <class Visit>
  bool walk(std::uint32_t from, Visit visit) const {
    if (from >= text_.size()) return true;
    std::vector<bool> entered(flow_.blocks.size());
    std::vector<std::uint32_t> next{from};
    while (!next.empty()) {
      std::uint32_t i = next.back();
      next.pop_back();
      const ptx::BasicBlock& block = flow_.blocks[flow_.block_of[i]];
      Step step = Step::go_on;
      for (; i < block.end && step == Step::go_on; ++i) step = visit(i);
      if (step == Step::fail) return false;
      if (step == Step::stop) continue;
      for (const std::uint32_t successor : block.successors) {
        if (!entered[successor]) next.push_back(flow_.blocks[successor].begin);
        entered[successor] = true;
      }
    }
    return true;
  }

  const std::vector<ptx::Instruction>& text_;
  ptx::ControlFlow flow_;
  std::uint32_t load_;
  std::vector<bool> used_;  ///< by instruction: needs the loaded value
};

}  // namespace

bool FinishedReads::contains(emulator::InstructionId load) {
  const auto [found, fresh] = known_.try_emplace(load, false);
  if (fresh) {
    const emulator::InstructionInfo& info = program_.instruction(load);
    found->second =
        ptx::info(info.source->opcode).effect == Effect::load &&
        Paths(*program_.functions()[info.function].source, info.index).flag_comes_last();
  }
  return found->second;
}

}  // namespace tilescope::observe
