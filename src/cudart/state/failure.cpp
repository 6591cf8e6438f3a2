#include "cudart/state/failure.hpp"

#include <cstdio>

namespace tilescope::cudart {

void complain(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "tilescope: %.*s\n", int(message.size()), message.data());
}

}  // namespace tilescope::cudart
