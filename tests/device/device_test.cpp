// Opening devices, and the CPU device. Devices that need a GPU are tested in tests/cuda.
#include <array>
#include <tilescope/device.hpp>

#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(OpenDevice, NamesThatAreNoDevice) {
  for (const char* name : {"", "gpu", "CUDA", "cpu:0", "cudax", "cuda0", "auto "}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { Device::open(name); }),
                HasSubstr(std::string("--device ") + name + ": no such device; use auto, cuda"));
  }
}

TEST(OpenDevice, NumbersThatAreNone) {
  for (const char* name :
       {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "cuda: 1"}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { Device::open(name); }),
                HasSubstr("is not a device number; use cuda:0, cuda:1, ..."));
  }
}

TEST(OpenDevice, AutoFindsSomethingAndSaysWhy) {
  std::string why;
  const auto device = Device::open("auto", &why);
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(device->kind() == DeviceKind::cuda, !cuda_devices().empty());
}

TEST(OpenDevice, WithoutAGpuTheErrorSaysWhatToDo) {
  std::string why;
  if (!cuda_devices(&why).empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(why, HasSubstr("--device cpu"));
  EXPECT_EQ(error_of(ErrorKind::no_device, [] { Device::open("cuda"); }), why);
  EXPECT_EQ(error_of(ErrorKind::no_device, [] { Device::open("cuda:3"); }), why);
}

class CpuDevice : public ::testing::Test {
 protected:
  std::shared_ptr<Device> cpu_ = Device::open("cpu");
};

TEST_F(CpuDevice, KnowsWhatItIs) {
  EXPECT_EQ(cpu_->kind(), DeviceKind::cpu);
  EXPECT_EQ(cpu_->id(), "cpu");
  EXPECT_GT(cpu_->properties().sm_count, 0);
  EXPECT_GT(cpu_->properties().global_bytes, 0u);
  EXPECT_EQ(cpu_->properties().compute_major, 0);
}

TEST_F(CpuDevice, CopiesThereAndBack) {
  const std::array<float, 4> in{1, 2, 3, 4};
  std::array<float, 4> out{};
  const Buffer x = cpu_->allocate(sizeof in, "x"), y = cpu_->allocate(sizeof in, "y");
  EXPECT_EQ(x.bytes(), sizeof in);
  EXPECT_EQ(x.address() % 64, 0u);
  cpu_->copy_to_device(x.address(), in.data(), sizeof in);
  cpu_->copy_on_device(y.address(), x.address(), sizeof in);
  cpu_->fill(x.address(), 0, sizeof in);
  cpu_->copy_to_host(out.data(), y.address(), sizeof in);
  EXPECT_EQ(out, in);
  cpu_->copy_to_host(out.data(), x.address(), sizeof in);
  EXPECT_EQ(out, (std::array<float, 4>{}));
}

TEST_F(CpuDevice, CopiesRowsBetweenPitches) {
  const std::array<int, 6> in{1, 2, 3, 4, 5, 6};  // 2 x 3
  std::array<int, 8> out{};                       // 2 x 4
  const Buffer x = cpu_->allocate(2 * 5 * sizeof(int), "x");
  cpu_->copy_rows_to_device(x.address(), 5 * sizeof(int), in.data(), 3 * sizeof(int),
                            3 * sizeof(int), 2);
  cpu_->copy_rows_to_host(out.data(), 4 * sizeof(int), x.address(), 5 * sizeof(int),
                          3 * sizeof(int), 2);
  EXPECT_EQ(out, (std::array<int, 8>{1, 2, 3, 0, 4, 5, 6, 0}));
}

TEST_F(CpuDevice, NothingIsAllowed) {
  const Buffer empty = cpu_->allocate(0, "empty");
  EXPECT_EQ(empty.bytes(), 0u);
  EXPECT_NO_THROW(cpu_->copy_to_device(empty.address(), nullptr, 0));
  EXPECT_NO_THROW(cpu_->fill(empty.address(), 1, 0));
}

TEST_F(CpuDevice, TooMuchMemoryIsAnErrorThatSaysHowMuch) {
  constexpr std::size_t much = std::size_t{1} << 60U;
  EXPECT_EQ(error_of(ErrorKind::no_device, [&] { cpu_->allocate(much, "A"); }),
            "out of host memory: 1152921504606846976 bytes for A; use a smaller problem");
  EXPECT_THAT(error_of(ErrorKind::no_device, [&] { cpu_->allocate(~std::size_t{0}, "B"); }),
              HasSubstr("bytes for B"));
}

TEST_F(CpuDevice, RunsNoKernels) {
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { cpu_->load({.kernel = "saxpy"}); }),
            "the cpu device runs no kernels (saxpy); use --device emulated, or a GPU");
}

TEST_F(CpuDevice, EventsAreInstants) {
  const Event before = cpu_->create_event(), after = cpu_->create_event();
  cpu_->record(before);
  cpu_->record(after);
  EXPECT_GE(cpu_->elapsed_ms(before, after), 0.0);
  EXPECT_TRUE(cpu_->finished(after));
}

TEST_F(CpuDevice, HandlesKeepTheirDeviceAlive) {
  Buffer buffer = cpu_->allocate(64, "x");
  const std::weak_ptr<Device> watch = cpu_;
  cpu_.reset();
  EXPECT_FALSE(watch.expired());
  Buffer moved = std::move(buffer);
  EXPECT_NE(moved.address(), 0u);
  moved = Buffer();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace tilescope
