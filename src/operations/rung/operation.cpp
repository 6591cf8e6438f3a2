#include "operations/rung/operation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::operations {

Error no_kernel_of_ours(std::string_view operation, const VariantInfo& variant) {
  return {ErrorKind::usage,
          fmt::format("{}/{} is not a Tilescope kernel, so it cannot be compiled or counted",
                      operation, variant.name)};
}

std::size_t input_sets(const Device& device, std::size_t bytes) {
  if (device.kind() != DeviceKind::cuda || bytes == 0) return 1;
  constexpr std::size_t most_sets = 64;
  return std::min(most_sets, 2 * device.properties().l2_bytes / bytes + 1);
}

}  // namespace tilescope::operations
