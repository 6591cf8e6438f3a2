#include "observe/fault_findings.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>

#include "observe/race_checker.hpp"

namespace tilescope::observe {
namespace {

using emulator::FaultKind;

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

std::string bytes_text(std::uint64_t bytes) {
  return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
}

}  // namespace

template <class Key, class Example>
void FaultLog::add(std::map<Key, Example>& log, const Key& key, const Example& example) {
  const auto [found, fresh] = log.try_emplace(key, example);
  if (fresh) return;
  const std::uint64_t count = found->second.count + example.count;
  if (example.block < found->second.block) found->second = example;
  found->second.count = count;
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
  add(faults_, FaultKey{fault.kind, fault.instruction, fault.space}, example);
}

void FaultLog::deadlock(const emulator::Deadlock& deadlock, std::uint64_t block) {
  if (deadlock.stuck.empty()) return;
  const emulator::StuckLanes& first = deadlock.stuck.front();
  MeetingKey key{FindingKind::barrier_unreached, first.instruction, first.instruction};
  MeetingExample example{1, block, thread_of(first.warp, first.mask), 0, 0, first.reason};
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
  for (const emulator::BarrierArrival& other : completion.arrivals) {
    // A compiler may make several barriers of one line; those are the same barrier to the reader.
    if (other.instruction == first.instruction ||
        (places.index(other.instruction) == places.index(first.instruction) &&
         places.place(first.instruction).line != 0)) {
      continue;
    }
    add(meetings_, MeetingKey{FindingKind::barrier_mismatch, first.instruction, other.instruction},
        MeetingExample{1, block, thread_of(first.warp, first.mask),
                       thread_of(other.warp, other.mask), 0, emulator::StuckReason::barrier});
    return;
  }
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
        f.cure = "check the pointer and the index";
        break;
      }
      {
        const auto size = static_cast<std::int64_t>(e.object_bytes);
        const std::int64_t offset =
            e.distance < 0 ? e.distance : size + e.distance - std::int64_t{e.bytes};
        f.address = describer.element(e.object, offset, key.instruction);
        f.message = fmt::format("{} of {} misses '{}' ({}) by {}: {}", action, f.address, object,
                                bytes_text(e.object_bytes),
                                bytes_text(static_cast<std::uint64_t>(std::abs(e.distance))),
                                e.distance < 0 ? "before its start" : "past its end");
        f.cure =
            "guard the access with the bounds, or make the buffer as large as the launch needs";
      }
      break;
    case FaultKind::misaligned:
      f.message = fmt::format("{} of {} memory at {:#x}, which is no multiple of {}", action, space,
                              e.address, e.bytes);
      f.cure = "access wide types only at multiples of their size";
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
      f.message =
          fmt::format("the member mask {:#010x} names lanes {:#010x}, which do not come here",
                      e.address, e.lanes);
      f.cure = "name only the lanes that reach the instruction, or let all of them reach it";
      break;
    case FaultKind::not_a_member:
      f.message = fmt::format(
          "lanes {:#010x} run this, but the member mask {:#010x} does not "
          "name them",
          e.lanes, e.address);
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
  f.message = fmt::format("threads wait at {} that others of the block never reach{}",
                          at_barrier ? "a barrier" : "a warp instruction",
                          e.exited == 0 ? ""
                                        : fmt::format(" ({} thread{} had left the kernel)",
                                                      e.exited, e.exited == 1 ? "" : "s"));
  f.cure = at_barrier
               ? "move the barrier out of the condition, so that all threads of the block reach it"
               : "let every lane that the mask names reach the instruction";
  return f;
}

}  // namespace tilescope::observe
