// Arrays, mipmapped arrays, texture and surface objects, and copies between them and memory.
#include <numeric>

#include "cudart/device_program.hpp"

namespace cudart_test {
namespace {

const char* const texture_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry sample(.param .u64 p_texture, .param .u64 p_out)
{
  .reg .b32 %r<3>; .reg .f32 %f<7>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p_texture]; ld.param.u64 %rd2, [p_out];
  mov.u32 %r1, %tid.x;
  cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F000000; mov.f32 %f2, 0f3F000000;
  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
  mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; st.global.f32 [%rd4], %f3;
  ret;
}
.visible .entry store(.param .u64 p_surface)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p_surface];
  mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;
  sust.b.2d.b32.trap [%rd1, {%r2, 0}], %r1;
  ret;
}
)";

const cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
const cudaChannelFormatDesc ints = {32, 0, 0, 0, cudaChannelFormatKindSigned};

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

/// A fresh context with the kernels above.
class Textures : public testing::Test {
 protected:
  Textures() : code(texture_ptx) {
    code.kernel(&sample, "sample");
    code.kernel(&store, "store");
  }
  ~Textures() override {
    cudaDeviceReset();
    cudaGetLastError();
  }

  /// The values at the middles of the first `count` elements of the first row.
  std::vector<float> row_of(cudaTextureObject_t texture, unsigned count) {
    void* out = nullptr;
    EXPECT_EQ(cudaMalloc(&out, count * sizeof(float)), cudaSuccess);
    void* arguments[] = {&texture, &out};
    EXPECT_EQ(cudaLaunchKernel(&sample, dim3(1), dim3(count), arguments, 0, nullptr), cudaSuccess);
    std::vector<float> values(count);
    EXPECT_EQ(cudaMemcpy(values.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(cudaFree(out), cudaSuccess);
    return values;
  }
  cudaTextureObject_t texture_of(const cudaResourceDesc& resource) {
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t texture = 0;
    EXPECT_EQ(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaSuccess);
    return texture;
  }

  DeviceCode code;
  char sample = 0, store = 0;
};

TEST_F(Textures, ReadArraysPitchedAndLinearMemory) {
  std::vector<float> host(12);
  std::iota(host.begin(), host.end(), 1.0f);
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &floats, 6, 2, 0), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2DToArray(array, 0, 0, host.data(), 24, 24, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  const cudaTextureObject_t texture = texture_of(resource_of(array));
  EXPECT_EQ(row_of(texture, 8), (std::vector<float>{1, 2, 3, 4, 5, 6, 6, 6}));

  void* rows = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&rows, &pitch, 24, 2), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(rows, pitch, host.data(), 24, 24, 2, cudaMemcpyHostToDevice), cudaSuccess);
  cudaResourceDesc pitched = {};
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D = {rows, floats, 6, 2, pitch};
  EXPECT_EQ(row_of(texture_of(pitched), 3), (std::vector<float>{1, 2, 3}));
  pitched.res.pitch2D.height = 3;  // more than was allocated
  cudaTextureDesc description = {};
  cudaTextureObject_t none = 0;
  EXPECT_EQ(cudaCreateTextureObject(&none, &pitched, &description, nullptr), cudaErrorInvalidValue);
}

TEST_F(Textures, KeepTheirDescriptions) {
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &floats, 6, 2, cudaArraySurfaceLoadStore), cudaSuccess);
  const cudaTextureObject_t texture = texture_of(resource_of(array));
  cudaResourceDesc resource = {};
  ASSERT_EQ(cudaGetTextureObjectResourceDesc(&resource, texture), cudaSuccess);
  EXPECT_EQ(resource.res.array.array, array);
  cudaTextureDesc description = {};
  ASSERT_EQ(cudaGetTextureObjectTextureDesc(&description, texture), cudaSuccess);
  EXPECT_EQ(description.addressMode[1], cudaAddressModeClamp);
  cudaResourceViewDesc view = {};
  EXPECT_EQ(cudaGetTextureObjectResourceViewDesc(&view, texture), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(&resource, texture), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(0), cudaSuccess);

  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  ASSERT_EQ(cudaGetSurfaceObjectResourceDesc(&resource, surface), cudaSuccess);
  EXPECT_EQ(resource.res.array.array, array);
  EXPECT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
}

