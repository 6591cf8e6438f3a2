#include "compile/host_headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilescope::compile {
namespace {

/// The types are those of CUDA's own headers under the run-time compiler, so that both can be
/// included; uint and the like are those of the C library, which nvcc's headers bring along.
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
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
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
using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::hypot; using ::pow;
using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh; using ::atanh;
using ::floor; using ::ceil; using ::round; using ::trunc; using ::rint; using ::nearbyint;
using ::fmod; using ::remainder; using ::fmin; using ::fmax; using ::fdim; using ::fma;
using ::copysign; using ::erf; using ::erfc; using ::tgamma; using ::lgamma; using ::ldexp;
using ::isnan; using ::isinf; using ::isfinite; using ::signbit;
using ::min;
using ::max;
// For min<int>(a, b). The pack, which must be empty, lets cuda::std's own functions win where both
// are seen.
template <class T, class... None>
__host__ __device__ constexpr const T& min(const T& a, const T& b, None...) {
  static_assert(sizeof...(None) == 0, "std::min with a comparison is in <cuda/std/algorithm>");
  return b < a ? b : a;
}
template <class T, class... None>
__host__ __device__ constexpr const T& max(const T& a, const T& b, None...) {
  static_assert(sizeof...(None) == 0, "std::max with a comparison is in <cuda/std/algorithm>");
  return a < b ? b : a;
}
}
#ifndef NULL
#define NULL 0
#endif
#ifndef INFINITY
#define INFINITY (__int_as_float(0x7f800000))
#endif
#ifndef NAN
#define NAN (__int_as_float(0x7fffffff))
#endif
#ifndef HUGE_VALF
#define HUGE_VALF (__int_as_float(0x7f800000))
#define HUGE_VAL (__longlong_as_double(0x7ff0000000000000LL))
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
#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN 1.17549435082228750797e-38f
#define FLT_MAX 3.40282346638528859812e+38f
#define FLT_EPSILON 1.1920928955078125e-7f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN 2.2250738585072013831e-308
#define DBL_MAX 1.79769313486231570815e+308
#define DBL_EPSILON 2.2204460492503130808e-16
#endif
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#endif
)";

constexpr std::string_view integer_text = R"(#pragma once
#include <cuda/std/cstdint>
)";

/// Headers for which CUDA's own library has device code, in cuda::std.
constexpr std::array<std::string_view, 8> twins = {"type_traits", "limits",     "utility", "tuple",
                                                   "array",       "functional", "complex", "ratio"};

/// Headers of which kernels need nothing.
// clang-format off
constexpr std::array<std::string_view, 105> host_only = {
    "assert.h", "cassert", "stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring",
    "strings.h", "memory.h", "malloc.h", "time.h", "ctime", "sys/time.h", "sys/types.h",
    "sys/stat.h", "sys/mman.h", "sys/resource.h", "unistd.h", "fcntl.h", "getopt.h", "errno.h",
    "cerrno", "ctype.h", "cctype", "signal.h", "csignal", "stdarg.h", "cstdarg", "stdbool.h",
    "setjmp.h", "locale.h", "pthread.h", "omp.h", "mpi.h", "windows.h", "inttypes.h", "cinttypes",
    "stddef.h", "cstddef", "iostream", "iomanip", "fstream", "sstream", "ostream", "istream", "ios",
    "iosfwd", "vector", "string", "string_view", "map", "set", "unordered_map", "unordered_set",
    "deque", "list", "forward_list", "queue", "stack", "memory", "chrono", "random", "numeric",
    "iterator", "stdexcept", "exception", "thread", "mutex", "shared_mutex", "condition_variable",
    "future", "atomic", "filesystem", "optional", "variant", "any", "regex", "bitset", "locale",
    "typeinfo", "typeindex", "new", "valarray", "cuda.h", "cuda_profiler_api.h", "cublas_v2.h",
    "cublas.h", "cublasLt.h", "cufft.h", "cusparse.h", "cusolverDn.h", "cudnn.h", "nvml.h",
    "nvToolsExt.h", "nvtx3/nvToolsExt.h", "cuda_gl_interop.h", "helper_cuda.h",
    "helper_functions.h", "helper_timer.h", "helper_string.h", "helper_image.h",
    "helper_cuda_drvapi.h", "helper_multiprocess.h", "exception.h",
};
// clang-format on

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

template <std::size_t count>
bool contains(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::optional<std::string> host_header(std::string_view name) {
  constexpr std::string_view nothing = "#pragma once\n";
  if (contains(host_only, name)) return std::string(nothing);
  if (name == "stdint.h" || name == "cstdint") return std::string(integer_text);
  if (name == "limits.h" || name == "climits" || name == "float.h" || name == "cfloat") {
    return std::string(limits_text);
  }
  if (name == "math.h" || name == "cmath" || name == "algorithm") return std::string(nothing);
  if (contains(twins, name)) {
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
