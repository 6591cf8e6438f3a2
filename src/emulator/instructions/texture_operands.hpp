// The operands that texture and surface instructions share: objects, coordinates, results.
#pragma once

#include <bit>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/texture_table.hpp"

namespace tilescope::emulator {

/// The shape of coordinates, as the geometry of an instruction says.
struct Coordinates {
  unsigned count = 0;    ///< of one layer
  bool layered = false;  ///< a layer's number comes first
  bool cube = false;
};

/// False, with a reason, for geometries that the emulator does not have.
bool coordinates_of(FunctionDecoder& d, ptx::Geometry geometry, Coordinates& result);

/// Appends the registers of an operand, a vector or one alone. False unless each is as wide as
/// `type`; sources may be constants.
bool append_sources(FunctionDecoder& d, const ptx::Operand& operand, ptx::Type type,
                    std::vector<std::uint32_t>& list);
bool append_results(FunctionDecoder& d, const ptx::Operand& operand, ptx::Type type,
                    std::vector<std::uint32_t>& list);
/// Appends the register with the object that `address` begins with, a handle or the address of a
/// reference; then that of the sampler (kNone: none). `coordinates` receives the operand with the
/// coordinates; false if there is none.
bool append_object(FunctionDecoder& d, const ptx::Operand& address, bool sampler,
                   std::vector<std::uint32_t>& list, const ptx::Operand*& coordinates);

/// The objects of a warp's lanes. Faulty lanes have been reported and are not in `mask`.
struct LaneObjects {
  LaneMask mask = 0;
  const TextureObject* object[kWarpSize] = {};
};
/// Reports a fault about the object that register `reg` names in the lowest of `lanes`.
void report_texture(Context& w, const Code& c, FaultKind fault, LaneMask lanes, std::uint32_t reg,
                    AccessKind kind);
LaneObjects resolve_objects(Context& w, const Code& c, std::uint32_t reg, bool surface,
                            AccessKind kind);

/// Reports the lanes whose object does not fit the instruction, and takes them out.
template <class Fits>
void drop_lanes(Context& w, const Code& c, LaneObjects& objects, std::uint32_t reg, AccessKind kind,
                Fits fits) {
  LaneMask misfits = 0;
  for (LaneMask m = objects.mask; m != 0; m &= m - 1) {
    const TextureObject*& object = objects.object[std::countr_zero(m)];
    if (fits(*object)) continue;
    object = nullptr;
    misfits |= m & -m;
  }
  objects.mask &= ~misfits;
  if (misfits != 0) report_texture(w, c, FaultKind::texture_shape, misfits, reg, kind);
}

/// The handle that a value names: the value, or what the reference at that address is bound to.
std::uint64_t bound_handle(const Context& w, std::uint64_t value);

/// The device addresses that each lane touches.
using LaneTouches = std::array<std::vector<std::uint64_t>, kWarpSize>;

/// Passes them to the observers: an access for each first, second ... element of the lanes.
void emit_touches(Context& w, const Code& c, AccessKind kind, std::size_t bytes,
                  const LaneTouches& touches);
/// Passes them to the observers as one request. `request` says how the lanes reach their objects.
void emit_request(Context& w, const Code& c, const LaneObjects& objects, const LaneTouches& touches,
                  TexelRequest request);

}  // namespace tilescope::emulator
