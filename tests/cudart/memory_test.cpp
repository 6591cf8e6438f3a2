// Memory of each kind, copies and fills, and the codes for their mistakes.
#include <csignal>
#include <cstdlib>
#include <numeric>

#include "cudart/device_program.hpp"

namespace cudart_test {
namespace {

using Memory = RunTime;

TEST_F(Memory, CopiesCheckTheirAllocation) {
  const DeviceInts x(10);
  std::vector<int> host(20, 1);
  EXPECT_EQ(cudaMemcpy(x.data, host.data(), 40, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(x.data, host.data(), 41, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  char* const inside = static_cast<char*>(x.data) + 36;
  EXPECT_EQ(cudaMemcpy(host.data(), inside, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host.data(), inside, 5, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(x.data, 0, 41), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(x.data, 0, 40), cudaSuccess);
}

TEST_F(Memory, CopiesCheckTheirDirection) {
  const DeviceInts x(4), y(4);
  std::vector<int> host{1, 2, 3, 4};
  EXPECT_EQ(cudaMemcpy(x.data, host.data(), 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), x.data, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x.data, host.data(), 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x.data, host.data(), 16, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(x.data, host.data(), 16, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(y.data, x.data, 16, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(y.read(), host);
  std::vector<int> other(4);
  EXPECT_EQ(cudaMemcpy(other.data(), host.data(), 16, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(other, host);
}

// The host that uses an address of the device ends as on any machine, but with a line that says
// why.
TEST_F(Memory, TheHostIsToldThatItUsesDeviceMemory) {
  const DeviceInts x(100);
  auto* const at = static_cast<volatile int*>(x.data) + 3;
  EXPECT_EXIT(std::exit(*at), testing::KilledBySignal(SIGSEGV),
              "tilescope: the host reads byte 12 of .*400 bytes of device memory: copy it to the "
              "host with cudaMemcpy, or allocate with cudaMallocManaged");
  EXPECT_EXIT(*at = 1, testing::KilledBySignal(SIGSEGV), "tilescope: the host writes byte 12 of ");
  EXPECT_EXIT(std::exit(at[100]), testing::KilledBySignal(SIGSEGV),
              "tilescope: the host reads 0x7[0-9a-f]+, an address of the device");
  volatile int* const none = nullptr;
  EXPECT_EXIT(std::exit(*none), testing::KilledBySignal(SIGSEGV), "^$");
}

TEST_F(Memory, FreeingTakesWhatWasAllocatedOnce) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(static_cast<char*>(data) + 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemset(data, 0, 4), cudaErrorInvalidValue);
}

TEST_F(Memory, TooMuchIsOutOfMemory) {
  size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaMalloc(&data, 1 << 20), cudaSuccess);
  size_t after = 0;
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(free_bytes - after, size_t{1} << 20);
}

TEST_F(Memory, RowsAndVolumesKeepTheirPitches) {
  char* rows = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 12, 3), cudaSuccess);
  EXPECT_EQ(pitch % 256, 0u);
  const std::vector<int> host{1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_EQ(cudaMemcpy2D(rows, pitch, host.data(), 12, 12, 3, cudaMemcpyHostToDevice), cudaSuccess);
  int value = 0;
  ASSERT_EQ(cudaMemcpy(&value, rows + 2 * pitch + 4, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 8);
  ASSERT_EQ(cudaMemset2D(rows, pitch, 0, 4, 3), cudaSuccess);
  std::vector<int> back(9);
  ASSERT_EQ(cudaMemcpy2D(back.data(), 12, rows, pitch, 12, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, (std::vector<int>{0, 2, 3, 0, 5, 6, 0, 8, 9}));
  EXPECT_EQ(cudaMemcpy2D(rows, 8, host.data(), 12, 12, 3, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(rows, pitch, host.data(), 12, 12, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
}

TEST_F(Memory, VolumesAreCopiedByPosition) {
  cudaPitchedPtr volume{};
  ASSERT_EQ(cudaMalloc3D(&volume, {8, 2, 3}), cudaSuccess);
  std::vector<int> host(12);
  std::iota(host.begin(), host.end(), 0);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {host.data(), 8, 8, 2};
  copy.dstPtr = volume;
  copy.extent = {8, 2, 3};
  copy.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  int corner[1] = {};
  cudaMemcpy3DParms back{};
  back.srcPtr = volume;
  back.srcPos = {4, 1, 2};
  back.dstPtr = {corner, 4, 4, 1};
  back.extent = {4, 1, 1};
  back.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaMemcpy3D(&back), cudaSuccess);
  EXPECT_EQ(corner[0], 11);
}

TEST_F(Memory, ArraysKeepRowsOfElements) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc floats =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  ASSERT_EQ(cudaMallocArray(&array, &floats, 4, 2, 0), cudaSuccess);
  const std::vector<float> host{1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_EQ(cudaMemcpy2DToArray(array, 0, 0, host.data(), 16, 16, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  float value = 0;
  ASSERT_EQ(cudaMemcpy2DFromArray(&value, 4, array, 8, 1, 4, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(value, 7);
  cudaExtent extent{};
  ASSERT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, array), cudaSuccess);
  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(extent.height, 2u);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(array), cudaErrorInvalidResourceHandle);
}

TEST_F(Memory, ManagedAndPinnedMemoryIsTheHostsAndTheDevices) {
  int* managed = nullptr;
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), 16, cudaMemAttachGlobal),
            cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 16, cudaHostAllocMapped), cudaSuccess);
  for (int i = 0; i < 4; ++i) managed[i] = pinned[i] = i;
  ASSERT_EQ(launch_add(managed, 10, 4), cudaSuccess);
  void* mapped = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&mapped, pinned, 0), cudaSuccess);
  ASSERT_EQ(launch_add(mapped, 20, 4), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(managed[3], 13);
  EXPECT_EQ(pinned[3], 23);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Memory, RegisteredMemoryIsTheProgramsOwn) {
  std::vector<int> host(1024, 5);
  ASSERT_EQ(cudaHostRegister(host.data(), 4096, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data(), 16, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  ASSERT_EQ(launch_add(host.data(), 1, 4), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(host[3], 6);
  EXPECT_EQ(host[4], 5);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
}

TEST_F(Memory, PointersHaveAttributes) {
  const DeviceInts x(4);
  int* pinned = nullptr;
  int local = 0;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 16), cudaSuccess);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(x.data) + 15), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.devicePointer, pinned);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &local), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(Memory, PoolsKeepAccounts) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  void* data = nullptr;
  ASSERT_EQ(cudaMallocAsync(&data, 4096, nullptr), cudaSuccess);
  std::uint64_t used = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 4096u);
  ASSERT_EQ(cudaMemset(data, 0, 4096), cudaSuccess);
  ASSERT_EQ(launch_add(data, 1, 1024), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(data, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(data, nullptr), cudaErrorInvalidValue);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 0u);
}

}  // namespace
}  // namespace cudart_test
