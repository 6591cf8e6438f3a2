#include "observe/race_findings.hpp"

#include <fmt/format.h>

#include <utility>

namespace tilescope::observe {
namespace {

std::string message(const RaceKey& key, const std::string& address) {
  switch (key.relation) {
    case RaceRelation::same_instruction:
      return fmt::format(
          "several lanes of a warp write {} with one instruction; which value stays "
          "is undefined",
          address);
    case RaceRelation::same_warp:
      return fmt::format(
          "two lanes of a warp access {}, and nothing orders them: lanes need not "
          "run in step",
          address);
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

std::string cure(const RaceKey& key) {
  const bool both_write =
      key.earlier_verb != AccessVerb::read && key.later_verb != AccessVerb::read;
  const bool atomic =
      key.earlier_verb == AccessVerb::atomic || key.later_verb == AccessVerb::atomic;
  switch (key.relation) {
    case RaceRelation::same_instruction:
      return "let one lane write, give each lane its own element, or use an atomic";
    case RaceRelation::same_warp:
      return atomic ? "make both accesses atomic, or put __syncwarp() between them"
                    : "put __syncwarp() between the two accesses";
    case RaceRelation::same_block:
      if (atomic) return "make both accesses atomic, or put __syncthreads() between them";
      return key.space == emulator::Space::global
                 ? "put __syncthreads() between the two accesses, or give each thread its own "
                   "element"
                 : "put __syncthreads() between the two accesses";
    case RaceRelation::two_blocks:
      if (atomic) return "make both accesses atomic, or move one of them to a launch of its own";
      return both_write ? "give each block its own elements, or use an atomic"
                        : "move the read to a launch of its own, or write to another buffer";
    case RaceRelation::unfinished_copy:
      return "wait for the copy first (cp.async.wait_group, __pipeline_wait_prior), then put a "
             "barrier if other threads use it";
  }
  return "";
}

}  // namespace

void describe_races(const RaceLog& log, const Describer& describer,
                    std::vector<Finding>& findings) {
  for (const auto& [key, example] : log.races()) {
    Finding f;
    f.kind = key.relation == RaceRelation::unfinished_copy ? FindingKind::unfinished_copy
                                                           : FindingKind::race;
    f.first = describer.access(key.earlier, describer.action(key.earlier, key.earlier_verb),
                               example.earlier_block, example.earlier.thread());
    f.second = describer.access(key.later, describer.action(key.later, key.later_verb),
                                example.later_block, example.later.thread());
    // One pair of lines is one finding, whichever side came first: a write leads.
    const bool read_first = key.earlier_verb == AccessVerb::read;
    const bool both_write = !read_first && key.later_verb != AccessVerb::read;
    if (read_first || (both_write && f.second->place < f.first.place))
      std::swap(f.first, *f.second);
    f.address = describer.address(key.space, example.address, key.later);
    f.message = message(key, f.address);
    f.cure = cure(key);
    f.count = example.count;
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
