// The vendor's algorithms that exist only as templates, as plain functions in a shared library: the
// peers that `tilescope ladder` times in its own process, on the same data, beside our rungs.
//
// Build: bench/build_peers.sh FOLDER. Each function gets a PeerCall (src/device/cuda/peers.hpp has
// the same struct), queues its work on the default stream, and returns nullptr or what went wrong.
// Temporary storage is allocated in the first call and kept, so that timed runs allocate nothing.
#include <cstdint>
#include <cstring>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/tuple>

namespace {

struct PeerCall {
  std::uint64_t inputs[2];
  std::uint64_t output;
  std::int64_t count;
  double numbers[3];
  std::int32_t choice;
  char type[12];

  bool is(const char* name) const { return std::strcmp(type, name) == 0; }
  template <typename T>
  const T* in(int which = 0) const {
    return reinterpret_cast<const T*>(inputs[which]);
  }
  template <typename T>
  T* out() const {
    return reinterpret_cast<T*>(output);
  }
};

constexpr const char* no_such_type = "not for this type of elements";

const char* outcome(cudaError_t error) {
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

// Calls algorithm(storage, bytes) twice, as CUB wants it: for the bytes it needs, and to run. One
// buffer serves all calls; it only grows.
template <typename Algorithm>
const char* with_storage(const Algorithm& algorithm) {
  static void* storage = nullptr;
  static std::size_t there = 0;
  std::size_t needed = 0;
  if (const char* failure = outcome(algorithm(nullptr, needed))) return failure;
  if (needed > there) {
    cudaFree(storage);
    storage = nullptr;
    there = 0;
    if (const char* failure = outcome(cudaMalloc(&storage, needed))) return failure;
    there = needed;
  }
  return outcome(algorithm(storage, needed));
}

template <typename Body>
const char* for_real(const PeerCall& call, const Body& body) {
  if (call.is("float32")) return body(float{});
  if (call.is("float64")) return body(double{});
  return no_such_type;
}

template <typename T>
struct Saxpb {
  T a, b;
  __device__ T operator()(T x) const { return a * x + b; }
};
template <typename T>
struct Times {
  T factor;
  __device__ T operator()(T x) const { return factor * x; }
};

template <typename Sample, typename Level, typename Offset>
const char* even_histogram(const PeerCall& call) {
  return with_storage([&](void* storage, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(
        storage, bytes, call.in<Sample>(), call.out<unsigned>(),
        static_cast<int>(call.numbers[2]) + 1, static_cast<Level>(call.numbers[0]),
        static_cast<Level>(call.numbers[1]), static_cast<Offset>(call.count));
  });
}
template <typename Sample, typename Level>
const char* even_histogram(const PeerCall& call) {
  // 32-bit offsets, as its users have them, wherever they reach.
  return call.count >> 31 ? even_histogram<Sample, Level, std::int64_t>(call)
                          : even_histogram<Sample, Level, int>(call);
}

// Sums start from, and go on in, Sum: float for float, as CUB does it by default.
template <typename T, typename Sum, typename Result>
const char* reduction(const PeerCall& call) {
  return with_storage([&](void* storage, std::size_t& bytes) {
    const T* const x = call.in<T>();
    switch (call.choice) {
      case 0:
        return cub::DeviceReduce::Reduce(storage, bytes, x, call.out<Result>(), call.count,
                                         cuda::std::plus<Sum>{}, Sum{0});
      case 1:
        return cub::DeviceReduce::Min(storage, bytes, x, call.out<T>(), call.count);
      case 2:
        return cub::DeviceReduce::Max(storage, bytes, x, call.out<T>(), call.count);
      default: {
        static T* largest = nullptr;  // its value, which is unused
        if (!largest) {
          if (const cudaError_t error = cudaMalloc(&largest, sizeof(double))) return error;
        }
        return cub::DeviceReduce::ArgMax(storage, bytes, x, largest, call.out<std::int64_t>(),
                                         call.count);
      }
    }
  });
}

}  // namespace

#define TILESCOPE_PEER(name) \
  extern "C" __attribute__((visibility("default"))) const char* tilescope_peer_##name( \
      const PeerCall* call)

TILESCOPE_PEER(saxpb) {
  return for_real(*call, [call](auto zero) {
    using T = decltype(zero);
    return outcome(cub::DeviceTransform::Transform(
        call->in<T>(), call->out<T>(), call->count,
        Saxpb<T>{static_cast<T>(call->numbers[0]), static_cast<T>(call->numbers[1])}));
  });
}

TILESCOPE_PEER(scale) {
  return for_real(*call, [call](auto zero) {
    using T = decltype(zero);
    return outcome(cub::DeviceTransform::Transform(call->in<T>(), call->out<T>(), call->count,
                                                   Times<T>{static_cast<T>(call->numbers[0])}));
  });
}

TILESCOPE_PEER(vector_add) {
  return for_real(*call, [call](auto zero) {
    using T = decltype(zero);
    return outcome(cub::DeviceTransform::Transform(cuda::std::make_tuple(call->in<T>(0), call->in<T>(1)),
                                                   call->out<T>(), call->count,
                                                   cuda::std::plus<T>{}));
  });
}

TILESCOPE_PEER(histogram) {
  if (call->is("uint8")) return even_histogram<std::uint8_t, int>(*call);
  if (call->is("uint16")) return even_histogram<std::uint16_t, int>(*call);
  if (call->is("int32")) return even_histogram<std::int32_t, int>(*call);
  if (call->is("float32")) return even_histogram<float, float>(*call);
  return no_such_type;
}

TILESCOPE_PEER(reduce) {
  if (call->is("float32")) return reduction<float, float, double>(*call);
  if (call->is("float64")) return reduction<double, double, double>(*call);
  if (call->is("int32")) return reduction<std::int32_t, std::int64_t, std::int64_t>(*call);
  return no_such_type;
}
