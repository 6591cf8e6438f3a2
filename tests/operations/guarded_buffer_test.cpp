#include "operations/rung/guarded_buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <list>

#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

// A GPU as far as memory goes: allocations in host memory whose size it knows.
class HostMemoryDevice final : public Device {
 public:
  explicit HostMemoryDevice(DeviceKind kind) : properties_(testing::h200()), kind_(kind) {}
  std::size_t last_bytes() const { return blocks_.back().size(); }

  DeviceKind kind() const override { return kind_; }
  std::string id() const override { return "host:0"; }
  const DeviceProperties& properties() const override { return properties_; }
  void copy_to_device(DeviceAddress to, const void* from, std::size_t n, const Stream&) override {
    std::memcpy(reinterpret_cast<void*>(to), from, n);
  }
  void copy_to_host(void* to, DeviceAddress from, std::size_t n, const Stream&) override {
    std::memcpy(to, reinterpret_cast<void*>(from), n);
  }
  void queue_copy(DeviceAddress, DeviceAddress, std::size_t, const Stream&) override {}
  void fill(DeviceAddress to, std::uint8_t value, std::size_t n, const Stream&) override {
    std::memset(reinterpret_cast<void*>(to), value, n);
  }
  Kernel load(const KernelRequest&) override { throw std::logic_error("nothing to load"); }
  void launch(const Kernel&, const Launch&, const KernelArguments&, const Stream&) override {}
  void record(const Event&, const Stream&) override {}
  void wait(const Stream&, const Event&) override {}
  using Device::finished;
  bool finished(const Event&) override { return true; }
  double elapsed_ms(const Event&, const Event&) override { return 0.0; }
  void synchronize(const Event&) override {}
  void synchronize(const Stream&) override {}
  void synchronize() override {}

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view) override {
    return reinterpret_cast<std::uint64_t>(blocks_.emplace_back(bytes).data());
  }
  std::uint64_t new_stream() override { return 1; }
  std::uint64_t new_event() override { return 1; }
  void free_bytes(std::uint64_t) noexcept override {}
  void free_stream(std::uint64_t) noexcept override {}
  void free_event(std::uint64_t) noexcept override {}

 private:
  std::list<std::vector<std::uint8_t>> blocks_;
  DeviceProperties properties_;
  DeviceKind kind_;
};

std::uint8_t& byte_at(const GuardedBuffer& buffer, std::ptrdiff_t offset) {
  return *(reinterpret_cast<std::uint8_t*>(buffer.address()) + offset);
}

TEST(GuardedBuffer, IsSilentWhereOnlyItsBytesAreWritten) {
  const auto device = std::make_shared<HostMemoryDevice>(DeviceKind::cuda);
  const GuardedBuffer buffer(*device, 10, "output");
  for (int i = 0; i < 10; ++i) byte_at(buffer, i) = 7;
  EXPECT_NO_THROW(buffer.require_intact());
}

TEST(GuardedBuffer, ReportsTheNearestByteOnEitherSide) {
  const auto device = std::make_shared<HostMemoryDevice>(DeviceKind::cuda);
  const GuardedBuffer behind(*device, 10, "output"), before(*device, 10, "output");
  byte_at(behind, 10) = 0;
  byte_at(behind, 12) = 0;
  EXPECT_THAT(error_of(ErrorKind::wrong_result, [&] { behind.require_intact(); }),
              HasSubstr("the byte 1 behind the output of 10 bytes"));
  byte_at(before, -3) = 0;
  EXPECT_THAT(error_of(ErrorKind::wrong_result, [&] { before.require_intact(); }),
              HasSubstr("the byte 3 before the output"));
}

TEST(GuardedBuffer, ReachesFarEnoughForAPack) {
  const auto device = std::make_shared<HostMemoryDevice>(DeviceKind::cuda);
  const GuardedBuffer buffer(*device, 4, "output");
  byte_at(buffer, 4 + 255) = 0;
  EXPECT_THROW(buffer.require_intact(), Error);
}

TEST(GuardedBuffer, LeavesTheEmulatedDeviceItsOwnBounds) {
  const auto device = std::make_shared<HostMemoryDevice>(DeviceKind::emulated);
  const GuardedBuffer buffer(*device, 10, "output");
  EXPECT_EQ(device->last_bytes(), 10U);
  EXPECT_NO_THROW(buffer.require_intact());
}

}  // namespace
}  // namespace tilescope::operations
