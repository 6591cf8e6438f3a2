// Chooses the lane kernels for this CPU.
#include <cstdlib>
#include <cstring>

#include "emulator/lane_key.hpp"

namespace tilescope::emulator {

namespace baseline {
extern const LaneKernels kernels;
}
#ifdef TILESCOPE_LANES_X86
namespace v3 {
extern const LaneKernels kernels;
}
namespace v4 {
extern const LaneKernels kernels;
}
#endif

const LaneKernels* lane_kernels(const char* name) {
  if (std::strcmp(name, "baseline") == 0) return &baseline::kernels;
#ifdef TILESCOPE_LANES_X86
  // The features of x86-64-v3 and -v4.
  __builtin_cpu_init();
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::strcmp(name, "v3") == 0 && has_v3) return &v3::kernels;
  if (std::strcmp(name, "v4") == 0 && has_v4) return &v4::kernels;
#endif
  return nullptr;
}

namespace {

const LaneKernels* best() {
  if (const char* wanted = std::getenv("TILESCOPE_LANES")) {
    if (const LaneKernels* found = lane_kernels(wanted)) return found;
  }
  for (const char* name : {"v4", "v3"}) {
    if (const LaneKernels* found = lane_kernels(name)) return found;
  }
  return &baseline::kernels;
}

const LaneKernels*& chosen() {
  static const LaneKernels* kernels = best();
  return kernels;
}

}  // namespace

const LaneKernels& lane_kernels() {
  return *chosen();
}
void use_lane_kernels(const LaneKernels& kernels) {
  chosen() = &kernels;
}

}  // namespace tilescope::emulator
