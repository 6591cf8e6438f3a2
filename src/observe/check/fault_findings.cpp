#include "observe/check/fault_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

using emulator::FaultKind;

/// What a cure for an access out of bounds depends on.
struct FaultPlace {
  emulator::Space space;
  std::string_view object;
  bool past = false;         ///< past the end, not before the start
  std::uint64_t needed = 0;  ///< bytes that the object would need for the farthest access
};

std::uint32_t thread_of(std::uint32_t warp, emulator::LaneMask lanes) {
  const auto lane = static_cast<std::uint32_t>(lanes == 0 ? 0 : std::countr_zero(lanes));
  return warp * emulator::kWarpSize + lane;
}

FindingKind kind_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds:
      return FindingKind::out_of_bounds;
    case FaultKind::misaligned:
      return FindingKind::misaligned;
    case FaultKind::null_pointer:
      return FindingKind::null_pointer;
    case FaultKind::freed:
      return FindingKind::freed_memory;
    case FaultKind::wrong_space:
      return FindingKind::wrong_space;
    case FaultKind::read_only:
      return FindingKind::read_only;
    case FaultKind::absent_lanes:
    case FaultKind::not_a_member:
      return FindingKind::warp_mask;
    case FaultKind::bad_barrier:
      return FindingKind::bad_barrier;
    case FaultKind::bad_call:
      return FindingKind::bad_call;
    case FaultKind::integer_fault:
      return FindingKind::bad_operand;
  }
  return FindingKind::bad_operand;
}

bool is_access(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds:
    case FaultKind::misaligned:
    case FaultKind::null_pointer:
    case FaultKind::freed:
    case FaultKind::wrong_space:
    case FaultKind::read_only:
      return true;
    default:
      return false;
  }
}

