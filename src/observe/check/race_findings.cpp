#include "observe/check/race_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "observe/check/update_pairs.hpp"

namespace tilescope::observe {
namespace {

using emulator::Space;

std::string message(const RaceKey& key, const RaceExample& example, const std::string& address) {
  switch (key.relation) {
    case RaceRelation::same_instruction:
      return fmt::format(
          "several lanes of a warp write {} with one instruction; which value stays is undefined",
          address);
    case RaceRelation::same_warp:
      return fmt::format(
          "two lanes of a warp access {}, and nothing orders them: lanes need not run in step{}",
          address,
          example.earlier.strength() == Strength::strong &&
                  example.later.strength() == Strength::strong
              ? ", and volatile does not make them"
              : "");
    case RaceRelation::same_block:
      return fmt::format("threads of two warps access {}, and no barrier orders them", address);
    case RaceRelation::two_blocks:
      return fmt::format("two blocks access {}, and nothing orders blocks", address);
    case RaceRelation::unfinished_copy:
      return fmt::format("{} is accessed while an asynchronous copy to it may be under way",
                         address);
  }
  return "";
}

/// The wider the distance of the two threads, the more a cure must do.
std::uint8_t weight(RaceRelation relation) {
  switch (relation) {
    case RaceRelation::same_instruction:
    case RaceRelation::same_warp:
      return 0;
    case RaceRelation::same_block:
      return 1;
    case RaceRelation::two_blocks:
    case RaceRelation::unfinished_copy:
      return 2;
  }
  return 0;
}

/// What the words of a cure depend on, besides the pair itself.
struct Circumstances {
  bool update = false;        ///< both accesses are parts of one `element += ...`
  bool same_line = false;     ///< of the source
  bool several_warps = true;  ///< in a block
  bool fences = false;        ///< the program has fences of GPU scope
  bool announces = false;     ///< it has atomics or flags that could tell of data
};

std::string between_blocks(const RaceKey& key, const Circumstances& c) {
  if (c.update) {
    return c.announces && !c.fences
               ? "use an atomic (atomicAdd and its kin); or, if a lock guards the update, put "
                 "__threadfence() before the lock is given back"
               : "use an atomic (atomicAdd and its kin), or give each block its own element and "
                 "add those up afterwards";
  }
  if (key.earlier_verb == AccessVerb::atomic || key.later_verb == AccessVerb::atomic) {
    return "make both accesses atomic, or move one of them to a launch of its own";
  }
  if (key.earlier_verb != AccessVerb::read && key.later_verb != AccessVerb::read) {
    return "give each block its own elements (is blockIdx in the index?), or use an atomic";
  }
  if (c.announces || c.fences) {
    return c.fences ? "read it only after an atomic (or a volatile flag) has told that it is "
                      "there, and publish it in this order: write, __threadfence(), atomic"
                    : "if an atomic or a flag tells the other block that the data is there, put "
                      "__threadfence() between the write and that atomic; else move the read to "
                      "a launch of its own";
  }
  return "move the read to a launch of its own, or write to another buffer than is read";
}

std::string within_block(const RaceKey& key, const Circumstances& c) {
  const bool one_warp = key.relation != RaceRelation::same_block;
  if (c.update) {
    return key.space == Space::shared
               ? "use an atomic (atomicAdd and its kin), or give each thread its own element"
               : "use an atomic (atomicAdd and its kin), or give each thread its own element and "
                 "add those up afterwards";
  }
  const std::string_view barrier =
      !one_warp ? "__syncthreads()"
      : c.several_warps
          ? "__syncthreads(), or __syncwarp() where one warp alone shares the element,"
          : "__syncwarp()";
  if (key.earlier_verb == AccessVerb::atomic || key.later_verb == AccessVerb::atomic) {
    return fmt::format("put {} between the two accesses, or make both atomic", barrier);
  }
  if (!c.same_line) return fmt::format("put {} between the two accesses", barrier);
  return fmt::format(
      "let all threads read before any writes: read into a variable, {}, write; and in a loop the "
      "same once more before the next round",
      one_warp && !c.several_warps ? "__syncwarp()" : "__syncthreads()");
}

std::string cure(const RaceKey& key, const Circumstances& c) {
  switch (key.relation) {
    case RaceRelation::same_instruction:
      return c.update ? within_block(key, c)
                      : "let one lane write, give each lane its own element, or use an atomic";
    case RaceRelation::same_warp:
    case RaceRelation::same_block:
      return within_block(key, c);
    case RaceRelation::two_blocks:
      return between_blocks(key, c);
    case RaceRelation::unfinished_copy:
      return "wait for the copy first (__pipeline_wait_prior(0), cp.async.wait_all), then put "
             "__syncthreads() if other threads use it";
  }
  return "";
}

/// Does the program have accesses to global memory by which a block could tell others something?
bool may_announce(const emulator::Program& program) {
  return std::any_of(program.instructions().begin(), program.instructions().end(),
                     [](const emulator::InstructionInfo& info) {
                       if (info.source == nullptr) return false;
                       const ptx::Instruction& i = *info.source;
                       if (i.modifiers.space == ptx::Space::shared) return false;
                       if (i.opcode == ptx::Opcode::atom) return true;
                       return i.opcode == ptx::Opcode::ld &&
                              i.modifiers.ordering != ptx::Ordering::none &&
                              i.modifiers.ordering != ptx::Ordering::weak;
                     });
}

}  // namespace

void describe_races(const RaceLog& log, const Describer& describer, bool fences,
                    std::vector<Finding>& findings) {
  if (log.races().empty()) return;
  const emulator::LaunchInfo& launch = describer.launch();
  const UpdatePairs updates(launch.program);
  const bool announces = may_announce(launch.program);
  for (const auto& [key, example] : log.races()) {
    Finding f;
    f.kind = key.relation == RaceRelation::unfinished_copy ? FindingKind::unfinished_copy
                                                           : FindingKind::race;
    f.weight = weight(key.relation);
    f.first = describer.access(key.earlier, describer.action(key.earlier, key.earlier_verb),
                               example.earlier_block, example.earlier.thread());
    f.second = describer.access(key.later, describer.action(key.later, key.later_verb),
                                example.later_block, example.later.thread());
    const bool same_line = f.first.place == f.second->place;
    // One pair of lines is one finding, whichever side came first: a write leads.
    const bool read_first = key.earlier_verb == AccessVerb::read;
    const bool both_write = !read_first && key.later_verb != AccessVerb::read;
    if (read_first || (both_write && f.second->place < f.first.place))
      std::swap(f.first, *f.second);
    f.address = describer.address(key.space, example.address, key.later);
    f.message = message(key, example, f.address);
    f.cure = cure(key, {.update = updates.one_update(key.earlier, key.later),
                        .same_line = same_line,
                        .several_warps = launch.warps_per_block > 1,
                        .fences = fences,
                        .announces = announces});
    f.count = example.count;
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
