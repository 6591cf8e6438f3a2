// Launches, the code they need, and what goes wrong with them.
#include <string>

#include "cudart/device_program.hpp"

namespace cudart_test {
namespace {

TEST_F(RunTime, LaunchesAKernelAndCopiesItsResult) {
  const DeviceInts x(100);
  ASSERT_EQ(cudaMemset(x.data, 0, x.bytes), cudaSuccess);
  ASSERT_EQ(launch_add(x.data, 3, 99), cudaSuccess);
  const std::vector<int> values = x.read();
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[98], 3);
  EXPECT_EQ(values[99], 0);
}

TEST_F(RunTime, TheGeneratedLaunchTakesItsConfigurationAndHandle) {
  const DeviceInts x(8);
  cudaMemset(x.data, 0, x.bytes);
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(__cudaGetKernel(&kernel, &add), cudaSuccess);
  ASSERT_EQ(__cudaPushCallConfiguration(dim3(1), dim3(8), 16, nullptr), 0u);
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = cudaStreamLegacy;
  ASSERT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(block.x, 8u);
  EXPECT_EQ(shared, 16u);
  EXPECT_EQ(stream, nullptr);
  int value = 2, n = 8;
  void* address = x.data;
  void* arguments[] = {&address, &value, &n};
  ASSERT_EQ(__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream), cudaSuccess);
  EXPECT_EQ(x.read()[7], 2);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream),
            cudaErrorMissingConfiguration);
}

TEST_F(RunTime, VariablesAreReachedByTheirShadows) {
  const DeviceInts out(1);
  const int seven = 7;
  ASSERT_EQ(cudaMemcpyToSymbol(&factor, &seven, 4, 0, cudaMemcpyHostToDevice), cudaSuccess);
  void* address = out.data;
  void* arguments[] = {&address};
  ASSERT_EQ(cudaLaunchKernel(&count, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(out.read()[0], 5);  // its initial value
  int after = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&after, &counter, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(after, 12);
  EXPECT_EQ(*static_cast<int*>(shared_count), 10);  // managed: no copy
  size_t bytes = 0;
  EXPECT_EQ(cudaGetSymbolSize(&bytes, &counter), cudaSuccess);
  EXPECT_EQ(bytes, 4u);
  void* place = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&place, &counter), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&after, place, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(after, 12);
}

TEST_F(RunTime, VariablesHaveBounds) {
  const int values[2] = {1, 2};
  EXPECT_EQ(cudaMemcpyToSymbol(&factor, values, 8, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&factor, values, 4, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&factor, values, 4, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyToSymbol(&values, values, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
}

TEST_F(RunTime, ImpossibleLaunchesAreRefusedWithCudasCodes) {
  const DeviceInts x(1);
  void* address = x.data;
  void* arguments[] = {&address};
  const auto result = [&](dim3 grid, dim3 block, size_t shared) {
    return cudaLaunchKernel(&poke, grid, block, arguments, shared, nullptr);
  };
  EXPECT_EQ(result(dim3(0), dim3(1), 0), cudaErrorInvalidValue);
  EXPECT_EQ(result(dim3(1), dim3(1025), 0), cudaErrorInvalidValue);
  EXPECT_EQ(result(dim3(1), dim3(1, 1, 65), 0), cudaErrorInvalidValue);
  EXPECT_EQ(result(dim3(1, 65536), dim3(1), 0), cudaErrorInvalidValue);
  EXPECT_EQ(result(dim3(1), dim3(1), 48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(result(dim3(1), dim3(1024), 48 * 1024), cudaSuccess);
  EXPECT_EQ(x.read()[0], 7);
}

TEST_F(RunTime, MoreSharedMemoryIsAskedForFirst) {
  const DeviceInts x(1);
  void* address = x.data;
  void* arguments[] = {&address};
  const int bytes = 100 * 1024;
  ASSERT_EQ(cudaFuncSetAttribute(&poke, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(&poke, dim3(1), dim3(1), arguments, bytes, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&poke, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
}

TEST_F(RunTime, CooperativeLaunchesMustFit) {
  const DeviceInts x(1);
  void* address = x.data;
  void* arguments[] = {&address};
  EXPECT_EQ(cudaLaunchCooperativeKernel(&poke, dim3(2), dim3(32), arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel(&poke, dim3(1 << 20), dim3(1024), arguments, 0, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(RunTime, UnknownKernelsAreNamed) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(this, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&absent, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("absent"), std::string::npos);
}

TEST_F(RunTime, CodeWithoutPtxSaysWhatToDo) {
  DeviceCode machine_code(
      "\x7f"
      "ELF",
      2);
  char kernel = 0;
  machine_code.kernel(&kernel, "add");
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorNoKernelImageForDevice);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("tilescope: "), std::string::npos) << said;
  EXPECT_NE(said.find("-arch="), std::string::npos) << said;
}

TEST_F(RunTime, PtxThatDoesNotParseIsAnError) {
  DeviceCode wrong(".version 8.0\n.target sm_80\n.visible .entry k( {");
  char kernel = 0;
  wrong.kernel(&kernel, "k");
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidPtx);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

TEST_F(RunTime, AFailedKernelEndsTheContext) {
  void* nowhere = reinterpret_cast<void*>(64);
  void* arguments[] = {&nowhere};
  ASSERT_EQ(cudaLaunchKernel(&poke, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // it has not run yet
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("poke"), std::string::npos);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
}

TEST_F(RunTime, ATrapIsALaunchFailure) {
  ASSERT_EQ(cudaLaunchKernel(&stop, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

TEST_F(RunTime, AResetGivesVariablesTheirInitialValues) {
  const int one = 1;
  ASSERT_EQ(cudaMemcpyToSymbol(&counter, &one, 4, 0, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  int value = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 5);
}

TEST_F(RunTime, FunctionAttributesNameThePtxAndTheDevice) {
  cudaFuncAttributes attributes{};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &poke), cudaSuccess);
  EXPECT_EQ(attributes.ptxVersion, 80);
  EXPECT_EQ(attributes.binaryVersion, 90);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
}

TEST_F(RunTime, OccupancyFollowsTheResources) {
  int blocks = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &poke, 1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, 2);  // 2048 threads on an SM
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &poke, 32, 40 * 1024),
            cudaSuccess);
  EXPECT_EQ(blocks, 5);  // 228 KiB of shared memory, 1 KiB of each block reserved
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &poke, 0, 0),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace cudart_test
