#include "observe/check/fault_findings.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/one_of.hpp"
#include "base/symbol_names.hpp"
#include "emulator/address_space.hpp"
#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

using emulator::FaultKind;

std::uint32_t thread_of(std::uint32_t warp, emulator::LaneMask lanes) {
  const auto lane = static_cast<std::uint32_t>(lanes == 0 ? 0 : std::countr_zero(lanes));
  return warp * emulator::kWarpSize + lane;
}

bool is_of_cluster(FaultKind kind) {
  return is_one_of(kind, {FaultKind::no_such_block, FaultKind::exited_block, FaultKind::late_access,
                          FaultKind::other_block});
}

ClusterFault cluster_fault(FaultKind kind) {
  return kind == FaultKind::no_such_block ? ClusterFault::no_such_block
         : kind == FaultKind::other_block ? ClusterFault::other_block
                                          : ClusterFault::exited_block;
}

bool is_access(FaultKind kind) {
  return is_one_of(kind, {FaultKind::out_of_bounds, FaultKind::misaligned, FaultKind::null_pointer,
                          FaultKind::freed, FaultKind::host_memory, FaultKind::wrong_space,
                          FaultKind::read_only}) ||
         is_of_cluster(kind);
}

/// An operation for the block's own mbarriers on one of another block has a kind of its own.
FindingKind kind_of(FaultKind kind, const Describer& describer, emulator::InstructionId id) {
  const auto opcode = describer.launch().program.instruction(id).source->opcode;
  return kind == FaultKind::other_block && ptx::name(opcode).starts_with("mbarrier")
             ? FindingKind::local_arrive_remote
             : finding_kind(kind);
}

}  // namespace

