// Samples the textures of tests/support/texture_case_list.hpp on a GPU, for the emulator's tests:
//
//     nvcc -std=c++20 -arch=native -I tests -o texture_samples bench/texture_samples.cu
//     ./texture_samples tests/data/textures/samples.bin
//     ncu --metrics ... ./texture_samples --count     # a launch for each line that it prints
//
// The file has for each case CUDA's code (0, or why the case could not be made) and four 32-bit
// words for each of its points.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/texture_count_cases.hpp"

namespace {

using namespace texture_cases;

#define REQUIRE(call)                                                             \
  do {                                                                            \
    const cudaError_t code = (call);                                              \
    if (code != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));          \
      std::exit(1);                                                               \
    }                                                                             \
  } while (false)

struct Job {
  Shape shape;
  Operation operation;
  int component;
  int element_bytes;
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
};

template <typename V>
__device__ V sampled(const Job& j, const Point& p) {
  const int layer = static_cast<int>(p.layer);
  switch (j.shape) {
    case Shape::d1: return tex1D<V>(j.texture, p.x);
    case Shape::d3: return tex3D<V>(j.texture, p.x, p.y, p.z);
    case Shape::layered_1d: return tex1DLayered<V>(j.texture, p.x, layer);
    case Shape::layered_2d: return tex2DLayered<V>(j.texture, p.x, p.y, layer);
    case Shape::cube: return texCubemap<V>(j.texture, p.x, p.y, p.z);
    case Shape::layered_cube: return texCubemapLayered<V>(j.texture, p.x, p.y, p.z, layer);
    default: return tex2D<V>(j.texture, p.x, p.y);
  }
}

template <typename V>
__device__ V at_level(const Job& j, const Point& p) {
  switch (j.shape) {
    case Shape::d1: return tex1DLod<V>(j.texture, p.x, p.level);
    case Shape::d3: return tex3DLod<V>(j.texture, p.x, p.y, p.z, p.level);
    case Shape::cube: return texCubemapLod<V>(j.texture, p.x, p.y, p.z, p.level);
    default: return tex2DLod<V>(j.texture, p.x, p.y, p.level);
  }
}

template <typename V>
__device__ V fetched(const Job& j, const Point& p) {
  const int x = static_cast<int>(p.x), y = static_cast<int>(p.y);
  unsigned r[4];
  if (j.shape == Shape::d2) {
    asm volatile("tex.2d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "l"(j.texture), "r"(x), "r"(y));
  } else {
    asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "l"(j.texture), "r"(x));
  }
  return *reinterpret_cast<V*>(r);
}

template <typename V>
__device__ V gathered(const Job& j, const Point& p) {
  switch (j.component) {
    case 0: return tex2Dgather<V>(j.texture, p.x, p.y, 0);
    case 1: return tex2Dgather<V>(j.texture, p.x, p.y, 1);
    case 2: return tex2Dgather<V>(j.texture, p.x, p.y, 2);
    default: return tex2Dgather<V>(j.texture, p.x, p.y, 3);
  }
}

template <typename V>
__global__ void sample(Job j, const Point* points, V* results, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Point p = points[i];
  V r = {};
  switch (j.operation) {
    case Operation::sample: r = sampled<V>(j, p); break;
    case Operation::level: r = at_level<V>(j, p); break;
    case Operation::gradient:
      r = tex2DGrad<V>(j.texture, p.x, p.y, make_float2(p.dx[0], p.dx[1]),
                       make_float2(p.dy[0], p.dy[1]));
      break;
    case Operation::gather: r = gathered<V>(j, p); break;
    case Operation::fetch: r = fetched<V>(j, p); break;
    default: break;
  }
  results[i] = r;
}

template <typename E, cudaSurfaceBoundaryMode mode>
__device__ uint4 loaded_as(const Job& j, const Point& p) {
  const int x = static_cast<int>(p.x) * static_cast<int>(sizeof(E));
  const int y = static_cast<int>(p.y), z = static_cast<int>(p.z);
  E e;
  if (j.shape == Shape::d3) {
    e = surf3Dread<E>(j.surface, x, y, z, mode);
  } else if (j.shape == Shape::layered_2d) {
    e = surf2DLayeredread<E>(j.surface, x, y, static_cast<int>(p.layer), mode);
  } else {
    e = surf2Dread<E>(j.surface, x, y, mode);
  }
  uint4 r = {0, 0, 0, 0};
  memcpy(&r, &e, sizeof e);
  return r;
}

template <cudaSurfaceBoundaryMode mode>
__global__ void load(Job j, const Point* points, uint4* results, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  results[i] = j.element_bytes == 4 ? loaded_as<uchar4, mode>(j, points[i])
                                    : loaded_as<uint2, mode>(j, points[i]);
}

cudaChannelFormatDesc channels_of(const Case& c) {
  const cudaChannelFormatKind kinds[] = {cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned,
                                         cudaChannelFormatKindFloat};
  const auto bits = [&](int channel) { return channel < c.channels ? c.bits : 0; };
  return {bits(0), bits(1), bits(2), bits(3), kinds[static_cast<int>(c.kind)]};
}

