// Registers of wgmma that are touched while a product may be under way, or written without a
// wgmma.fence before the product.
//
// The assembler judges by the program text as well: it serialises such products, or lets them read
// and write whatever is there. So does this: it follows the groups of products along all paths. A
// move is no touch, because the assembler may rename registers: its target stands for its source.
#pragma once

#include <cstdint>
#include <span>

#include "emulator/events.hpp"
#include "observe/check/async_log.hpp"

namespace tilescope::observe {

/// Adds what it finds in instructions that ran. `executed`: by instruction.
void find_touched_registers(const emulator::Program& program,
                            std::span<const std::uint64_t> executed, AsyncLog& log);

}  // namespace tilescope::observe