/// "lanes 0 to 15 and 31"
std::string lanes_text(emulator::LaneMask lanes) {
  std::vector<std::string> runs;
  for (int lane = 0; lane < emulator::kWarpSize;) {
    const emulator::LaneMask rest = lanes >> lane;
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

std::string bounds_cure(const FaultPlace& place, const Describer& describer) {
  switch (place.space) {
    case emulator::Space::shared:
      if (place.past && describer.is_dynamic_shared(place.object)) {
        return fmt::format(
            "keep the index in bounds, or launch with more dynamic shared memory (--shared, the "
            "third launch parameter): this needs {}",
            bytes_text(place.needed));
      }
      return place.past ? "keep the index in bounds, or declare the array larger"
                        : "keep the index from going below 0";
    case emulator::Space::local:
    case emulator::Space::constant:
      return place.past ? "keep the index in bounds, or declare the array larger"
                        : "keep the index from going below 0";
    default:
      return place.past ? "guard the access, such as with if (i < n), or pass a larger buffer"
                        : "guard the access, such as with if (i > 0)";
  }
}

}  // namespace

template <class Key, class Example>
void FaultLog::add(std::map<Key, Example>& log, const Key& key, const Example& example) {
  const auto [found, fresh] = log.try_emplace(key, example);
  if (fresh) return;
  Example& known = found->second;
  const std::uint64_t count = known.count + example.count;
  if constexpr (std::is_same_v<Example, FaultExample>) {
    const std::int64_t farthest = std::max(known.farthest, example.farthest);
    if (example.block < known.block) known = example;
    known.farthest = farthest;
  } else if (example.block < known.block) {
    known = example;
  }
  known.count = count;
}

void FaultLog::fault(const emulator::Fault& fault, std::uint64_t block) {
  FaultExample example;
  example.count = static_cast<std::uint64_t>(std::popcount(fault.lanes));
  example.block = block;
  example.thread = thread_of(fault.warp, fault.lanes);
  example.lanes = fault.lanes;
  example.access = fault.access;
  example.bytes = fault.bytes;
  example.address = fault.address;
  example.object = fault.object;
  example.object_bytes = fault.object_bytes;
  example.distance = fault.distance;
  example.farthest = fault.distance;
  if (fault.kind == FaultKind::out_of_bounds && fault.addresses != nullptr) {
    for (emulator::LaneMask m = fault.lanes; m != 0; m &= m - 1) {
      const auto further =
          static_cast<std::int64_t>(fault.addresses[std::countr_zero(m)] - fault.address);
      example.farthest = std::max(example.farthest, fault.distance + further);
    }
  }
  add(faults_, FaultKey{fault.kind, fault.instruction, fault.space}, example);
}

void FaultLog::deadlock(const emulator::Deadlock& deadlock, std::uint64_t block) {
  if (deadlock.stuck.empty()) return;
  const emulator::StuckLanes& first = deadlock.stuck.front();
  MeetingKey key{FindingKind::barrier_unreached, first.instruction, first.instruction};
  MeetingExample example{1, block, thread_of(first.warp, first.mask), 0, 0};
  example.reason = first.reason;
  example.barrier = first.barrier;
  for (const emulator::LaneMask exited : deadlock.exited) {
    example.exited += static_cast<std::uint32_t>(std::popcount(exited));
  }
  for (const emulator::StuckLanes& other : deadlock.stuck) {
    if (other.instruction == first.instruction) continue;
    key.second = other.instruction;
    example.second_thread = thread_of(other.warp, other.mask);
    break;
  }
  add(meetings_, key, example);
}

void FaultLog::barrier(const emulator::BarrierCompletion& completion, std::uint64_t block,
                       const PlaceTable& places) {
  const emulator::BarrierArrival& first = completion.arrivals.front();
  for (const emulator::BarrierArrival& other : completion.arrivals) {
    if (other.expected_threads != 0 || other.operation == emulator::BarrierOperation::arrive) {
      return;
    }
  }
  std::uint32_t exited = 0;
  for (const emulator::LaneMask lanes : completion.exited) {
    exited += static_cast<std::uint32_t>(std::popcount(lanes));
  }
  // Later barriers miss the same threads: one report is enough.
  if (block != exited_block_) exited_seen_ = 0;
  exited_block_ = block;
  if (exited > exited_seen_) {
    exited_seen_ = exited;
    MeetingExample example{1, block, thread_of(first.warp, first.mask), 0, exited};
    example.went_on = true;
    for (std::uint32_t w = 0; w < completion.exited.size(); ++w) {
      if (completion.exited[w] == 0) continue;
      example.second_thread = thread_of(w, completion.exited[w]);
      break;
    }
    add(meetings_, MeetingKey{FindingKind::barrier_unreached, first.instruction, first.instruction},
        example);
  }
  for (const emulator::BarrierArrival& other : completion.arrivals) {
    // A compiler may make several barriers of one line; those are the same barrier to the reader.
    if (other.instruction == first.instruction ||
        (places.index(other.instruction) == places.index(first.instruction) &&
         places.place(first.instruction).line != 0)) {
      continue;
    }
    add(meetings_, MeetingKey{FindingKind::barrier_mismatch, first.instruction, other.instruction},
        MeetingExample{1, block, thread_of(first.warp, first.mask),
                       thread_of(other.warp, other.mask), 0});
    return;
  }
}

void FaultLog::warp_sync(const emulator::WarpSync& sync, emulator::LaneMask exited,
                         std::uint64_t block) {
  const emulator::LaneMask absent = sync.members & exited;
  // Only what a shuffle reads can be missed: the other operations do without lanes that have left.
  if (sync.operation != emulator::WarpOperation::shuffle || absent == 0) return;
  FaultExample example;
  example.count = static_cast<std::uint64_t>(std::popcount(absent));
  example.block = block;
  example.thread = thread_of(sync.warp, sync.arrived);
  example.lanes = absent;
  example.address = sync.members;
  example.exited = true;
  add(faults_, FaultKey{FaultKind::absent_lanes, sync.instruction, emulator::Space::shared},
      example);
}

void FaultLog::merge(const FaultLog& other) {
  for (const auto& [key, example] : other.faults_) add(faults_, key, example);
  for (const auto& [key, example] : other.meetings_) add(meetings_, key, example);
}

void FaultLog::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [key, example] : faults_) {
    findings.push_back(describe_fault(key, example, describer));
  }
  for (const auto& [key, example] : meetings_) {
    findings.push_back(describe_meeting(key, example, describer));
  }
}