/// The resource of one case.
struct Image {
  cudaMipmappedArray_t mipmapped = nullptr;
  cudaArray_t array = nullptr;
  void* memory = nullptr;
  std::size_t pitch = 0;

  ~Image() {
    if (mipmapped != nullptr) cudaFreeMipmappedArray(mipmapped);
    if (array != nullptr && mipmapped == nullptr) cudaFreeArray(array);
    cudaFree(memory);
  }

  cudaError_t copy_level(const Case& c, cudaArray_t to, unsigned number, int level) {
    std::vector<std::uint8_t> bytes = contents(c, number, level);
    cudaMemcpy3DParms copy = {};
    const std::size_t row = std::size_t(c.row_elements(level)) * c.element_bytes();
    copy.srcPtr = make_cudaPitchedPtr(bytes.data(), row, c.row_elements(level), c.rows(level));
    copy.dstArray = to;
    copy.extent = make_cudaExtent(c.row_elements(level), c.rows(level), c.slices(level));
    copy.kind = cudaMemcpyHostToDevice;
    return cudaMemcpy3D(&copy);
  }

  cudaError_t make(const Case& c, unsigned number, cudaResourceDesc& resource) {
    const cudaChannelFormatDesc channels = channels_of(c);
    const std::size_t row = std::size_t(c.width) * c.element_bytes();
    if (c.shape == Shape::linear || c.shape == Shape::pitch) {
      const std::vector<std::uint8_t> bytes = contents(c, number, 0);
      if (cudaError_t e = cudaMallocPitch(&memory, &pitch, row, c.rows(0))) return e;
      if (c.shape == Shape::linear) {
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear = {memory, channels, row};
      } else {
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D = {memory, channels, std::size_t(c.width), std::size_t(c.height),
                                pitch};
      }
      return cudaMemcpy2D(memory, pitch, bytes.data(), row, row, c.rows(0), cudaMemcpyDefault);
    }
    unsigned flags = 0;
    if (c.layered()) flags |= cudaArrayLayered;
    if (c.is_cube()) flags |= cudaArrayCubemap;
    if (c.operation == Operation::gather) flags |= cudaArrayTextureGather;
    if (c.operation >= Operation::load) flags |= cudaArraySurfaceLoadStore;
    const bool deep = c.shape == Shape::d3 || c.layered() || c.is_cube();
    const cudaExtent extent = make_cudaExtent(c.width, c.dimensions() == 1 ? 0 : c.height,
                                              deep ? c.slices(0) : 0);
    if (c.levels == 1) {
      if (cudaError_t e = cudaMalloc3DArray(&array, &channels, extent, flags)) return e;
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = array;
      return copy_level(c, array, number, 0);
    }
    if (cudaError_t e = cudaMallocMipmappedArray(&mipmapped, &channels, extent, c.levels, flags)) {
      return e;
    }
    for (int level = c.levels - 1; level >= 0; --level) {
      if (cudaError_t e = cudaGetMipmappedArrayLevel(&array, mipmapped, level)) return e;
      if (cudaError_t e = copy_level(c, array, number, level)) return e;
    }
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmapped;
    return cudaSuccess;
  }
};

cudaTextureDesc description(const Case& c) {
  cudaTextureDesc d = {};
  const cudaTextureAddressMode modes[] = {cudaAddressModeWrap, cudaAddressModeClamp,
                                          cudaAddressModeMirror, cudaAddressModeBorder};
  for (auto& mode : d.addressMode) mode = modes[static_cast<int>(c.address)];
  d.filterMode = c.linear ? cudaFilterModeLinear : cudaFilterModePoint;
  d.readMode = c.as_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  d.sRGB = c.srgb;
  d.normalizedCoords = c.normalized;
  d.maxAnisotropy = c.anisotropy;
  d.mipmapFilterMode = c.linear_levels ? cudaFilterModeLinear : cudaFilterModePoint;
  d.mipmapLevelBias = c.bias;
  d.minMipmapLevelClamp = c.min_level;
  d.maxMipmapLevelClamp = c.max_level;
  d.disableTrilinearOptimization = !c.trilinear_optimized;
  d.seamlessCubemap = c.seamless;
  if (c.border_color) {
    const float color[] = {0.25f, 0.5f, -0.75f, 2.0f};
    std::copy(color, color + 4, d.borderColor);
  }
  return d;
}

