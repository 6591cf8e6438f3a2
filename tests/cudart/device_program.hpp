// Device code for tests of the run time: PTX in a fat binary, registered as nvcc's code does it.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext,
                       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name, int ext,
                              size_t bytes, int constant, int global);
char __cudaInitModule(void** handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream);
}

namespace cudart_test {

/// A fat binary with one entry: PTX for `architecture`, or machine code.
inline std::vector<std::uint8_t> container_of(const std::string& text, std::uint16_t kind,
                                              std::uint32_t architecture) {
  const std::uint64_t padded = (text.size() + 1 + 7) / 8 * 8;
  std::vector<std::uint8_t> bytes(16 + 64 + padded);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  put(0, std::uint32_t{0xba55ed50});
  put(4, std::uint16_t{1});
  put(6, std::uint16_t{16});
  put(8, std::uint64_t{64 + padded});
  put(16, kind);
  put(18, std::uint16_t{0x101});
  put(20, std::uint32_t{64});
  put(24, padded);
  put(16 + 28, architecture);
  std::memcpy(bytes.data() + 16 + 64, text.data(), text.size());
  return bytes;
}

/// Registered code; it leaves with the object.
class DeviceCode {
 public:
  explicit DeviceCode(const std::string& text, std::uint16_t kind = 1,
                      std::uint32_t architecture = 80)
      : container_(container_of(text, kind, architecture)) {
    wrapper_ = {0x466243b1, 1, container_.data(), nullptr};
    handle_ = __cudaRegisterFatBinary(&wrapper_);
  }
  ~DeviceCode() { __cudaUnregisterFatBinary(handle_); }
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  void kernel(const void* host, const char* name) {
    __cudaRegisterFunction(handle_, static_cast<const char*>(host), nullptr, name, -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
  }
  void variable(void* host, const char* name, std::size_t bytes) {
    __cudaRegisterVar(handle_, static_cast<char*>(host), nullptr, name, 0, bytes, 0, 0);
  }
  void managed(void** host, const char* name, std::size_t bytes) {
    __cudaRegisterManagedVar(handle_, host, nullptr, name, 0, bytes, 0, 0);
  }
  void** handle() const { return handle_; }

 private:
  struct Wrapper {
    std::uint32_t magic, version;
    const void* data;
    void* more;
  };
  std::vector<std::uint8_t> container_;
  Wrapper wrapper_{};
  void** handle_ = nullptr;
};

/// add: x[i] += value for i < n; poke: stores through a pointer; scale_all: x[i] *= factor, a
/// variable of the device.
inline const char* const test_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .const .align 4 .b8 factor[4];
.visible .global .align 4 .u32 counter = 5;
.visible .global .attribute(.managed) .align 4 .u32 shared_count = 9;

.visible .entry add(.param .u64 p_x, .param .u32 p_value, .param .u32 p_n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p_x];
  ld.param.u32 %r1, [p_value];
  ld.param.u32 %r2, [p_n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra DONE;
  mul.wide.u32 %rd2, %r6, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r7, [%rd3];
  add.u32 %r8, %r7, %r1;
  st.global.u32 [%rd3], %r8;
DONE:
  ret;
}

.visible .entry poke(.param .u64 p_x)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p_x];
  mov.u32 %r1, 7;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry count(.param .u64 p_out)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p_out];
  ld.const.u32 %r1, [factor];
  atom.global.add.u32 %r2, [counter], %r1;
  st.global.u32 [%rd1], %r2;
  atom.global.add.u32 %r3, [shared_count], 1;
  ret;
}

.visible .entry stop()
{
  trap;
}
)";

/// A fresh context with the kernels above; each by the address of a member.
class RunTime : public testing::Test {
 protected:
  RunTime() : code(test_ptx) {
    code.kernel(&add, "add");
    code.kernel(&poke, "poke");
    code.kernel(&count, "count");
    code.kernel(&stop, "stop");
    code.kernel(&absent, "absent");
    code.variable(&factor, "factor", 4);
    code.variable(&counter, "counter", 4);
    code.managed(&shared_count, "shared_count", 4);
  }
  ~RunTime() override {
    cudaDeviceReset();
    cudaGetLastError();
  }

  /// Queues x[0..n) += value.
  cudaError_t launch_add(void* x, int value, int n, cudaStream_t stream = nullptr) {
    void* arguments[] = {&x, &value, &n};
    return cudaLaunchKernel(&add, dim3((n + 63) / 64), dim3(64), arguments, 0, stream);
  }

  DeviceCode code;
  char add = 0, poke = 0, count = 0, stop = 0, absent = 0, factor = 0, counter = 0;
  void* shared_count = nullptr;
};

/// Device memory for ints.
struct DeviceInts {
  explicit DeviceInts(std::size_t count) : bytes(count * sizeof(int)) {
    EXPECT_EQ(cudaMalloc(&data, bytes), cudaSuccess);
  }
  std::vector<int> read() const {
    std::vector<int> values(bytes / sizeof(int));
    EXPECT_EQ(cudaMemcpy(values.data(), data, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }
  void* data = nullptr;
  std::size_t bytes;
};

}  // namespace cudart_test
