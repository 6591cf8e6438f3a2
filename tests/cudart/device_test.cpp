// The device's properties, CUDA's errors as text, and functions that are refused.
#include <string>

#include "cudart/device_program.hpp"

extern "C" cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t);

namespace cudart_test {
namespace {

TEST_F(RunTime, TheDeviceIsTheEmulatedGpu) {
  int devices = 0, device = -1;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  EXPECT_EQ(devices, 1);
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "NVIDIA H200");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.multiProcessorCount, 132);
  EXPECT_EQ(properties.maxThreadsDim[2], 64);
  EXPECT_EQ(properties.sharedMemPerBlock, 49152u);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 3), cudaErrorInvalidDevice);
}

TEST_F(RunTime, AttributesAgreeWithProperties) {
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  const auto attribute = [](cudaDeviceAttr id) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, id, 0), cudaSuccess);
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), properties.multiProcessorCount);
  EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), properties.maxThreadsDim[2]);
  EXPECT_EQ(attribute(cudaDevAttrMaxGridDimY), properties.maxGridSize[1]);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 * 1024);
  EXPECT_GT(attribute(cudaDevAttrClockRate), 1'000'000);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0),
            cudaErrorInvalidValue);
}

TEST_F(RunTime, LimitsAreKept) {
  size_t heap = 0;
  ASSERT_EQ(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 24), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize), cudaSuccess);
  EXPECT_EQ(heap, size_t{1} << 24);
  EXPECT_EQ(cudaDeviceSetLimit(static_cast<cudaLimit>(77), 1), cudaErrorUnsupportedLimit);
}

TEST(Errors, HaveCudasNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST(Errors, RefusedFunctionsNameThemselvesOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphicsUnregisterResource(nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsUnregisterResource(nullptr), cudaErrorNotSupported);
  cudaGetLastError();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tilescope: cudaGraphicsUnregisterResource is not supported\n");
}

}  // namespace
}  // namespace cudart_test
