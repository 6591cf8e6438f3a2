#include "compile/host_headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace tilescope::compile {
namespace {

/// Types are those of CUDA's own headers under the run-time compiler, so that both can be there.
constexpr std::string_view prelude_text = R"(#pragma once
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
namespace std {
using ::size_t;
using ::ptrdiff_t;
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::intptr_t;
using ::uintptr_t;
}
#ifndef NULL
#define NULL 0
#endif
#ifndef INFINITY
#define INFINITY (__builtin_huge_valf())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif
#ifndef HUGE_VALF
#define HUGE_VALF (__builtin_huge_valf())
#define HUGE_VAL (__builtin_huge_val())
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef RAND_MAX
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#endif
)";

constexpr std::string_view limits_text = R"(#pragma once
#include <cuda/std/climits>
#include <cuda/std/cfloat>
#ifndef INT_MAX
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#endif
)";

constexpr std::string_view integer_text = R"(#pragma once
#include <cuda/std/cstdint>
)";

/// The functions that have the same name in std as in the global namespace.
constexpr std::string_view mathematics_text = R"(#pragma once
namespace std {
using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::hypot; using ::pow;
using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh; using ::atanh;
using ::floor; using ::ceil; using ::round; using ::trunc; using ::rint; using ::nearbyint;
using ::fmod; using ::remainder; using ::fmin; using ::fmax; using ::fdim; using ::fma;
using ::copysign; using ::erf; using ::erfc; using ::tgamma; using ::lgamma; using ::ldexp;
using ::isnan; using ::isinf; using ::isfinite; using ::signbit;
}
)";

constexpr std::string_view algorithm_text = R"(#pragma once
namespace std {
using ::min;
using ::max;
}
)";

/// Headers whose contents CUDA's own library has for device code, in cuda::std.
constexpr std::array<std::string_view, 8> twins = {"type_traits", "limits",     "utility", "tuple",
                                                   "array",       "functional", "complex", "ratio"};

/// Headers of which kernels need nothing.
const std::set<std::string_view>& host_only() {
  static const std::set<std::string_view> names = {"assert.h",
                                                   "cassert",
                                                   "stdio.h",
                                                   "cstdio",
                                                   "stdlib.h",
                                                   "cstdlib",
                                                   "string.h",
                                                   "cstring",
                                                   "strings.h",
                                                   "memory.h",
                                                   "malloc.h",
                                                   "time.h",
                                                   "ctime",
                                                   "sys/time.h",
                                                   "sys/types.h",
                                                   "sys/stat.h",
                                                   "sys/mman.h",
                                                   "sys/resource.h",
                                                   "unistd.h",
                                                   "fcntl.h",
                                                   "getopt.h",
                                                   "errno.h",
                                                   "cerrno",
                                                   "ctype.h",
                                                   "cctype",
                                                   "signal.h",
                                                   "csignal",
                                                   "stdarg.h",
                                                   "cstdarg",
                                                   "stdbool.h",
                                                   "setjmp.h",
                                                   "locale.h",
                                                   "pthread.h",
                                                   "omp.h",
                                                   "mpi.h",
                                                   "windows.h",
                                                   "inttypes.h",
                                                   "cinttypes",
                                                   "stddef.h",
                                                   "cstddef",
                                                   "iostream",
                                                   "iomanip",
                                                   "fstream",
                                                   "sstream",
                                                   "ostream",
                                                   "istream",
                                                   "ios",
                                                   "iosfwd",
                                                   "vector",
                                                   "string",
                                                   "string_view",
                                                   "map",
                                                   "set",
                                                   "unordered_map",
                                                   "unordered_set",
                                                   "deque",
                                                   "list",
                                                   "forward_list",
                                                   "queue",
                                                   "stack",
                                                   "memory",
                                                   "chrono",
                                                   "random",
                                                   "numeric",
                                                   "iterator",
                                                   "stdexcept",
                                                   "exception",
                                                   "thread",
                                                   "mutex",
                                                   "shared_mutex",
                                                   "condition_variable",
                                                   "future",
                                                   "atomic",
                                                   "filesystem",
                                                   "optional",
                                                   "variant",
                                                   "any",
                                                   "regex",
                                                   "bitset",
                                                   "locale",
                                                   "typeinfo",
                                                   "typeindex",
                                                   "new",
                                                   "valarray",
                                                   "cuda_profiler_api.h",
                                                   "cublas_v2.h",
                                                   "cublas.h",
                                                   "cublasLt.h",
                                                   "cufft.h",
                                                   "cusparse.h",
                                                   "cusolverDn.h",
                                                   "curand.h",
                                                   "cudnn.h",
                                                   "nvml.h",
                                                   "nvToolsExt.h",
                                                   "nvtx3/nvToolsExt.h",
                                                   "cuda_gl_interop.h",
                                                   "helper_cuda.h",
                                                   "helper_functions.h",
                                                   "helper_timer.h",
                                                   "helper_string.h",
                                                   "helper_image.h",
                                                   "helper_cuda_drvapi.h",
                                                   "helper_multiprocess.h",
                                                   "exception.h"};
  return names;
}

/// CUB without its device-wide algorithms, which launch kernels themselves.
constexpr std::string_view cub_text = R"(#pragma once
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
)";

}  // namespace

std::optional<std::string> host_header(std::string_view name) {
  constexpr std::string_view nothing = "#pragma once\n";
  if (host_only().contains(name)) return std::string(nothing);
  if (name == "stdint.h" || name == "cstdint") return std::string(integer_text);
  if (name == "limits.h" || name == "climits" || name == "float.h" || name == "cfloat") {
    return std::string(limits_text);
  }
  if (name == "math.h" || name == "cmath") return std::string(mathematics_text);
  if (name == "algorithm") return std::string(algorithm_text);
  if (std::find(twins.begin(), twins.end(), name) != twins.end()) {
    return fmt::format(
        "#pragma once\n#include <cuda/std/{}>\nnamespace std {{\n"
        "using namespace cuda::std;\n}}\n",
        name);
  }
  if (name == "cub/cub.cuh") return std::string(cub_text);
  // Containers and algorithms of the host; what device code uses of Thrust are its small types.
  if (name.starts_with("thrust/") && name != "thrust/complex.h" && name != "thrust/pair.h" &&
      name != "thrust/tuple.h" && name != "thrust/functional.h") {
    return std::string(nothing);
  }
  return std::nullopt;
}

std::string_view prelude() {
  return prelude_text;
}

}  // namespace tilescope::compile
