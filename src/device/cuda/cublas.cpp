#include "device/cuda/cublas.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/cuda_paths.hpp"
#include "base/dynamic_library.hpp"
#include "base/errors.hpp"

namespace tilescope::device {
namespace {

// cuBLAS's C interface, as its reference documents it. Five calls do not need its header.
using Handle = void*;
using Status = int;
constexpr Status success = 0;
constexpr int no_transpose = 0;

struct Library {
  DynamicLibrary shared_object;
  std::string failure;
  Status (*create)(Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*sgemm)(Handle, int, int, int, int, int, const float*, const float*, int, const float*,
                  int, const float*, float*, int) = nullptr;
  const char* (*status_string)(Status) = nullptr;

  static const Library& instance() {
    static const Library opened = [] {
      Library l;
      l.shared_object = DynamicLibrary::open(
          cuda_library_candidates({"libcublas.so.13", "libcublas.so.12", "libcublas.so"}),
          &l.failure);
      if (l.shared_object && !(l.shared_object.load("cublasCreate_v2", l.create) &&
                               l.shared_object.load("cublasDestroy_v2", l.destroy) &&
                               l.shared_object.load("cublasSgemm_v2", l.sgemm) &&
                               l.shared_object.load("cublasGetStatusString", l.status_string))) {
        l.failure = l.shared_object.path() + " is older than CUDA 12";
      }
      return l;
    }();
    return opened;
  }
};

void check(Status status, const char* call) {
  if (status == success) return;
  throw device_error("{} failed: {}", call, Library::instance().status_string(status));
}

}  // namespace

struct Cublas::State {
  Handle handle = nullptr;
};

std::string Cublas::missing() {
  const Library& library = Library::instance();
  if (library.status_string) return {};
  return fmt::format("cuBLAS was not found ({})", library.failure);
}

Cublas::Cublas() : state_(std::make_unique<State>()) {
  if (const std::string why = missing(); !why.empty()) throw Error(ErrorKind::no_device, why);
  check(Library::instance().create(&state_->handle), "cublasCreate");
}

Cublas::~Cublas() {
  Library::instance().destroy(state_->handle);
}

void Cublas::sgemm(const MatmulShape& shape, DeviceAddress a, DeviceAddress b,
                   DeviceAddress c) const {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (shape.m > most || shape.n > most || shape.k > most) {
    throw usage_error("cublasSgemm takes extents up to {}", most);
  }
  const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n),
            k = static_cast<int>(shape.k);
  const float one = 1.0F, zero = 0.0F;
  // cuBLAS is column-major: its view of row-major C is the transpose, and C^T = B^T * A^T.
  check(Library::instance().sgemm(state_->handle, no_transpose, no_transpose, n, m, k, &one,
                                  reinterpret_cast<const float*>(b), n,
                                  reinterpret_cast<const float*>(a), k, &zero,
                                  reinterpret_cast<float*>(c), n),
        "cublasSgemm");
}

}  // namespace tilescope::device
