// The requests and sectors of the units beside the data path of global and shared memory: the
// texture unit, and the network between the blocks of a cluster. The rules are those that
// recordings of an H200 show (docs/parity.md); no manual has them.
#pragma once

#include <tilescope/counts.hpp>

#include "emulator/request_events.hpp"

namespace tilescope::observe {

/// One request, whatever the number of other blocks. Its sectors:
///   - a load or store has one for each 32 bytes of a block;
///   - the others have for each of those the most lanes on one address.
UnitCounts cluster_cost(const emulator::ClusterRequest& request);

/// A request for each quad of lanes; by whole coordinates for 8 lanes, but of textures with
/// elements of 16 bytes, and of surfaces with layers or three dimensions, for 4. Its sectors have
/// 16 bytes of two rows in an array, else 32 bytes. A linear filter of 16-byte elements takes two
/// lanes at a time and reads each half of their elements by itself; one in three dimensions takes
/// half as many lanes at a time.
UnitCounts texel_cost(const emulator::TexelRequest& request);

}  // namespace tilescope::observe
