#include "emulator/fault_text.hpp"

#include <fmt/format.h>

#include "emulator/address_space.hpp"
#include "emulator/program.hpp"

namespace tilescope::emulator {
namespace {

std::string_view verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::load:
    case AccessKind::async_load:
    case AccessKind::matrix_load:
    case AccessKind::surface_load:
      return "load";
    case AccessKind::texture_load:
      return "texture load";
    case AccessKind::store:
    case AccessKind::async_store:
    case AccessKind::matrix_store:
    case AccessKind::surface_store:
      return "store";
    case AccessKind::atomic:
      return "atomic operation";
    case AccessKind::reduction:
    case AccessKind::surface_reduction:
      return "reduction";
  }
  return "";
}

std::string bytes_text(std::uint64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

std::string block_text(const Fault& fault) {
  return fmt::format("block {} of the cluster", shared_place(fault.address, 0).rank);
}

std::string_view object_word(AccessKind kind) {
  return kind == AccessKind::texture_load ? "texture" : "surface";
}

template <class Numbers>
std::string coordinates_text(const Numbers& numbers, unsigned count, std::string_view between) {
  return fmt::format("{}", fmt::join(numbers.begin(), numbers.begin() + count, between));
}

std::string what(const Fault& fault) {
  std::string access = fmt::format("{} {} of {}", to_string(fault.space), verb(fault.access),
                                   bytes_text(fault.bytes));
  if (!fault.operand.empty()) access += fmt::format(" for operand {}", fault.operand);
  const auto distance = static_cast<std::uint64_t>(fault.distance);
  switch (fault.kind) {
    case FaultKind::out_of_bounds:
      if (fault.object.empty()) {
        return fmt::format("{} at {:#x}, where no buffer or variable lies", access, fault.address);
      }
      return fmt::format("{} {} {} of '{}' ({})", access,
                         bytes_text(fault.distance < 0 ? 0 - distance : distance),
                         fault.distance < 0 ? "before the start" : "past the end", fault.object,
                         bytes_text(fault.object_bytes));
    case FaultKind::misaligned:
      return fmt::format("{} at {:#x}, which is no multiple of {}", access, fault.address,
                         fault.bytes);
    case FaultKind::null_pointer:
      return fmt::format("{} through a null pointer (address {:#x})", access, fault.address);
    case FaultKind::freed:
      return fmt::format("{} at {:#x} in '{}', which was freed", access, fault.address,
                         fault.object);
    case FaultKind::host_memory:
      return fmt::format("{} at {:#x}, memory of the host that no kernel can reach", access,
                         fault.address);
    case FaultKind::wrong_space:
      return fmt::format("{} cannot be made at {:#x}", access, fault.address);
    case FaultKind::read_only:
      return fmt::format("{} at {:#x}, which cannot be written", access, fault.address);
    case FaultKind::absent_lanes:
      return fmt::format("the mask {:#010x} names lanes {:#010x}, which cannot arrive",
                         fault.address, fault.lanes);
    case FaultKind::not_a_member:
      return fmt::format("lanes {:#010x} use the mask {:#010x}, which does not name them",
                         fault.lanes, fault.address);
    case FaultKind::bad_barrier:
      return fmt::format("barrier operand {} (numbers go to 15, counts are multiples of 32)",
                         fault.address);
    case FaultKind::bad_call:
      return fmt::format("call of {:#x}, which is no function", fault.address);
    case FaultKind::integer_fault:
      return fmt::format("operand {} out of range", fault.address);
    case FaultKind::no_such_block:
      return fmt::format("{} in {}, but there is none", access, block_text(fault));
    case FaultKind::exited_block:
    case FaultKind::late_access:
      return fmt::format("{} in {}, which has ended", access, block_text(fault));
    case FaultKind::other_block:
      return fmt::format("{} in {}, which this instruction cannot reach", access,
                         block_text(fault));
    case FaultKind::unpaired_arrival:
      return "arrival at the cluster's barrier without a wait before, or the reverse";
    case FaultKind::bad_copy:
      return std::string(fault.object);
    case FaultKind::warpgroup:
      return "the four warps of a warpgroup do not run the same wgmma with the same descriptors";
    case FaultKind::bad_texture:
      return fmt::format("{:#x} is no {} object", fault.address, object_word(fault.access));
    case FaultKind::destroyed_texture:
      return fmt::format("the {} object {:#x} was destroyed", object_word(fault.access),
                         fault.address);
    case FaultKind::texture_shape:
      return fmt::format("the {} object {:#x} has other dimensions than the instruction",
                         object_word(fault.access), fault.address);
    case FaultKind::outside_surface:
      return fmt::format("surface {} at ({}), outside its {} elements", verb(fault.access),
                         coordinates_text(fault.surface.at, fault.surface.dimensions, ", "),
                         coordinates_text(fault.surface.extent, fault.surface.dimensions, " x "));
  }
  return "";
}

}  // namespace

std::string fault_text(const Program& program, std::string_view thread, const Fault& fault) {
  return fmt::format("{}: {}; {}", program.place(fault.instruction), what(fault), thread);
}

std::string deadlock_text(const Program& program, const Dim3& index, const Deadlock& deadlock) {
  std::string text = fmt::format("block ({},{},{}) cannot continue:", index.x, index.y, index.z);
  std::size_t listed = 0;
  for (const StuckLanes& lanes : deadlock.stuck) {
    if (++listed > 4) {
      text += fmt::format(" and {} more", deadlock.stuck.size() - 4);
      break;
    }
    text += fmt::format("{} warp {} lanes {:#010x} wait at {}", listed == 1 ? "" : ",", lanes.warp,
                        lanes.mask, program.place(lanes.instruction));
    if (lanes.reason == StuckReason::barrier) text += fmt::format(" (barrier {})", lanes.barrier);
    if (lanes.reason == StuckReason::cluster) text += " (the barrier of the cluster)";
    if (lanes.reason == StuckReason::reconvergence) text += " (for the other lanes)";
    if (lanes.reason == StuckReason::spin) text += " (for memory that nobody changes)";
  }
  return text;
}

}  // namespace tilescope::emulator
