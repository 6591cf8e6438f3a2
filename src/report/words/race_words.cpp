// Races: the unordered accesses, and what would order them.
#include <fmt/format.h>

#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// The facts that the words depend on.
struct Pair {
  RaceFacts facts;
  bool one_line, any_atomic, both_write, child_writes;
  MemorySpace space;
};

Pair pair_of(const Finding& finding) {
  const FindingAccess &a = finding.first, &b = finding.second.value_or(finding.first);
  const bool one_line = a.place == b.place && (a.place.line != 0 || a.ptx_line == b.ptx_line);
  return {facts_of<RaceFacts>(finding),
          one_line,
          a.action == ThreadAction::atomic || b.action == ThreadAction::atomic,
          a.action != ThreadAction::read && b.action != ThreadAction::read,
          b.action != ThreadAction::read,
          finding.memory ? finding.memory->space : MemorySpace::global};
}

std::string race_message(const Pair& pair, const std::string& what) {
  const RaceFacts& facts = pair.facts;
  if (facts.same_bits && !pair.both_write) {
    return fmt::format(
        "one block reads {} while another may write it, and nothing orders them; in this run it "
        "wrote back the bits that it had read",
        what);
  }
  if (facts.same_bits) {
    const std::string_view who = facts.relation == RaceRelation::two_blocks   ? "two blocks"
                                 : facts.relation == RaceRelation::same_block ? "two warps"
                                                                              : "lanes of a warp";
    return fmt::format("{} write {}, and nothing orders them; in this run they wrote the same bits",
                       who, what);
  }
  switch (facts.relation) {
    case RaceRelation::same_instruction:
      return fmt::format(
          "several lanes of a warp write {} with one instruction; which value stays is undefined",
          what);
    case RaceRelation::same_warp:
      return fmt::format(
          "two lanes of a warp access {}, and nothing orders them: lanes need not run in step{}",
          what, facts.both_strong ? ", and volatile does not make them" : "");
    case RaceRelation::same_block:
      return fmt::format("threads of two warps access {}, and no barrier orders them{}", what,
                         facts.both_strong ? "; volatile does not" : "");
    case RaceRelation::two_blocks:
      if (facts.block_scope) {
        return fmt::format(
            "two blocks access {}, and an operation of block scope counts only in its own block",
            what);
      }
      return fmt::format("two blocks access {}, and nothing orders blocks{}", what,
                         facts.both_strong ? "; volatile does not" : "");
    case RaceRelation::unfinished_copy:
      return fmt::format("{} is accessed while an asynchronous copy to it may be under way", what);
    case RaceRelation::copy_source:
      return fmt::format("{} is written while an asynchronous copy from it may be under way", what);
    case RaceRelation::relaxed_flag:
      return fmt::format(
          "a relaxed read of a flag told this thread of {}, but orders nothing behind it: an old "
          "value may be read",
          what);
    case RaceRelation::unfenced_relay:
      return fmt::format(
          "the flag that told this block of {} was set by a block that had itself only read a "
          "flag, and passed the news on without a fence",
          what);
    case RaceRelation::child_grid:
      return fmt::format(
          "a kernel and a grid of {} that it launched both access {}, and nothing orders the two: "
          "they run at the same time",
          facts.child, what);
  }
  return "";
}

std::string cure_between_blocks(const Pair& pair) {
  const RaceFacts& facts = pair.facts;
  if (facts.block_scope) {
    return "use the scope of the device: atomicAdd instead of atomicAdd_block, or "
           "cuda::thread_scope_device";
  }
  if (facts.update) {
    return facts.announces && !facts.fences
               ? "use an atomic (atomicAdd and its kin); or, if a lock guards the update, put "
                 "__threadfence() before the lock is released"
               : "use an atomic (atomicAdd and its kin), or give each block its own element and "
                 "add those up afterwards";
  }
  if (pair.any_atomic) {
    return "make both accesses atomic, or move one of them to a launch of its own";
  }
  if (pair.both_write) {
    return "give each block its own elements (is blockIdx in the index?), or use an atomic";
  }
  if (facts.fences) {
    return "read it only after an atomic (or a volatile flag) has announced it, and publish it in "
           "this order: write, __threadfence(), atomic";
  }
  if (facts.announces) {
    return "if an atomic or a flag announces the data to the other block, put "
           "__threadfence() between the write and that atomic; else move the read to a launch of "
           "its own";
  }
  return "move the read to a launch of its own, or write to another buffer than is read";
}

std::string cure_within_block(const Pair& pair) {
  const RaceFacts& facts = pair.facts;
  if (facts.update) {
    return fmt::format(
        "use an atomic (atomicAdd and its kin), or give each thread its own element{}",
        pair.space == MemorySpace::shared ? "" : " and add those up afterwards");
  }
  const bool one_warp = facts.relation != RaceRelation::same_block;
  const std::string_view barrier =
      !one_warp ? "__syncthreads()"
      : facts.several_warps
          ? "__syncthreads(), or __syncwarp() where one warp alone shares the element,"
          : "__syncwarp()";
  if (pair.any_atomic) {
    return fmt::format("put {} between the two accesses, or make both atomic", barrier);
  }
  if (!pair.one_line) return fmt::format("put {} between the two accesses", barrier);
  return fmt::format(
      "let all threads read before any writes: read into a variable, {}, write; and in a loop the "
      "same once more before the next round",
      one_warp && !facts.several_warps ? "__syncwarp()" : "__syncthreads()");
}

std::string race_cure(const Pair& pair) {
  if (pair.facts.same_bits) {
    return pair.both_write ? "let one thread write" : "leave out the write that changes nothing";
  }
  switch (pair.facts.relation) {
    case RaceRelation::same_instruction:
      if (pair.facts.update) return cure_within_block(pair);
      return "let one lane write, give each lane its own element, or use an atomic";
    case RaceRelation::same_warp:
    case RaceRelation::same_block:
      return cure_within_block(pair);
    case RaceRelation::two_blocks:
      return cure_between_blocks(pair);
    case RaceRelation::unfinished_copy:
      return "wait for the copy first (__pipeline_wait_prior(0), cp.async.wait_all), then put "
             "__syncthreads() if other threads use it";
    case RaceRelation::copy_source:
      return "wait for the copy first (__pipeline_wait_prior(0), cp.async.wait_all), and put "
             "__syncthreads() between the wait and the write if another thread started the copy";
    case RaceRelation::relaxed_flag:
      return "read the flag with acquire (cuda::memory_order_acquire, ld.acquire), or put "
             "__threadfence() behind the read";
    case RaceRelation::unfenced_relay:
      return "put __threadfence() between reading the one flag and setting the other";
    case RaceRelation::child_grid:
      return pair.child_writes
                 ? "move the kernel's access to a kernel that it launches into "
                   "cudaStreamTailLaunch: that one begins when all its children have ended"
                 : "write before the launch, in the block that launches, with __syncthreads() in "
                   "between if other threads write; blocks cannot wait for each other";
  }
  return "";
}

}  // namespace

Wording race_words(const Finding& finding) {
  if (std::holds_alternative<AsyncFacts>(finding.facts)) return async_words(finding);
  const Pair pair = pair_of(finding);
  const std::string what = to_string(finding.memory.value_or(MemoryPlace{}));
  return {race_message(pair, what), race_cure(pair)};
}

}  // namespace tilescope::report
