// An executor's view of the machine: registers, the mask, memory, and the observers. One Context
// belongs to one host thread; the warp that runs there is switched in and out of it.
//
// Plain data, for the reason that code.hpp gives.
#pragma once

#include <cstdint>

#include "emulator/code.hpp"

namespace tilescope::emulator {

class Block;
class Warp;

/// The last pattern of a memory instruction's addresses. Kernels repeat themselves: the differences
/// between the lanes' addresses are nearly always those of the time before, and then one vector
/// compare gives shape, extent and alignment.
struct alignas(64) AccessPattern {
  std::uint32_t mask = 0;    ///< lanes; 0: nothing known yet
  std::uint32_t shape = 0;   ///< AccessShape
  std::uint32_t serial = 0;  ///< changes with every new pattern of this instruction and host thread
  std::uint32_t first = 0;   ///< lowest lane in mask
  std::int64_t low = 0;      ///< smallest difference to the first lane's address
  std::int64_t high = 0;     ///< largest
  std::uint64_t alignment = 0;  ///< OR of all differences
  bool narrow = false;          ///< every difference fits 32 bits: `index` holds
  bool window = false;          ///< all lanes lie in 32 words from the lowest address: `word` holds
  /// The allocation of the last access: [begin, end) and its address on the host.
  std::uint64_t begin = 0, end = 0;
  std::uint8_t* host = nullptr;
  alignas(64) std::int32_t index[32];
  alignas(64) std::uint32_t word[32];        ///< 4-byte words from the lowest address
  alignas(64) std::uint64_t difference[32];  ///< to the first lane; 0 outside mask
};

struct Context {
  std::uint8_t* frame = nullptr;  ///< registers of the activation
  std::uint32_t mask = 0;         ///< lanes to run: active and with the guard holding
  std::uint32_t events = 0;       ///< EventSet of all observers
  std::uint8_t* shared = nullptr;
  std::uint64_t shared_bytes = 0;
  std::uint8_t* local = nullptr;  ///< lane l's local memory begins at l * local_stride
  std::uint64_t local_stride = 0;
  const std::uint8_t* parameters = nullptr;
  std::uint64_t parameter_bytes = 0;
  AccessPattern* patterns = nullptr;  ///< by Code::slot
  std::uint64_t* lanes_on =
      nullptr;  ///< by InstructionId: lanes whose guard held, guarded ones only
  Block* block = nullptr;
  Warp* warp = nullptr;
  std::uint32_t warp_index = 0;
  std::uint32_t live = 0;                   ///< lanes of the warp that have not left
  std::uint32_t active = 0;                 ///< lanes of the path, whatever the guard
  std::uint64_t atomic_changes = 0;         ///< atomics that left another value than they found
  std::uint32_t exchange_lanes = 0;         ///< collectives: the participants...
  std::uint32_t members = 0;                ///< ...the lanes that the program named...
  alignas(64) std::uint64_t exchange[32];   ///< ...and the contribution of each
  alignas(64) std::uint64_t addresses[32];  ///< of the current access
};

/// The number of lanes in a mask; mostly there are all or none.
[[gnu::always_inline]] static inline std::uint32_t lane_count(std::uint32_t mask) {
  if (mask == 0xffffffffu) return 32;
  return mask == 0 ? 0 : static_cast<std::uint32_t>(__builtin_popcount(mask));
}

// --- registers
// ------------------------------------------------------------------------------------

[[gnu::always_inline]] static inline std::uint32_t* r32(Context& w, std::uint32_t offset) {
  return reinterpret_cast<std::uint32_t*>(w.frame + offset);
}
[[gnu::always_inline]] static inline std::uint64_t* r64(Context& w, std::uint32_t offset) {
  return reinterpret_cast<std::uint64_t*>(w.frame + offset);
}
[[gnu::always_inline]] static inline std::uint32_t& predicate(Context& w, std::uint32_t offset) {
  return *reinterpret_cast<std::uint32_t*>(w.frame + offset);
}

}  // namespace tilescope::emulator
