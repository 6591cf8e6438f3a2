// Memory accesses lane by lane: those that the lane kernels do not take, and the detection of
// faults.
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/host_pages.hpp"
#include "base/one_of.hpp"
#include "emulator/block.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

struct Target {
  std::uint8_t* host = nullptr;
  Space space = Space::global;
  std::uint64_t address = 0;
  FaultKind fault = FaultKind::out_of_bounds;  ///< where host is null
  Block* owner = nullptr;  ///< of shared memory, if it is not the running block's
  bool late = false;       ///< the owner has ended
};

bool writes(AccessKind kind) {
  return kind != AccessKind::load && kind != AccessKind::async_load &&
         kind != AccessKind::matrix_load;
}

Target find_global(Context& w, std::uint64_t address, unsigned bytes, AccessKind kind) {
  Target target{.address = address};
  Allocation* found = w.block->launch().setup().memory.find(address, bytes);
  if (found == nullptr) {
    if (address < 4096) target.fault = FaultKind::null_pointer;
    return target;
  }
  const bool constant = found->kind() == AllocationKind::constant_variable;
  if (constant) target.space = Space::constant;
  if (constant && writes(kind)) {
    target.fault = FaultKind::read_only;
    return target;
  }
  target.host = found->data() + (address - found->address());
  return target;
}

/// Finds shared memory. `target` has the address, which may name another block of the cluster.
void find_shared(Context& w, Target& target, unsigned bytes, bool own_block) {
  const SharedPlace place = shared_place(target.address, w.block->rank());
  std::uint8_t* memory = w.shared;
  if (place.rank != w.block->rank()) {
    // Only mapa makes such addresses; in other programs they are wild.
    if (place.rank > kLastRank || !w.block->launch().program().needs().maps_ranks) return;
    const Cluster& cluster = w.block->cluster();
    target.owner = cluster.block(place.rank);
    target.late = target.owner != nullptr && cluster.exited(place.rank);
    const bool gone = target.late && !target.owner->outlasts(*w.block);
    if (target.owner == nullptr || own_block || gone) {
      target.fault = target.owner == nullptr ? FaultKind::no_such_block
                     : own_block             ? FaultKind::other_block
                                             : FaultKind::exited_block;
      return;
    }
    memory = target.owner->shared();
  }
  target.address = place.offset;
  if (place.offset < w.shared_bytes && bytes <= w.shared_bytes - place.offset) {
    target.host = memory + place.offset;
  }
}

Target find_target(Context& w, const Code& c, std::uint8_t space, std::uint64_t address, int lane,
                   unsigned bytes, AccessKind kind) {
  Target target{.space = static_cast<Space>(space), .address = address};
  bool own_block = (c.aux & kOwnBlock) != 0;
  if (space == kClusterSpace) {
    target.space = Space::shared;
  } else if (space == kGenericSpace) {
    const ResolvedAddress resolved = resolve_generic(address);
    target.space = resolved.space;
    target.address = resolved.address;
  } else {
    own_block = true;
  }
  const auto inside = [&](std::uint64_t size) {
    return target.address < size && bytes <= size - target.address;
  };
  switch (target.space) {
    case Space::shared:
      find_shared(w, target, bytes, own_block);
      return target;
    case Space::local:
      if (inside(w.warp->local_top())) {
        target.host = w.local + static_cast<unsigned>(lane) * w.local_stride + target.address;
      }
      return target;
    case Space::parameter:
      if (writes(kind)) {
        target.fault = FaultKind::read_only;
      } else if (inside(w.parameter_bytes)) {
        target.host = const_cast<std::uint8_t*>(w.parameters) + target.address;
      }
      return target;
    case Space::global:
    case Space::constant: {
      const Space expected = target.space;
      const ResolvedAddress actual = resolve_generic(address);
      if (actual.space != expected && space != kGenericSpace) {
        target.fault = address < 4096 ? FaultKind::null_pointer : FaultKind::wrong_space;
        return target;
      }
      target = find_global(w, address, bytes, kind);
      if (target.host == nullptr && target.fault == FaultKind::out_of_bounds)
        target.space = expected;
      return target;
    }
  }
  return target;
}

