#include "observe/check/race_findings.hpp"

#include <algorithm>
#include <utility>

namespace tilescope::observe {
namespace {

/// Whether the program has accesses to global memory by which a block could announce something to
/// others.
bool may_announce(const emulator::Program& program) {
  return std::any_of(program.instructions().begin(), program.instructions().end(),
                     [](const emulator::InstructionInfo& info) {
                       if (info.source == nullptr) return false;
                       const ptx::Instruction& i = *info.source;
                       if (i.modifiers.space == ptx::Space::shared) return false;
                       const ptx::Effect effect = ptx::info(i.opcode).effect;
                       if (effect == ptx::Effect::atomic) return true;
                       return effect == ptx::Effect::load &&
                              i.modifiers.ordering != ptx::Ordering::none &&
                              i.modifiers.ordering != ptx::Ordering::weak;
                     });
}

FindingKind kind_of(RaceRelation relation) {
  switch (relation) {
    case RaceRelation::unfinished_copy:
      return FindingKind::unfinished_copy;
    case RaceRelation::relaxed_flag:
    case RaceRelation::unfenced_relay:
      return FindingKind::missing_acquire;
    default:
      return FindingKind::race;
  }
}

/// Threads that use an mbarrier without order behind its init: a mistake of its protocol.
void describe_init(Finding& f) {
  f.kind = FindingKind::missing_mbarrier_fence;
  f.facts = PhaseFacts{.fault = PhaseFault::not_ordered, .barrier = to_string(*f.memory)};
}

}  // namespace

void describe_races(const RaceLog& log, const Describer& describer, const RaceContext& context,
                    std::vector<Finding>& findings) {
  if (log.races().empty()) return;
  const emulator::LaunchInfo& launch = describer.launch();
  const bool announces = may_announce(launch.program);
  for (const auto& [key, example] : log.races()) {
    // Lanes that lose an update write the same bits too.
    const bool update = context.updates.one_update(key.earlier, key.later);
    const bool same_bits = key.same_bits && !update;
    const bool block_scope =
        key.relation == RaceRelation::two_blocks && is_strong(example.earlier) &&
        is_strong(example.later) &&
        (context.roles[key.earlier].block_scope || context.roles[key.later].block_scope);
    Finding f = describer.finding(kind_of(key.relation), key.earlier, action_of(key.earlier_verb),
                                  example.earlier_block, example.earlier.thread());
    f.second = describer.access(key.later, action_of(key.later_verb), example.later_block,
                                example.later.thread());
    // One pair of lines is one finding, whichever side came first: a write leads.
    const bool read_first = key.earlier_verb == AccessVerb::read;
    const bool both_write = !read_first && key.later_verb != AccessVerb::read;
    if (read_first || (both_write && f.second->place < f.first.place))
      std::swap(f.first, *f.second);
    f.memory = describer.memory(key.space, example.address, key.later);
    f.facts = RaceFacts{.relation = key.relation,
                        .update = update,
                        .both_strong = is_strong(example.earlier) && is_strong(example.later),
                        .same_bits = same_bits,
                        .block_scope = block_scope,
                        .several_warps = launch.warps_per_block > 1,
                        .fences = context.fences,
                        .announces = announces};
    f.count = example.count;
    if (ptx::name(launch.program.instruction(key.earlier).source->opcode) == "mbarrier.init") {
      describe_init(f);
    }
    if (f.kind == FindingKind::missing_acquire) f.severity = Severity::warning;
    // Volatile accesses of global memory may be meant to meet without order, as in a relaxation.
    if (f.kind == FindingKind::race && key.space == emulator::Space::global && !update &&
        !block_scope && is_volatile_pair(example.earlier, example.later)) {
      f.severity = Severity::warning;
    }
    if (same_bits) f.severity = Severity::note;
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
