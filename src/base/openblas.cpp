#include "base/openblas.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <tilescope/error.hpp>
#include <vector>

namespace tilescope {
namespace {

constexpr const char* core_variable = "OPENBLAS_CORETYPE";

/// The OpenBLAS kernels that this processor can run, by its features. OpenBLAS itself goes by model
/// numbers, and takes SSE kernels of 2004, four times slower, for a model younger than the library.
const char* core_by_features() {
#if defined(__x86_64__)
  const auto avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("intel")) {
    return "SAPPHIRERAPIDS";
  }
  if (avx512) return "SKYLAKEX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return __builtin_cpu_is("amd") ? "ZEN" : "HASWELL";
  }
#endif
  return nullptr;
}

#if defined(TILESCOPE_STATIC_OPENBLAS)
bool core_was_chosen = false;

// The archive starts before main, in a constructor of default priority; this one comes first.
[[gnu::constructor(101)]] void choose_core_before_openblas_starts() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  const char* core = core_by_features();
  core_was_chosen = core && !std::getenv(core_variable) && setenv(core_variable, core, 0) == 0;
}
#endif

OpenBlas open_openblas() {
  OpenBlas blas;
#if defined(TILESCOPE_STATIC_OPENBLAS)
  if (core_was_chosen) unsetenv(core_variable);  // it was read once, at OpenBLAS's start
  blas.sgemm = cblas_sgemm;
  blas.dgemm = cblas_dgemm;
  blas.core = openblas_get_corename();
  blas.threads = openblas_get_num_threads;
  blas.set_threads = openblas_set_num_threads;
#else
  const char* core = core_by_features();
  const bool choose = core && !std::getenv(core_variable);
  if (choose) setenv(core_variable, core, 0);
  std::string failure;
  blas.shared_object = DynamicLibrary::open({"libopenblas.so.0", "libopenblas.so"}, &failure);
  if (choose) unsetenv(core_variable);  // it is read once, at the library's start
  if (!blas.shared_object || !blas.shared_object.load("cblas_sgemm", blas.sgemm) ||
      !blas.shared_object.load("cblas_dgemm", blas.dgemm)) {
    throw Error(ErrorKind::no_device,
                fmt::format("OpenBLAS, which computes on the CPU, was not found ({}); install it "
                            "(Debian: libopenblas0)",
                            failure));
  }
  char* (*core_name)() = nullptr;
  if (blas.shared_object.load("openblas_get_corename", core_name)) blas.core = core_name();
  blas.shared_object.load("openblas_get_num_threads", blas.threads);
  blas.shared_object.load("openblas_set_num_threads", blas.set_threads);
#endif
  return blas;
}

}  // namespace

const OpenBlas& OpenBlas::instance() {
  static const OpenBlas blas = open_openblas();
  return blas;
}

OpenBlas::OneThread::OneThread() {
  const OpenBlas& blas = instance();
  if (blas.threads && blas.set_threads) {
    before_ = blas.threads();
    blas.set_threads(1);
  }
}

OpenBlas::OneThread::~OneThread() {
  if (before_ > 0) instance().set_threads(before_);
}

}  // namespace tilescope
