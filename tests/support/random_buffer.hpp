// Random matrices in a device's memory.
#pragma once

#include <tilescope/device.hpp>

#include "operations/numerics/conversion.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/numerics/random.hpp"

namespace tilescope::testing {

/// `count` elements of the type in [-1, 1], the same for the same seed.
inline Buffer random_buffer(Device& device, DataType type, std::int64_t count, std::uint64_t seed) {
  const auto elements = static_cast<std::size_t>(count);
  const operations::HostArray values = operations::random_array(DataType::float32, elements, seed);
  operations::HostArray converted(type, elements);
  operations::convert_matrix(dense_view(values.data(), DataType::float32, 1, count),
                             dense_view(converted.data(), type, 1, count));
  Buffer buffer = device.allocate(elements * size_of(type), "a random matrix");
  device.copy_to_device(buffer.address(), converted.data(), buffer.bytes());
  return buffer;
}

}  // namespace tilescope::testing
