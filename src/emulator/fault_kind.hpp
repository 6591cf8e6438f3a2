// The defects that the emulator itself meets in a launch; events.hpp has the event.
#pragma once

#include <array>
#include <cstdint>

namespace tilescope::emulator {

enum class FaultKind : std::uint8_t {
  out_of_bounds,      ///< outside every allocation or variable of its space
  misaligned,         ///< address no multiple of the access width
  null_pointer,       ///< global address below 4,096
  freed,              ///< inside memory that was freed
  host_memory,        ///< memory of the host that no kernel can reach
  wrong_space,        ///< a generic address of another space than the instruction can access
  read_only,          ///< a store to constant or parameter space
  absent_lanes,       ///< a warp-level member mask names lanes that cannot arrive (`lanes`)
  not_a_member,       ///< a lane runs a warp-level instruction whose mask does not name it
  bad_barrier,        ///< barrier number above 15, or a count that is no multiple of 32
  bad_call,           ///< an indirect call to an address that is no function
  integer_fault,      ///< operand outside the range the instruction defines
  no_such_block,      ///< shared memory of a rank that the cluster does not have
  exited_block,       ///< shared memory of a block of the cluster that has ended
  late_access,        ///< there too, but in time if blocks run equally fast: the launch goes on
  other_block,        ///< another block's shared memory, but the instruction reaches only its own
  unpaired_arrival,   ///< barrier.cluster.arrive twice without a wait, or a wait without it
  bad_copy,           ///< a bulk copy or tensor map against the rules; `object` says which
  warpgroup,          ///< the warps of a warpgroup do not run the same wgmma
  bad_texture,        ///< a handle (`address`) that names no texture or surface object
  destroyed_texture,  ///< one of an object that was destroyed
  texture_shape,      ///< one whose dimensions are not those of the instruction
  outside_surface,    ///< coordinates (`surface`) outside a surface, with .trap
};

/// Coordinates of a surface, in elements, and its extents: `dimensions` of each.
struct SurfaceCoordinates {
  std::array<std::int32_t, 3> at{};
  std::array<std::uint32_t, 3> extent{};
  unsigned dimensions = 1;
};

}  // namespace tilescope::emulator
