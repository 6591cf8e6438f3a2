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

/// The value of one that depends on the block, which is the same in all lanes; of a predicate all
/// of them. `index`: the block's.
std::uint64_t block_special(const LaunchSetup& setup, const LaunchInfo& info, const SpecialUse& use,
                            std::uint64_t block, const Dim3& index);

/// Writes the 32 lanes. `block` is read only if the value depends on it.
void fill_special(const LaunchSetup& setup, const LaunchInfo& info, const SpecialUse& use,
                  std::uint8_t* registers, std::uint32_t warp, std::uint64_t block,
                  std::uint64_t local_base);

}  // namespace tilescope::emulator
