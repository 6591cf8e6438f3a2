#include "base/openblas.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <vector>

#include "base/errors.hpp"
#include "base/own_file.hpp"
#include "base/parallel.hpp"

#if defined(TILESCOPE_STATIC_OPENBLAS)
extern "C" {
void* blas_memory_alloc(int procpos);
void blas_memory_free(void* buffer);
}
#endif

namespace tilescope {
namespace {

constexpr const char* core_variable = "OPENBLAS_CORETYPE";
constexpr const char* threads_variable = "OPENBLAS_NUM_THREADS";

constexpr std::size_t MiB = 1024 * 1024;
constexpr std::size_t library_bytes = 64 * MiB;
/// Memory of each multiplying thread for its copies of operands. Only pages in use take memory.
constexpr std::size_t buffer_bytes = 128 * MiB + MiB;

/// Whether this process may map so much more memory (ulimit -v).
bool has_room(std::size_t bytes) {
  void* const there = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return there != MAP_FAILED && munmap(there, bytes) == 0;
}

[[noreturn]] void refuse_without_room() {
  throw device_error(
      "too little memory: OpenBLAS, which computes on the CPU, maps {} MiB and {} MiB for each "
      "thread; raise this process's limit (ulimit -v)",
      library_bytes / MiB, buffer_bytes / MiB);
}

/// A variable of the environment that has a value while OpenBLAS starts, and reads it.
class StartingValue {
 public:
  StartingValue(const char* name, const char* value) : name_(name) {
    is_set_ = value && !std::getenv(name) && setenv(name, value, 0) == 0;
  }
  void unset() const {
    if (is_set_) unsetenv(name_);
  }

 private:
  const char* name_;
  bool is_set_ = false;
};

/// Lets OpenBLAS map the buffers of as many threads as there are cores, or as find room, and
/// returns their number. A thread that found no buffer later would wait for one for ever.
std::size_t reserve_buffers(void* (*allocate)(int), void (*give_back)(void*)) {
  std::vector<void*> buffers;
  constexpr std::size_t left_for_others = 32 * MiB;  // the threads' stacks
  while (buffers.size() < core_count() &&
         has_room(buffer_bytes + (buffers.empty() ? 0 : left_for_others))) {
    buffers.push_back(allocate(0));
  }
  for (void* const buffer : buffers) give_back(buffer);  // they stay mapped
  if (buffers.empty()) refuse_without_room();
  return buffers.size();
}

/// The OpenBLAS kernels that this processor can run, by its features. OpenBLAS itself chooses by
/// model number, and takes SSE kernels of 2004, four times slower, for a model younger than the
/// library.
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
StartingValue* starting_values() {
  static StartingValue values[] = {{core_variable, core_by_features()}, {threads_variable, "1"}};
  return values;
}

// The archive starts before main, in a constructor of default priority; this one comes first.
[[gnu::constructor(101)]] void choose_core_before_openblas_starts() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  starting_values();
}
#endif

OpenBlas open_openblas() {
  OpenBlas blas;
#if defined(TILESCOPE_STATIC_OPENBLAS)
  for (int i = 0; i < 2; ++i) starting_values()[i].unset();
  blas.sgemm = cblas_sgemm;
  blas.dgemm = cblas_dgemm;
  blas.core = openblas_get_corename();
  blas.threads = openblas_get_num_threads;
  blas.set_threads = openblas_set_num_threads;
  blas.callers = reserve_buffers(blas_memory_alloc, blas_memory_free);
#else
  if (!has_room(library_bytes)) refuse_without_room();
  // Its own threads would have nothing to do: products are cut into cells, one thread a cell.
  const StartingValue core(core_variable, core_by_features()), threads(threads_variable, "1");
  std::string failure;
  // A Python package has its own, beside the module; the system's otherwise.
  blas.shared_object = DynamicLibrary::open(
      {(own_folder() / "lib/libtilescope_openblas.so").string(),
       (own_folder() / "libtilescope_openblas.so").string(), "libopenblas.so.0", "libopenblas.so"},
      &failure);
  core.unset();
  threads.unset();
  if (!blas.shared_object || !blas.shared_object.load("cblas_sgemm", blas.sgemm) ||
      !blas.shared_object.load("cblas_dgemm", blas.dgemm)) {
    throw device_error(
        "OpenBLAS, which computes on the CPU, was not found ({}); install it (Debian: "
        "libopenblas0)",
        failure);
  }
  char* (*core_name)() = nullptr;
  if (blas.shared_object.load("openblas_get_corename", core_name)) blas.core = core_name();
  blas.shared_object.load("openblas_get_num_threads", blas.threads);
  blas.shared_object.load("openblas_set_num_threads", blas.set_threads);
  void* (*allocate)(int) = nullptr;
  void (*give_back)(void*) = nullptr;
  const bool can_reserve = blas.shared_object.load("blas_memory_alloc", allocate) &&
                           blas.shared_object.load("blas_memory_free", give_back);
  blas.callers = can_reserve ? reserve_buffers(allocate, give_back) : core_count();
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
