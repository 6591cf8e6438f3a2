// The out-of-line half of memory accesses, called by the lane kernels.
//
// Declarations only, for the reason that lanes/key.hpp gives.
#pragma once

#include <cstdint>

#include "emulator/address_space.hpp"
#include "emulator/context.hpp"

namespace tilescope::emulator {

enum class ClusterOperation : std::uint8_t;  // request_events.hpp

/// Finds the one allocation of global (or constant) space that holds [low, low + span) and keeps it
/// in the pattern; false if there is none.
bool find_allocation(Context& w, AccessPattern& pattern, std::uint64_t low, std::uint64_t span,
                     Space space);

/// Passes to the observers an access with the lanes w.mask and the addresses w.addresses.
void emit_access(Context& w, const Code& c, const AccessPattern& pattern, Space space);

/// Passes to the observers an access of the lanes w.mask, which are not none, at addresses of any
/// shape.
void announce_lanes(Context& w, const Code& c, const std::uint64_t* addresses, Space space);

/// These handle the accesses that the lane kernels do not take, lane by lane: they resolve generic
/// addresses, report faults (faulty loads give 0, faulty stores are dropped), and call the
/// observers.
void slow_load(Context& w, const Code& c);
void slow_store(Context& w, const Code& c);

// Code::aux of a load or store that goes lane by lane.
inline constexpr std::uint32_t kElementBytes = 0xff;    ///< bytes of an element in memory
inline constexpr std::uint32_t kElementCountShift = 8;  ///< elements: 8 bits
inline constexpr std::uint32_t kSignExtend = 1u << 16;
inline constexpr std::uint32_t kNarrowRegister = 1u << 17;  ///< the register has 16 bits
inline constexpr std::uint32_t kAddress64 = 1u << 18;       ///< the address register has 64 bits
inline constexpr std::uint32_t kOwnBlock = 1u << 19;        ///< only the own block's shared memory
inline constexpr std::uint32_t kSlotBytesShift = 20;  ///< bytes per lane of the registers: 6 bits

/// The places of an access's lanes. Faulty lanes have been reported and are not in `mask`.
struct LaneTargets {
  std::uint32_t mask;
  std::uint32_t shared;  ///< those in shared memory
  std::uint8_t* host[32];
  std::uint64_t address[32];  ///< as in Access
  Block* owner[32];           ///< of shared memory, if it is not the running block's
};

/// Resolves one access of `bytes` per lane at `addresses` (of space `space`, a Code::space) by the
/// lanes `mask`: checks it, reports faults, calls the observers. Each address must be a multiple of
/// `alignment`.
LaneTargets resolve_lanes(Context& w, const Code& c, const std::uint64_t* addresses,
                          std::uint32_t mask, std::uint8_t space, unsigned bytes,
                          unsigned alignment, AccessKind kind);

/// As resolve_lanes, but tells observers of faults only: of an operation that comes later.
LaneTargets find_lanes(Context& w, const Code& c, const std::uint64_t* addresses,
                       std::uint32_t mask, std::uint8_t space, unsigned bytes, unsigned alignment,
                       AccessKind kind);

/// Tells observers of an instruction that reaches shared memory across the cluster: of `lanes` of
/// the targets.
void announce_request(Context& w, const Code& c, const LaneTargets& targets, std::uint32_t lanes,
                      unsigned bytes, ClusterOperation operation);

/// The global side of a cp.async.
struct CopySource {
  std::uint32_t address = 0;  ///< register
  std::int64_t offset = 0;
  bool is_cut = false;  ///< lanes may read less than they write
};
CopySource copy_source(const Code& copy);

/// A lane of a register: `bytes` wide, 128-bit ones in two halves.
void read_lane(Context& w, std::uint32_t offset, unsigned bytes, int lane, std::uint64_t value[2]);

/// Adds what the lanes' access missed, and reports it.
void report_access_fault(Context& w, Fault fault);

/// The addresses in register c.a plus c.offset, for every lane.
void lane_addresses(Context& w, const Code& c, std::uint64_t* addresses);

}  // namespace tilescope::emulator
