// The values of special registers.
#pragma once

#include <cstdint>

#include "emulator/launch_setup.hpp"

namespace tilescope::emulator {

/// Whether the value differs between blocks. (Otherwise it differs at most between warps.)
bool depends_on_block(ptx::SpecialRegister special);

/// Whether the register changes while a warp runs; an instruction of its own then reads it.
bool is_counter(ptx::SpecialRegister special);

/// The system's part of a block's shared memory, behind everything that the program declares. Only
/// a block whose program reads its address has it.
inline constexpr std::uint32_t kReservedSharedBytes = 1024;
bool names_reserved_shared(ptx::SpecialRegister special);

/// Whether the emulator knows its value.
bool is_known(ptx::SpecialRegister special);

/// As block_special.
std::uint64_t other_block_special(const LaunchSetup& setup, const LaunchInfo& info,
                                  const SpecialUse& use, std::uint64_t block, const Dim3& index);

/// The value of one that depends on the block, which is the same in all lanes; of a predicate all
/// of them. `index`: the block's.
inline std::uint64_t block_special(const LaunchSetup& setup, const LaunchInfo& info,
                                   const SpecialUse& use, std::uint64_t block, const Dim3& index) {
  if (use.bytes != 0 && use.special == ptx::SpecialRegister::ctaid_x) return index.x;
  if (use.bytes != 0 && use.special == ptx::SpecialRegister::ctaid_y) return index.y;
  if (use.bytes != 0 && use.special == ptx::SpecialRegister::ctaid_z) return index.z;
  return other_block_special(setup, info, use, block, index);
}

/// Writes the 32 lanes. `block` is read only if the value depends on it.
void fill_special(const LaunchSetup& setup, const LaunchInfo& info, const SpecialUse& use,
                  std::uint8_t* registers, std::uint32_t warp, std::uint64_t block,
                  std::uint64_t local_base);

}  // namespace tilescope::emulator
