// The messages of the driver and the limits of a real GPU, and how they are passed on.
#include <atomic>
#include <thread>
#include <tilescope/pinned.hpp>

#include "cuda/real_gpu.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"
#include "tilescope/matmul.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class CudaDevice : public testing::RealGpu {
 protected:
  Kernel saxpy() {
    return gpu_->load({.source_name = "saxpy.cu",
                       .source = "extern \"C\" __global__ void saxpy(int n, float a, const float* "
                                 "x, float* y) {\n"
                                 "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                 "  if (i < n) y[i] = a * x[i] + y[i];\n}",
                       .kernel = "saxpy"});
  }
};

TEST_F(CudaDevice, PropertiesAreThoseOfAGpu) {
  const DeviceProperties& p = gpu_->properties();
  EXPECT_GE(p.compute_major, 5);
  EXPECT_EQ(p.warp_size, 32);
  EXPECT_EQ(p.max_threads_per_block, 1024);
  EXPECT_GT(p.sm_count, 0);
  EXPECT_GT(p.l2_bytes, 0u);
  EXPECT_EQ(gpu_->id(), "cuda:0");
}

TEST_F(CudaDevice, RunsAKernelInOrder) {
  constexpr int n = 1000;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    y[static_cast<std::size_t>(i)] = 1.0F;
  }
  const Buffer dx = gpu_->allocate(n * sizeof(float), "x");
  const Buffer dy = gpu_->allocate(n * sizeof(float), "y");
  const Stream stream = gpu_->create_stream();
  gpu_->copy_to_device(dx.address(), x.data(), dx.bytes(), stream);
  gpu_->copy_to_device(dy.address(), y.data(), dy.bytes(), stream);
  gpu_->launch(saxpy(), {.grid = {4}, .block = {256}},
               KernelArguments::of(n, 2.0F, dx.address(), dy.address()), stream);
  gpu_->copy_to_host(y.data(), dy.address(), dy.bytes(), stream);
  gpu_->synchronize(stream);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(y[static_cast<std::size_t>(i)], 2.0F * static_cast<float>(i) + 1.0F);
  }
}

TEST_F(CudaDevice, OneBlockOf2048ThreadsIsRefusedBeforeItRuns) {
  const std::string text = error_of(ErrorKind::usage, [&] {
    gpu_->launch(saxpy(), {.grid = {1}, .block = {2048}},
                 KernelArguments::of(0, 1.0F, DeviceAddress{0}, DeviceAddress{0}));
  });
  EXPECT_THAT(text, HasSubstr("2048 threads per block (2048 x 1 x 1) exceed the 1024"));
  EXPECT_NO_THROW(gpu_->synchronize()) << "the device must be as good as before";
}

TEST_F(CudaDevice, MoreMemoryThanThereIsNamesTheCallTheCodeAndWhatToDo) {
  const std::string text =
      error_of(ErrorKind::no_device, [&] { gpu_->allocate(std::size_t{1} << 50U, "A"); });
  EXPECT_THAT(text, HasSubstr("cuMemAlloc of 1125899906842624 bytes for A ("));
  EXPECT_THAT(text, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; free device memory"));
  EXPECT_NO_THROW(gpu_->allocate(1024, "small"));
}

TEST_F(CudaDevice, ADeviceThatIsNotThere) {
  EXPECT_THAT(error_of(ErrorKind::no_device, [] { Device::open("cuda:4000"); }),
              HasSubstr("there is no device cuda:4000: this machine has"));
}

TEST_F(CudaDevice, AKernelThatIsNotInTheSource) {
  EXPECT_ANY_THROW(gpu_->load(
      {.source_name = "k.cu", .source = "extern \"C\" __global__ void k() {}", .kernel = "other"}));
}

TEST_F(CudaDevice, WithoutAStreamACopyOnTheDeviceHasHappened) {
  constexpr std::size_t bytes = std::size_t{1} << 28U;  // long enough to be caught half-way
  const Buffer from = gpu_->allocate(bytes, "from"), to = gpu_->allocate(bytes, "to");
  PinnedBuffer end(*gpu_, 1);
  const Stream other = gpu_->create_stream();  // no order holds between it and the default one
  for (std::uint8_t round = 1; round < 20; ++round) {
    gpu_->fill(from.address(), round, bytes);
    gpu_->copy_on_device(to.address(), from.address(), bytes);
    gpu_->copy_to_host(end.data(), to.address() + bytes - 1, 1, other);
    gpu_->synchronize(other);
    ASSERT_EQ(*static_cast<std::uint8_t*>(end.data()), round);
  }
}

TEST_F(CudaDevice, AKernelOutlivesItsDevice) {
  Kernel kernel = saxpy();
  gpu_.reset();
  EXPECT_FALSE(kernel.parameters().empty());
  EXPECT_NO_THROW(kernel = Kernel());
  gpu_ = Device::open("cuda");
  EXPECT_NO_THROW(gpu_->launch(saxpy(), {.grid = {1}, .block = {32}},
                               KernelArguments::of(0, 1.0F, DeviceAddress{0}, DeviceAddress{0})));
  gpu_->synchronize();
}

TEST_F(CudaDevice, ThreadsLaunchOneKernelWithSharedMemoryOfDifferentSizes) {
  const Kernel kernel = saxpy();
  const std::size_t most = gpu_->properties().shared_bytes_per_block_optin;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t bytes = 49'152 + (i * 8 + t * 37) * 97 % (most - 49'152);
        try {
          gpu_->launch(kernel, {.grid = {1}, .block = {32}, .shared_bytes = bytes},
                       KernelArguments::of(0, 1.0F, DeviceAddress{0}, DeviceAddress{0}));
        } catch (const Error&) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  gpu_->synchronize();
  EXPECT_EQ(failures, 0);
}

TEST_F(CudaDevice, MatmulInEveryTypeAndOrder) {
  using testing::TestMatrix;
  for (const DataType type : {DataType::float16, DataType::float32, DataType::float64}) {
    for (const Order order : {Order::row_major, Order::column_major}) {
      TestMatrix a(type, 65, 130, order, 3), b(type, 130, 33, Order::row_major, 1),
          c(type, 65, 33, order, 2);
      a.fill([](auto i, auto j) { return double((i + j) % 3) - 1; });
      b.fill_integers(2);
      matmul(*gpu_, a.view(), b.view(), c.view());
      for (std::int64_t i = 0; i < 65; ++i) {
        for (std::int64_t j = 0; j < 33; ++j) {
          ASSERT_EQ(c.get(i, j), exact_element(a, b, i, j).value);
        }
      }
      EXPECT_TRUE(c.gaps_are_untouched());
    }
  }
}

}  // namespace
}  // namespace tilescope
