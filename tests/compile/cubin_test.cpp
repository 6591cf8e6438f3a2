#include "compile/cubin.hpp"

#include <gtest/gtest.h>

#include <tilescope/error.hpp>

#include "compile/compiler.hpp"

namespace tilescope::compile {
namespace {

constexpr std::string_view source = R"(
extern "C" __global__ void with_shared(float* a) {
  __shared__ float s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[63 - threadIdx.x];
}
extern __shared__ float dynamic[];
extern "C" __global__ void with_dynamic(float* a) {
  dynamic[threadIdx.x] = a[0];
  __syncthreads();
  a[threadIdx.x] = dynamic[3];
}
extern "C" __global__ void with_stack(float* a, int n) {
  float local[100];
  for (int i = 0; i < 100; i++) local[i] = a[i * n];
  for (int i = 0; i < n; i++) a[i] = local[(i * 7) % 100];
}
)";

std::string cubin_for(const char* architecture) {
  return compile({.source_name = "three.cu",
                  .source = std::string(source),
                  .architecture = architecture})
      .cubin;
}

class Cubin : public ::testing::Test {
 protected:
  void SetUp() override {
    if (compiler_description().empty()) GTEST_SKIP() << "NVRTC is not found here";
  }
};

TEST_F(Cubin, SharedMemoryIsThatOfTheSourceOnEveryArchitecture) {
  // From 9.0 on the image counts the reserved kilobyte too; the figure must not.
  for (const char* architecture : {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a"}) {
    SCOPED_TRACE(architecture);
    const std::vector<KernelResources> kernels = kernel_resources(cubin_for(architecture));
    ASSERT_EQ(kernels.size(), 3U);
    EXPECT_EQ(kernels[0].name, "with_dynamic");
    EXPECT_EQ(kernels[0].shared_bytes, 0U);
    EXPECT_EQ(kernels[1].name, "with_shared");
    EXPECT_EQ(kernels[1].shared_bytes, 256U);
    EXPECT_EQ(kernels[1].stack_bytes, 0U);
    EXPECT_EQ(kernels[2].name, "with_stack");
    EXPECT_GE(kernels[2].stack_bytes, 400U);
    for (const KernelResources& kernel : kernels) {
      EXPECT_GE(kernel.registers, 4);
      EXPECT_LE(kernel.registers, 255);
    }
  }
}

TEST_F(Cubin, DamagedImagesAreRefusedWithoutACrash) {
  EXPECT_THROW(kernel_resources(""), Error);
  EXPECT_THROW(kernel_resources("no machine code at all, just text of some length ........."),
               Error);
  const std::string whole = cubin_for("sm_80");
  // Cut in the header: refused. Cut anywhere: refused or read, but never beyond the end.
  EXPECT_THROW(kernel_resources(std::string_view(whole).substr(0, 200)), Error);
  for (std::size_t size = 64; size < whole.size(); size += 97) {
    try {
      kernel_resources(std::string_view(whole).substr(0, size));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    }
  }
}

}  // namespace
}  // namespace tilescope::compile