/// An access just beside an allocation means that one, whatever the host has there.
bool is_unreachable_host_memory(std::uint64_t address, const MemoryMap::Miss& miss) {
  const auto distance = static_cast<std::uint64_t>(std::abs(miss.distance));
  return (miss.name.empty() || distance > kGuardBytes) && is_readable(address);
}

/// Describes what a faulty access missed.
void describe(Context& w, Fault& fault, int lane) {
  const auto near = [&](std::string_view name, std::uint64_t begin, std::uint64_t size) {
    fault.object = name;
    fault.object_bytes = size;
    // Wild addresses may be so far off that only unsigned arithmetic is defined.
    const auto from_start = static_cast<std::int64_t>(fault.address - begin);
    const auto past_end = static_cast<std::int64_t>(fault.address + fault.bytes - begin - size);
    fault.distance = from_start < 0 ? from_start : past_end;
  };
  switch (fault.space) {
    case Space::global:
    case Space::constant: {
      const MemoryMap::Miss miss =
          w.block->launch().setup().memory.nearest(fault.address, fault.bytes);
      if (fault.kind == FaultKind::out_of_bounds) {
        if (miss.freed) fault.kind = FaultKind::freed;
        if (!miss.freed && is_unreachable_host_memory(fault.address, miss)) {
          fault.kind = FaultKind::host_memory;
          return;
        }
      }
      fault.object = miss.name;
      fault.object_bytes = miss.bytes;
      fault.distance = miss.distance;
      return;
    }
    case Space::shared: {
      if (is_one_of(fault.kind, {FaultKind::no_such_block, FaultKind::other_block,
                                 FaultKind::exited_block, FaultKind::late_access})) {
        return;
      }
      const auto variables = w.block->launch().info().shared_variables;
      if (!variables.empty()) {
        const SharedVariable& last = variables.back();
        near(last.name, last.offset, last.bytes);
      }
      return;
    }
    case Space::local: {
      const Frame* frame = w.warp->frame_of(lane);
      if (frame != nullptr && !frame->function->locals.empty()) {
        const LocalVariable& last = frame->function->locals.back();
        near(last.name, frame->local_base + last.offset, last.bytes);
      }
      return;
    }
    case Space::parameter:
      near("parameters", 0, w.parameter_bytes);
      return;
  }
}

struct FaultyLane {
  FaultKind kind;
  Space space;
};

/// Lanes with the same kind of fault in the same space are one report.
void report_faults(Context& w, const Code& c, const FaultyLane* faults,
                   const std::uint64_t* addresses, LaneMask faulty, unsigned bytes,
                   AccessKind kind) {
  while (faulty != 0) {
    const int first = std::countr_zero(faulty);
    LaneMask same = 0;
    for (LaneMask m = faulty; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (faults[lane].kind == faults[first].kind && faults[lane].space == faults[first].space) {
        same |= LaneMask{1} << lane;
      }
    }
    faulty &= ~same;
    Fault fault{faults[first].kind,
                c.id,
                w.warp_index,
                same,
                faults[first].space,
                kind,
                bytes,
                addresses[first],
                {},
                0,
                0,
                addresses};
    describe(w, fault, first);
    w.block->report(fault);
  }
}

/// An access by the lanes w.mask at addresses without a pattern.
Access access_of(Context& w, const Code& c, const std::uint64_t* addresses, Space space) {
  return {c.id,
          w.warp_index,
          w.mask,
          c.bytes,
          space,
          static_cast<AccessKind>(c.access),
          AccessShape::scattered,
          static_cast<MemoryOrder>(c.order),
          static_cast<Scope>(c.scope),
          0,
          addresses,
          &w,
          &c};
}

/// Calls the observers of accesses to `space` in a block.
template <class Call>
void tell(const Block& block, Space space, Call call) {
  for (const auto& slot : block.observers()) {
    if ((slot.events & access_event(space)) != 0) call(*slot.observer);
  }
}
void tell(Context& w, const Access& access) {
  tell(*w.block, access.space, [&](BlockObserver& observer) { observer.access(access); });
}

