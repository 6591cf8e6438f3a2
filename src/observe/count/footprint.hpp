// The bytes of global memory that a launch reads and writes, each counted once: the traffic that no
// cache could avoid.
#pragma once

#include <tilescope/counts.hpp>
#include <vector>

#include "emulator/touched_bytes.hpp"

namespace tilescope::observe {

class Footprint : public emulator::TouchedBytes {
 public:
  using TouchedBytes::TouchedBytes;
  /// In order of address; untouched allocations are left out.
  std::vector<BufferTraffic> result() const;
};

}  // namespace tilescope::observe
