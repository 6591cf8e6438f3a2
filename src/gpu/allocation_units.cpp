#include <tilescope/gpu/occupancy.hpp>

#include "base/errors.hpp"

namespace tilescope::gpu {

AllocationUnits allocation_units(int major, int minor) {
  const auto modern = [](int sub_partitions, std::size_t shared_unit) {
    return AllocationUnits{.register_unit = 256,
                           .sub_partitions = sub_partitions,
                           .max_registers_per_thread = 255,
                           .shared_unit = shared_unit};
  };
  switch (major) {
    case 0:
      return {};
    case 1:
      return {.register_unit = minor >= 2 ? 512 : 256,
              .registers_for_whole_block = true,
              .warp_unit = 2,
              .max_registers_per_thread = 124,
              .shared_unit = 512};
    case 2:
      // The calculator rounds the warps that the registers allow down to an even number: two parts.
      return {.register_unit = 64,
              .sub_partitions = 2,
              .max_registers_per_thread = 63,
              .shared_unit = 128};
    case 3: {
      AllocationUnits units = modern(4, 256);
      if (minor == 0) units.max_registers_per_thread = 63;
      return units;
    }
    case 5:
    case 7:
      return modern(4, 256);
    case 6:
      return modern(minor == 0 ? 2 : 4, 256);
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
      return modern(4, 128);
    default:
      throw usage_error(
          "no allocation units are known for compute capability {}.{}; known are 1.x to 3.x and "
          "5.x to 12.x",
          major, minor);
  }
}

}  // namespace tilescope::gpu