Finding FaultLog::describe_fault(const FaultKey& key, const FaultExample& e,
                                 const Describer& describer) {
  Finding f;
  f.kind = kind_of(key.kind);
  f.count = e.count;
  const std::string verb = verb_of(e.access) == AccessVerb::read    ? "read"
                           : verb_of(e.access) == AccessVerb::write ? "write"
                                                                    : "atomic operation";
  const std::string action =
      is_access(key.kind) ? fmt::format("{} of {}", verb, bytes_text(e.bytes)) : std::string();
  f.first = describer.access(key.instruction, action, e.block, e.thread);
  const std::string object = variable_name(e.object);
  const std::string_view space = emulator::to_string(key.space);
  switch (key.kind) {
    case FaultKind::out_of_bounds:
      if (e.object.empty()) {
        f.message =
            fmt::format("{} of {} memory at {:#x}, where nothing is", action, space, e.address);
        f.cure =
            "check the pointer and the arithmetic of the index (unsigned values below 0 wrap "
            "around)";
        break;
      }
      {
        const auto size = static_cast<std::int64_t>(e.object_bytes);
        const bool past = e.distance > 0;
        const std::int64_t offset = past ? size + e.distance - std::int64_t{e.bytes} : e.distance;
        f.address = describer.element(e.object, offset, key.instruction);
        std::string miss = bytes_text(static_cast<std::uint64_t>(std::abs(e.distance)));
        if (past && e.farthest > e.distance) {
          miss += fmt::format(" (others by up to {})",
                              bytes_text(static_cast<std::uint64_t>(e.farthest)));
        }
        f.message = fmt::format("{} misses {}, which has {}: {} {}", f.address, object,
                                describer.extent(e.object_bytes, key.instruction), miss,
                                past ? "past its end" : "before its start");
        f.cure = bounds_cure(
            {key.space, e.object, past,
             e.object_bytes + static_cast<std::uint64_t>(std::max(e.farthest, std::int64_t{0}))},
            describer);
      }
      break;
    case FaultKind::misaligned:
      f.address = key.space == emulator::Space::local
                      ? fmt::format("byte {} of local memory", e.address)
                      : describer.address(key.space, e.address, key.instruction);
      f.message =
          fmt::format("{} is {} beyond a multiple of {}, and this {} needs a multiple", f.address,
                      bytes_text(e.address % e.bytes), bytes_text(e.bytes), action);
      f.cure =
          "access float4, double and other wide types only at multiples of their size: pad the "
          "rows, or load the elements one by one";
      break;
    case FaultKind::null_pointer:
      f.message = fmt::format("{} through a null pointer (address {:#x})", action, e.address);
      f.cure = "pass a buffer for every pointer argument";
      break;
    case FaultKind::freed:
      f.message = fmt::format("{} in '{}', which was freed", action, object);
      f.cure = "free the buffer after the last kernel that uses it";
      break;
    case FaultKind::wrong_space:
      f.message = fmt::format("{} of {} memory with an address of another space ({:#x})", action,
                              space, e.address);
      f.cure = "use a generic pointer, or one of the right space";
      break;
    case FaultKind::read_only:
      f.message = fmt::format("{} to {} memory, which cannot be written", action, space);
      f.cure = "write to global or shared memory instead";
      break;
    case FaultKind::absent_lanes:
      if (e.exited) {
        f.severity = Severity::warning;
        f.message = fmt::format(
            "the member mask {:#010x} names {}, which have left the kernel: what is read from them "
            "is undefined",
            e.address, lanes_text(e.lanes));
        f.cure =
            "name only the lanes that are still there (__ballot_sync before the others leave gives "
            "their mask), or let all of them stay";
        break;
      }
      f.message = fmt::format("the member mask {:#010x} names {}, which do not come here",
                              e.address, lanes_text(e.lanes));
      f.cure =
          "name only the lanes that reach the instruction (__ballot_sync before the branch gives "
          "their mask), or let all of them reach it";
      break;
    case FaultKind::not_a_member:
      f.message = fmt::format("{} run this, but the member mask {:#010x} does not name them",
                              lanes_text(e.lanes), e.address);
      f.cure = "name every lane that reaches the instruction";
      break;
    case FaultKind::bad_barrier:
      f.message = fmt::format("barrier operand {}: numbers go to 15, counts are multiples of 32",
                              e.address);
      f.cure = "use a barrier from 0 to 15 and a thread count that is a multiple of 32";
      break;
    case FaultKind::bad_call:
      f.message = fmt::format("call of {:#x}, which is no function", e.address);
      f.cure = "take function addresses in device code of the same module";
      break;
    case FaultKind::integer_fault:
      f.message =
          fmt::format("operand {} is out of the range that the instruction defines", e.address);
      f.cure = "keep the operand in range";
      break;
  }
  return f;
}

Finding FaultLog::describe_meeting(const MeetingKey& key, const MeetingExample& e,
                                   const Describer& describer) {
  Finding f;
  f.kind = key.kind;
  f.count = e.count;
  f.first = describer.access(key.first, "waits", e.block, e.first_thread);
  if (key.second != key.first) {
    f.second = describer.access(key.second, "waits", e.block, e.second_thread);
  }
  if (key.kind == FindingKind::barrier_mismatch) {
    f.message = "threads of one block met at different barriers";
    f.cure = "put one __syncthreads() where all threads of the block pass";
    return f;
  }
  const bool at_barrier = e.reason == emulator::StuckReason::barrier;
  if (e.went_on) {
    f.severity = Severity::warning;
    f.second = describer.access(key.first, "had left the kernel", e.block, e.second_thread);
    f.message = fmt::format(
        "{} thread{} of the block left the kernel without coming to this barrier. GPUs since Volta "
        "go on without them; CUDA asks for all threads of the block",
        e.exited, e.exited == 1 ? "" : "s");
    f.cure =
        "let all threads of the block pass the barrier: put the condition around the work, not "
        "around the barrier or a return before it";
    return f;
  }
  f.message = fmt::format("threads wait at {} that others of the block never reach{}",
                          at_barrier ? "a barrier" : "a warp instruction",
                          e.exited == 0 ? ""
                                        : fmt::format(" ({} thread{} had left the kernel)",
                                                      e.exited, e.exited == 1 ? "" : "s"));
  if (at_barrier && e.barrier != 0) {
    f.cure = fmt::format(
        "let as many threads come to barrier {} as its count says, arrivals and waits in turn",
        e.barrier);
    return f;
  }
  f.cure = at_barrier
               ? "move the barrier out of the condition, so that all threads of the block reach it"
               : "let every lane that the mask names reach the instruction";
  return f;
}

}  // namespace tilescope::observe
