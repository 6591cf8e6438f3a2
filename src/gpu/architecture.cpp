#include "gpu/architecture.hpp"

#include <fmt/format.h>

namespace tilescope::gpu {

std::string architecture_name(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

int fp32_lanes_per_sm(int major, int minor) {
  switch (major * 10 + minor) {
    case 20:
      return 32;
    case 50:
    case 52:
    case 53:
    case 61:
    case 62:
      return 128;
    case 60:
    case 70:
    case 72:
    case 75:
    case 80:
      return 64;
    case 86:
    case 87:
    case 89:
    case 90:
    case 100:
    case 103:
    case 120:
      return 128;
    default:
      return 0;
  }
}

}  // namespace tilescope::gpu
