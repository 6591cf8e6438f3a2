// The copy rate of the link between host and device.
#pragma once

#include <cstddef>
#include <tilescope/device.hpp>
#include <vector>

#include "measure/timing.hpp"

namespace tilescope::measure {

enum class HostMemory { pageable, pinned };
enum class Direction { to_device, to_host, both };

std::string_view name_of(HostMemory memory);
std::string_view name_of(Direction direction);

/// One cell of the table.
struct LinkRate {
  HostMemory memory = HostMemory::pageable;
  Direction direction = Direction::to_device;
  std::size_t bytes = 0;  ///< one way
  double median_ms = 0.0;
  /// Bytes per second; for Direction::both the sum of both directions.
  double bytes_per_second() const;
};

/// Copies of `bytes` each, from and to either kind of host memory. Pageable memory is not measured
/// in both directions at once: its copies block the host. Contents are checked once; a copy that
/// changes them is Error(wrong_result).
std::vector<LinkRate> measure_link(Device& device, std::size_t bytes, int samples);

}  // namespace tilescope::measure
