// The sectors that a bulk copy moves between the L2 cache and an SM, as the chip counts them.
#pragma once

#include <cstdint>

#include "emulator/bulk_events.hpp"

namespace tilescope::observe {

/// A store counts, row by row of its box, the sectors of global memory that it writes. A load also
/// counts row by row, in packets: the bytes that go from one line of global memory to one line of
/// shared memory, by their sectors in global memory; and neighbouring chunks of 16 bytes outside
/// the tensor, which are filled with zeros, by their sectors in shared memory. A copy to several
/// blocks counts in each, where a packet has at least 2 sectors, and 3 if it has bytes to leave out
/// or zeros. `multicast`: whether the instruction names the blocks, be it one alone.
std::uint64_t bulk_sectors(const emulator::BulkEvent& copy, bool multicast);

}  // namespace tilescope::observe
