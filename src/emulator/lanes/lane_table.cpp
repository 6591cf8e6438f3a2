// The lane kernels of the instruction set that this file is compiled for.
#include "emulator/lanes/lane_loop.hpp"

#define TILESCOPE_TEXT_(x) #x
#define TILESCOPE_TEXT(x) TILESCOPE_TEXT_(x)

namespace tilescope::emulator::TILESCOPE_LANES {

extern const LaneKernels kernels;
const LaneKernels kernels{TILESCOPE_TEXT(TILESCOPE_LANES),
                          find_integer,
                          find_real,
                          find_compare,
                          find_logic,
                          find_convert,
                          find_half,
                          find_memory,
                          {unpack_numbers, add_aligned, add_integers, add_doubles}};

}  // namespace tilescope::emulator::TILESCOPE_LANES