FindingKind finding_kind(FaultKind kind) {
  // By the value of FaultKind.
  using enum FindingKind;
  constexpr FindingKind kinds[] = {
      out_of_bounds,      misaligned,   null_pointer, freed_memory,   host_pointer,    wrong_space,
      read_only,          warp_mask,    warp_mask,    bad_barrier,    bad_call,        bad_operand,
      cluster_memory,     cluster_exit, cluster_exit, cluster_memory, cluster_arrival, bad_copy,
      warpgroup_mismatch, bad_texture,  bad_texture,  bad_texture,    outside_surface};
  return kinds[static_cast<std::size_t>(kind)];
}

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
  example.operand = fault.operand;
  example.distance = fault.distance;
  example.farthest = fault.distance;
  example.surface = fault.surface;
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
  const auto spinning =
      std::find_if(deadlock.stuck.begin(), deadlock.stuck.end(),
                   [](const auto& lanes) { return lanes.reason == emulator::StuckReason::spin; });
  const bool spins = spinning != deadlock.stuck.end();
  const emulator::StuckLanes& first = spins ? *spinning : deadlock.stuck.front();
  MeetingKey key{spins ? FindingKind::endless_wait : FindingKind::barrier_unreached,
                 first.instruction, first.instruction};
  MeetingExample example{1, block, thread_of(first.warp, first.mask), 0, 0};
  example.reason = first.reason;
  example.barrier = first.barrier;
  example.space = first.space;
  example.address = first.address;
  example.bytes = first.bytes;
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
  // Barriers with other numbers than that of __syncthreads() are meant to join different places.
  if (completion.barrier != 0) return;
  for (const emulator::BarrierArrival& other : completion.arrivals) {
    // A compiler may make several barriers of one line; to the reader they are the same barrier.
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
  // Only a shuffle needs the lanes that have left: it reads their values. Other operations do
  // without them.
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
  const bool access = is_access(key.kind);
  Finding f = describer.finding(kind_of(key.kind, describer, key.instruction), key.instruction,
                                access ? action_of(verb_of(e.access)) : ThreadAction::none, e.block,
                                e.thread);
  f.count = e.count;
  if (access) {
    f.first.bytes = e.bytes;
    f.memory = describer.bare_memory(key.space, e.address, key.instruction);
  }
  switch (key.kind) {
    case FaultKind::out_of_bounds:
      if (e.object.empty()) break;
      f.memory->object = variable_name(e.object);
      f.memory->object_bytes = e.object_bytes;
      f.memory->offset = e.distance > 0
                             ? static_cast<std::int64_t>(e.object_bytes) + e.distance - e.bytes
                             : e.distance;
      f.facts = BoundsMiss{
          e.distance, std::max(e.farthest, e.distance),
          key.space == emulator::Space::shared && describer.is_dynamic_shared(e.object), e.operand};
      break;
    case FaultKind::misaligned:
      if (key.space != emulator::Space::local) {
        f.memory = describer.memory(key.space, e.address, key.instruction);
      }
      break;
    case FaultKind::freed:
      f.memory->object = e.object;
      f.memory->object_bytes = e.object_bytes;
      f.memory->offset = e.distance;
      break;
    case FaultKind::absent_lanes:
    case FaultKind::not_a_member: {
      const MaskFault fault = key.kind == FaultKind::not_a_member ? MaskFault::not_a_member
                              : e.exited                          ? MaskFault::exited
                                                                  : MaskFault::absent;
      if (e.exited) f.severity = Severity::warning;
      f.facts = MaskFacts{fault, static_cast<std::uint32_t>(e.address), e.lanes};
      break;
    }
    case FaultKind::bad_barrier:
    case FaultKind::bad_call:
    case FaultKind::integer_fault:
      f.facts = OperandFacts{e.address};
      break;
    case FaultKind::bad_copy:
      f.facts = CopyFacts{e.object};
      break;
    case FaultKind::bad_texture:
    case FaultKind::destroyed_texture:
    case FaultKind::texture_shape:
      f.facts = TextureFacts{e.address, e.access != emulator::AccessKind::texture_load,
                             key.kind == FaultKind::destroyed_texture,
                             key.kind == FaultKind::texture_shape};
      break;
    case FaultKind::outside_surface:
      f.first.action = action_of(verb_of(e.access));
      f.facts = SurfaceMiss{e.surface.at, e.surface.extent, e.surface.dimensions};
      break;
    case FaultKind::no_such_block:
    case FaultKind::exited_block:
    case FaultKind::late_access:
    case FaultKind::other_block: {
      const emulator::SharedPlace place = emulator::shared_place(e.address, 0);
      f.memory = describer.memory(emulator::Space::shared, place.offset, key.instruction);
      f.facts = ClusterFacts{cluster_fault(key.kind), place.rank};
      break;
    }
    case FaultKind::unpaired_arrival:
    case FaultKind::null_pointer:
    case FaultKind::host_memory:
    case FaultKind::wrong_space:
    case FaultKind::read_only:
    case FaultKind::warpgroup:
      break;
  }
  return f;
}

Finding FaultLog::describe_meeting(const MeetingKey& key, const MeetingExample& e,
                                   const Describer& describer) {
  Finding f = describer.finding(key.kind, key.first, ThreadAction::wait, e.block, e.first_thread);
  f.count = e.count;
  const bool of_cluster = e.reason == emulator::StuckReason::cluster;
  f.facts = WaitFacts{of_cluster || e.reason == emulator::StuckReason::barrier, e.barrier, e.exited,
                      e.went_on, of_cluster};
  if (e.bytes != 0) f.memory = describer.memory(e.space, e.address, key.first);
  if (f.memory && f.memory->object == emulator::kGridWorkspace) {
    f.memory.reset();
    std::get<WaitFacts>(f.facts).at_barrier = true;
  }
  if (e.went_on) {
    f.severity = Severity::warning;
    f.second = describer.access(key.first, ThreadAction::exit, e.block, e.second_thread);
  } else if (key.second != key.first) {
    f.second = describer.access(key.second, ThreadAction::wait, e.block, e.second_thread);
    // A compiler may make several instructions of one line; to the reader they are the same.
    if (f.second->place.line != 0 && f.second->place == f.first.place) f.second.reset();
  }
  return f;
}

}  // namespace tilescope::observe