/// Passes an access of lanes with the same space and the same owner to the observers.
void announce(Context& w, const Code& c, const LaneTargets& targets, Space space, LaneMask mask,
              unsigned bytes, AccessKind kind) {
  Access access = access_of(w, c, targets.address, space);
  access.mask = mask;
  access.bytes = static_cast<std::uint16_t>(bytes);
  access.kind = kind;
  const Block* const owner = targets.owner[std::countr_zero(mask)];
  if (owner == nullptr) return tell(w, access);
  const std::uint32_t own = w.block->rank(), other = owner->rank();
  if (w.block->cluster().exited(other)) return;  // its observers have heard its end
  tell(*w.block, space, [&](BlockObserver& observer) { observer.remote_access(access, other); });
  tell(*owner, space, [&](BlockObserver& observer) { observer.neighbour_access(access, own); });
}

ClusterOperation cluster_operation(AccessKind kind) {
  return is_one_of(kind, {AccessKind::atomic, AccessKind::reduction}) ? ClusterOperation::atomic
         : writes(kind)                                               ? ClusterOperation::store
                                                                      : ClusterOperation::load;
}

/// An access to be checked.
struct Request {
  const std::uint64_t* addresses;
  LaneMask mask;
  std::uint8_t space;
  unsigned bytes, alignment;
  AccessKind kind;
};

struct SpaceMasks {
  LaneMask lanes[5] = {};  ///< by Space
  LaneMask remote = 0;     ///< those in another block's shared memory
};

/// Finds the places of all lanes and reports faults.
SpaceMasks check_lanes(Context& w, const Code& c, const Request& request, LaneTargets& result) {
  SpaceMasks found;
  FaultyLane faults[32];
  LaneMask faulty = 0;
  for (LaneMask m = request.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const LaneMask bit = LaneMask{1} << lane;
    Target target = find_target(w, c, request.space, request.addresses[lane], lane, request.bytes,
                                request.kind);
    if (target.host != nullptr && target.address % request.alignment != 0) {
      target.host = nullptr;
      target.fault = FaultKind::misaligned;
    }
    result.address[lane] = target.address;
    if (target.host == nullptr) {
      faults[lane] = {target.fault, target.space};
      faulty |= bit;
      continue;
    }
    if (target.late) {
      faults[lane] = {FaultKind::late_access, target.space};
      faulty |= bit;
    }
    result.host[lane] = target.host;
    result.owner[lane] = target.owner;
    result.mask |= bit;
    if (target.owner != nullptr) found.remote |= bit;
    found.lanes[static_cast<int>(target.space)] |= bit;
  }
  result.shared = found.lanes[static_cast<int>(Space::shared)];
  if (faulty != 0) {
    report_faults(w, c, faults, result.address, faulty, request.bytes, request.kind);
  }
  return found;
}

}  // namespace

void report_access_fault(Context& w, Fault fault) {
  describe(w, fault, std::countr_zero(fault.lanes));
  w.block->report(fault);
}

bool find_allocation(Context& w, AccessPattern& pattern, std::uint64_t low, std::uint64_t span,
                     Space space) {
  Allocation* found = w.block->launch().setup().memory.find(low, span);
  if (found == nullptr) return false;
  if ((found->kind() == AllocationKind::constant_variable) != (space == Space::constant))
    return false;
  pattern.begin = found->address();
  pattern.end = found->address() + found->bytes();
  pattern.host = found->data();
  return true;
}

void emit_access(Context& w, const Code& c, const AccessPattern& pattern, Space space) {
  Access access = access_of(w, c, w.addresses, space);
  access.shape = static_cast<AccessShape>(pattern.shape);
  access.pattern = pattern.serial;
  tell(w, access);
}

void announce_lanes(Context& w, const Code& c, const std::uint64_t* addresses, Space space) {
  if ((w.events & access_event(space)) != 0) tell(w, access_of(w, c, addresses, space));
}

void lane_addresses(Context& w, const Code& c, std::uint64_t* addresses) {
  if ((c.aux & kAddress64) != 0) {
    const std::uint64_t* a = r64(w, c.a);
    for (int l = 0; l < kWarpSize; ++l) addresses[l] = a[l] + static_cast<std::uint64_t>(c.offset);
  } else {
    const std::uint32_t* a = r32(w, c.a);
    for (int l = 0; l < kWarpSize; ++l) addresses[l] = a[l] + static_cast<std::uint32_t>(c.offset);
  }
}

