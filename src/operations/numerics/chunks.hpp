// A loop over elements in pieces large enough for a core.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/parallel.hpp"

namespace tilescope::operations {

/// Calls body(first, end) for consecutive pieces of [0, count), on all cores.
template <typename Body>
void for_chunks(std::size_t count, const Body& body, std::size_t chunk = std::size_t{1} << 16U) {
  parallel_for((count + chunk - 1) / chunk,
               [&](std::size_t c) { body(c * chunk, std::min(count, (c + 1) * chunk)); });
}

}  // namespace tilescope::operations