TEST_F(Textures, AreDestroyedAfterQueuedWork) {
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &ints, 8, 1, cudaArraySurfaceLoadStore), cudaSuccess);
  const cudaResourceDesc resource = resource_of(array);
  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  void* arguments[] = {&surface};
  ASSERT_EQ(cudaLaunchKernel(&store, dim3(1), dim3(8), arguments, 0, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
  std::vector<int> values(8);
  ASSERT_EQ(cudaMemcpy2DFromArray(values.data(), 32, array, 0, 0, 32, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(values, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_EQ(cudaLaunchKernel(&store, dim3(1), dim3(8), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

TEST_F(Textures, SurfacesNeedArraysMadeForThem) {
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &ints, 8, 1, 0), cudaSuccess);
  const cudaResourceDesc resource = resource_of(array);
  cudaSurfaceObject_t surface = 0;
  EXPECT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidValue);
}

TEST_F(Textures, MipmappedArraysHaveLevels) {
  cudaMipmappedArray_t mipmapped = nullptr;
  ASSERT_EQ(cudaMallocMipmappedArray(&mipmapped, &floats, {8, 4, 0}, 3, 0), cudaSuccess);
  cudaArray_t second = nullptr;
  ASSERT_EQ(cudaGetMipmappedArrayLevel(&second, mipmapped, 1), cudaSuccess);
  cudaExtent extent = {};
  ASSERT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, second), cudaSuccess);
  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(extent.height, 2u);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&second, mipmapped, 3), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeArray(second), cudaErrorInvalidResourceHandle);
  const std::vector<float> host{1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_EQ(cudaMemcpy2DToArray(second, 0, 0, host.data(), 16, 16, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(row_of(texture_of(resource_of(second)), 4), (std::vector<float>{1, 2, 3, 4}));
  cudaResourceDesc whole = {};
  whole.resType = cudaResourceTypeMipmappedArray;
  whole.res.mipmap.mipmap = mipmapped;
  cudaTextureDesc description = {};
  cudaResourceViewDesc view = {};
  view.firstMipmapLevel = view.lastMipmapLevel = 1;
  cudaTextureObject_t texture = 0;
  ASSERT_EQ(cudaCreateTextureObject(&texture, &whole, &description, &view), cudaSuccess);
  EXPECT_EQ(row_of(texture, 2), (std::vector<float>{1, 2}));
  EXPECT_EQ(cudaGetTextureObjectResourceViewDesc(&view, texture), cudaSuccess);
  EXPECT_EQ(cudaFreeMipmappedArray(mipmapped), cudaSuccess);
  EXPECT_EQ(cudaFreeMipmappedArray(mipmapped), cudaErrorInvalidResourceHandle);
}

TEST_F(Textures, CopiesOfArraysMoveBoxes) {
  std::vector<float> host(4 * 3 * 2), copy(host.size());
  std::iota(host.begin(), host.end(), 0.0f);
  cudaArray_t volume = nullptr, flat = nullptr;
  ASSERT_EQ(cudaMalloc3DArray(&volume, &floats, {4, 3, 2}, 0), cudaSuccess);
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {host.data(), 16, 4, 3};
  parameters.dstArray = volume;
  parameters.extent = {4, 3, 2};
  parameters.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&parameters), cudaSuccess);
  ASSERT_EQ(cudaMallocArray(&flat, &floats, 4, 3, 0), cudaSuccess);
  cudaMemcpy3DParms between = {};
  between.srcArray = volume;
  between.srcPos = {1, 1, 1};
  between.dstArray = flat;
  between.extent = {3, 2, 1};
  between.kind = cudaMemcpyDeviceToDevice;
  ASSERT_EQ(cudaMemcpy3D(&between), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2DFromArray(copy.data(), 12, flat, 0, 0, 12, 2, cudaMemcpyDeviceToHost),
            cudaSuccess);
  copy.resize(6);
  EXPECT_EQ(copy, (std::vector<float>{17, 18, 19, 21, 22, 23}));
  ASSERT_EQ(cudaMemcpy2DArrayToArray(flat, 0, 2, flat, 0, 0, 8, 1, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  // From the third column on through all rows: the rest of one row, a whole one, part of the last.
  const std::vector<float> run{1, 2, 3, 4, 5, 6, 7};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  ASSERT_EQ(cudaMemcpyToArray(flat, 8, 0, run.data(), 28, cudaMemcpyHostToDevice), cudaSuccess);
  std::vector<float> back(7);
  ASSERT_EQ(cudaMemcpyFromArray(back.data(), flat, 8, 0, 28, cudaMemcpyDeviceToHost), cudaSuccess);
#pragma GCC diagnostic pop
  EXPECT_EQ(back, run);
  // Rows and elements that the array does not have.
  EXPECT_EQ(cudaMemcpy2DToArray(flat, 0, 1, host.data(), 16, 16, 3, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(flat, 4, 0, host.data(), 16, 16, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
}

TEST_F(Textures, RefuseChannelsThatNoTextureHas) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc three = {8, 8, 8, 0, cudaChannelFormatKindUnsigned};
  EXPECT_EQ(cudaMallocArray(&array, &three, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
  const cudaChannelFormatDesc uneven = {8, 16, 0, 0, cudaChannelFormatKindUnsigned};
  EXPECT_EQ(cudaMallocArray(&array, &uneven, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
  ASSERT_EQ(cudaMallocArray(&array, &ints, 4, 4, 0), cudaSuccess);
  const cudaResourceDesc resource = resource_of(array);
  cudaTextureDesc smooth = {};
  smooth.filterMode = cudaFilterModeLinear;  // of integers that are read as integers
  cudaTextureObject_t texture = 0;
  EXPECT_EQ(cudaCreateTextureObject(&texture, &resource, &smooth, nullptr), cudaErrorInvalidValue);
}

TEST_F(Textures, ArraysCountAsMemory) {
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &floats, 1024, 256, 0), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before - after, std::size_t{1} << 20);
  ASSERT_EQ(cudaFreeArray(array), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace cudart_test