LaneTargets find_lanes(Context& w, const Code& c, const std::uint64_t* addresses,
                       std::uint32_t mask, std::uint8_t space, unsigned bytes, unsigned alignment,
                       AccessKind kind) {
  LaneTargets result{};
  check_lanes(w, c, {addresses, mask, space, bytes, alignment, kind}, result);
  return result;
}

LaneTargets resolve_lanes(Context& w, const Code& c, const std::uint64_t* addresses,
                          std::uint32_t mask, std::uint8_t space, unsigned bytes,
                          unsigned alignment, AccessKind kind) {
  LaneTargets result{};
  SpaceMasks rest = check_lanes(w, c, {addresses, mask, space, bytes, alignment, kind}, result);
  for (int s = 0; s < 5; ++s) {
    while (rest.lanes[s] != 0) {  // lanes with the same space and the same owner are one access
      const Block* const owner = result.owner[std::countr_zero(rest.lanes[s])];
      LaneMask same = rest.lanes[s];
      for (LaneMask m = rest.remote & same; m != 0; m &= m - 1) {
        const int lane = std::countr_zero(m);
        if (result.owner[lane] != owner) same &= ~(LaneMask{1} << lane);
      }
      if (owner != nullptr) same &= rest.remote;
      rest.lanes[s] &= ~same;
      announce(w, c, result, static_cast<Space>(s), same, bytes, kind);
    }
  }
  if (rest.remote != 0) {
    announce_request(w, c, result, rest.remote, bytes, cluster_operation(kind));
  }
  return result;
}

namespace {

/// A lane of a register: `bytes` wide, 128-bit ones in two halves.
void write_lane(Context& w, std::uint32_t offset, unsigned bytes, int lane, std::uint64_t low,
                std::uint64_t high) {
  if (bytes == 4) {
    r32(w, offset)[lane] = static_cast<std::uint32_t>(low);
    return;
  }
  r64(w, offset)[lane] = low;
  if (bytes == 16) r64(w, offset)[kWarpSize + lane] = high;
}

}  // namespace

void read_lane(Context& w, std::uint32_t offset, unsigned bytes, int lane, std::uint64_t value[2]) {
  value[1] = bytes == 16 ? r64(w, offset)[kWarpSize + lane] : 0;
  value[0] = bytes == 4 ? r32(w, offset)[lane] : r64(w, offset)[lane];
}

void slow_load(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const LaneMask mask = w.mask;
  const LaneTargets targets = resolve_lanes(w, c, addresses, mask, c.space, c.bytes, c.bytes,
                                            static_cast<AccessKind>(c.access));
  const unsigned element = c.aux & kElementBytes, slot = (c.aux >> kSlotBytesShift) & 63;
  const unsigned count = (c.aux >> kElementCountShift) & 0xff;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    for (unsigned i = 0; i < count; ++i) {
      std::uint64_t value[2] = {0, 0};
      if (targets.host[lane] != nullptr) {
        std::memcpy(value, targets.host[lane] + i * element, element);
      }
      if ((c.aux & kSignExtend) != 0) {
        const unsigned shift = 64 - element * 8;
        value[0] =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(value[0] << shift) >> shift);
      }
      if ((c.aux & kNarrowRegister) != 0) value[0] &= 0xffff;
      write_lane(w, count == 1 ? c.dst : c.list[i], slot, lane, value[0], value[1]);
    }
  }
}

void slow_store(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const LaneTargets targets = resolve_lanes(w, c, addresses, w.mask, c.space, c.bytes, c.bytes,
                                            static_cast<AccessKind>(c.access));
  const unsigned element = c.aux & kElementBytes, slot = (c.aux >> kSlotBytesShift) & 63;
  const unsigned count = (c.aux >> kElementCountShift) & 0xff;
  for (LaneMask m = targets.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    for (unsigned i = 0; i < count; ++i) {
      std::uint64_t value[2];
      read_lane(w, count == 1 ? c.b : c.list[i], slot, lane, value);
      std::memcpy(targets.host[lane] + i * element, value, element);
    }
  }
}

}  // namespace tilescope::emulator
