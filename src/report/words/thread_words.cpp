// Findings about threads that wait, member masks and traps.
#include <fmt/format.h>

#include <bit>
#include <vector>

#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// "lanes 0 to 15 and 31"
std::string lanes_text(std::uint32_t lanes) {
  std::vector<std::string> runs;
  for (int lane = 0; lane < 32;) {
    const std::uint32_t rest = lanes >> lane;
    if ((rest & 1) == 0) {
      ++lane;
      continue;
    }
    const int length = std::countr_one(rest);
    runs.push_back(length == 1 ? fmt::format("{}", lane)
                               : fmt::format("{} to {}", lane, lane + length - 1));
    lane += length;
  }
  std::string text = std::has_single_bit(lanes) ? "lane " : "lanes ";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i];
  }
  return text;
}

}  // namespace

Wording barrier_unreached_words(const Finding& finding) {
  const auto wait = facts_of<WaitFacts>(finding);
  if (wait.went_on) {
    return {counted(wait.exited, "thread") +
                " of the block left the kernel without reaching this barrier. GPUs since Volta "
                "continue without them; CUDA requires all threads of the block",
            "let all threads of the block pass the barrier: put the condition around the work, not "
            "around the barrier or a return before it"};
  }
  if (wait.of_cluster) {
    return {"threads wait at the barrier of the cluster, where others never arrive",
            "let every thread of all blocks of the cluster arrive (cluster.sync(), "
            "cluster.barrier_arrive()), or leave the kernel"};
  }
  return {fmt::format("threads wait at {} that others of the block never reach{}",
                      wait.at_barrier ? "a barrier" : "a warp instruction",
                      wait.exited == 0 ? ""
                                       : fmt::format(" ({} had left the kernel)",
                                                     counted(wait.exited, "thread"))),
          !wait.at_barrier ? "let every lane that the mask names reach the instruction"
          : wait.barrier != 0
              ? fmt::format("let as many threads reach barrier {} as its count says, arrivals "
                            "and waits in turn",
                            wait.barrier)
              : "move the barrier out of the condition, so that all threads of the block reach it"};
}

Wording endless_wait_words(const Finding& finding) {
  if (std::holds_alternative<PhaseFacts>(finding.facts)) return phase_words(finding);
  const auto wait = facts_of<WaitFacts>(finding);
  if (wait.at_barrier) {
    return {"threads wait at a barrier of the grid that other blocks never reach",
            "let all blocks of the grid pass the barrier equally often"};
  }
  return {fmt::format("threads wait in a loop for {} to change, but no thread that could change it "
                      "is left",
                      finding.memory ? to_string(*finding.memory) : "memory"),
          "let another thread write it: before these threads begin to wait, or from a block that "
          "runs at the same time"};
}

Wording warp_mask_words(const Finding& finding) {
  const auto mask = facts_of<MaskFacts>(finding);
  const std::string lanes = lanes_text(mask.lanes);
  const bool is_one = std::has_single_bit(mask.lanes);
  switch (mask.fault) {
    case MaskFault::absent:
      return {fmt::format("the member mask {:#010x} names {}, which {} not arrive here",
                          mask.members, lanes, is_one ? "does" : "do"),
              "name only the lanes that reach the instruction (__ballot_sync before the branch "
              "gives their mask), or let all of them reach it"};
    case MaskFault::exited:
      return {fmt::format("the member mask {:#010x} names {}, which {} left the kernel: values "
                          "read from {} are undefined",
                          mask.members, lanes, is_one ? "has" : "have", is_one ? "it" : "them"),
              "name only the lanes that have not left (__ballot_sync before the others leave "
              "gives their mask), or let all of them stay"};
    case MaskFault::not_a_member:
      return {fmt::format("{} {} this, but the member mask {:#010x} does not name {}", lanes,
                          is_one ? "runs" : "run", mask.members, is_one ? "it" : "them"),
              "name every lane that reaches the instruction"};
  }
  return {};
}

Wording trap_words(const Finding& finding) {
  const auto trap = facts_of<TrapFacts>(finding);
  switch (trap.reason) {
    case TrapReason::trap:
      return {"the kernel ended the whole launch here, by a trap",
              trap.needs_cooperative
                  ? "launch it with --cooperative (in a program, with "
                    "cudaLaunchCooperativeKernel): a whole grid synchronises only then"
                  : "find out what led this thread here"};
    case TrapReason::assertion:
      return {trap.what,
              "make the asserted condition hold for this thread, or correct the assertion"};
    case TrapReason::call_depth:
      return {trap.what, "recurse less deeply, or turn the recursion into a loop"};
    case TrapReason::bad_free:
      return {trap.what, "find out what led this thread here"};
  }
  return {};
}

}  // namespace tilescope::report