void run(const Case& c, const Job& job, const std::vector<Point>& points, void* results) {
  Point* on_device = nullptr;
  REQUIRE(cudaMalloc(&on_device, points.size() * sizeof(Point)));
  REQUIRE(cudaMemcpy(on_device, points.data(), points.size() * sizeof(Point), cudaMemcpyDefault));
  const int count = static_cast<int>(points.size()), blocks = (count + 127) / 128;
  auto* const words = static_cast<uint4*>(results);
  if (c.operation == Operation::load) {
    load<cudaBoundaryModeClamp><<<blocks, 128>>>(job, on_device, words, count);
  } else if (c.operation == Operation::load_zero) {
    load<cudaBoundaryModeZero><<<blocks, 128>>>(job, on_device, words, count);
  } else if (c.kind == Kind::floating || c.as_float) {
    sample<<<blocks, 128>>>(job, on_device, static_cast<float4*>(results), count);
  } else {
    sample<<<blocks, 128>>>(job, on_device, words, count);
  }
  REQUIRE(cudaGetLastError());
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaFree(on_device));
}

/// Samples a case at `points`; writes the results to `file`, if there is one.
bool record(const Case& c, unsigned number, const std::vector<Point>& points, std::FILE* file) {
  std::vector<std::uint32_t> words(points.size() * 4);
  Image image;
  cudaResourceDesc resource = {};
  Job job{c.shape, c.operation, c.component, c.element_bytes(), 0, 0};
  cudaError_t code = image.make(c, number, resource);
  const bool surface = c.operation >= Operation::load;
  const cudaTextureDesc texture = description(c);
  if (code == cudaSuccess && !surface) {
    code = cudaCreateTextureObject(&job.texture, &resource, &texture, nullptr);
  }
  if (code == cudaSuccess && surface) {
    cudaResourceDesc whole = {};
    whole.resType = cudaResourceTypeArray;
    whole.res.array.array = image.array;
    code = cudaCreateSurfaceObject(&job.surface, &whole);
  }
  if (code != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), cudaGetErrorString(code));
    cudaGetLastError();
  } else {
    void* results = nullptr;
    REQUIRE(cudaMalloc(&results, words.size() * 4));
    REQUIRE(cudaMemset(results, 0, words.size() * 4));
    run(c, job, points, results);
    REQUIRE(cudaMemcpy(words.data(), results, words.size() * 4, cudaMemcpyDefault));
    REQUIRE(cudaFree(results));
  }
  if (job.texture != 0) REQUIRE(cudaDestroyTextureObject(job.texture));
  if (job.surface != 0) REQUIRE(cudaDestroySurfaceObject(job.surface));
  if (file != nullptr) {
    const auto status = static_cast<std::uint32_t>(code);
    std::fwrite(&status, 4, 1, file);
    std::fwrite(words.data(), 4, words.size(), file);
  }
  return code == cudaSuccess;
}

// --- surfaces, by one warp in rows of `wide` lanes: profilers count their stores too

template <typename E>
__global__ void count_surface(cudaSurfaceObject_t surface, int wide, bool store, E* out) {
  const int lane = threadIdx.x, x = lane % wide, y = lane / wide;
  if (store) {
    surf2Dwrite(out[lane], surface, x * static_cast<int>(sizeof(E)), y);
  } else {
    out[lane] = surf2Dread<E>(surface, x * static_cast<int>(sizeof(E)), y);
  }
}

void count_surfaces() {
  uint4* out = nullptr;
  REQUIRE(cudaMalloc(&out, 32 * sizeof *out));
  const Case c{.operation = Operation::load, .width = 128, .height = 128};
  Image image;
  cudaResourceDesc resource = {};
  REQUIRE(image.make(c, 1, resource));
  cudaSurfaceObject_t surface = 0;
  REQUIRE(cudaCreateSurfaceObject(&surface, &resource));
  for (const bool store : {false, true}) {
    for (const int wide : {32, 16, 8, 4, 1}) {
      count_surface<<<1, 32>>>(surface, wide, store, reinterpret_cast<unsigned*>(out));
      std::printf("surface %s 4 bytes in rows of %d\n", store ? "store" : "load", wide);
      count_surface<<<1, 32>>>(surface, wide, store, out);
      std::printf("surface %s 16 bytes in rows of %d\n", store ? "store" : "load", wide);
    }
  }
  REQUIRE(cudaDeviceSynchronize());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--count") {
    unsigned number = 0;
    for (const Case& c : counted()) {
      ++number;
      for (const Layout layout : kLayouts) {
        std::vector<Point> points;
        for (unsigned lane = 0; lane < lanes_of(layout); ++lane) {
          points.push_back(counted_point(c, layout, number, lane));
        }
        if (!record(c, number, points, nullptr)) continue;
        std::printf("%s %s\n", c.name.c_str(), text(layout));
      }
    }
    count_surfaces();
    return 0;
  }
  std::FILE* const file = argc == 2 ? std::fopen(argv[1], "wb") : nullptr;
  if (file == nullptr) {
    std::fprintf(stderr, "usage: texture_samples FILE | --count\n");
    return 2;
  }
  unsigned number = 0;
  for (const Case& c : all()) {
    ++number;
    std::vector<Point> points;
    for (int i = 0; i < c.points; ++i) points.push_back(point(c, number, i));
    record(c, number, points, file);
  }
  std::printf("%u cases\n", number);
  return std::fclose(file) == 0 ? 0 : 1;
}
