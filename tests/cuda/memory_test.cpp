// Memory of a real GPU that others reach, or do not.
#include "cuda/real_gpu.hpp"
#include "device/peer_link.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using ::testing::HasSubstr;

class CudaMemory : public testing::RealGpu {
 protected:
  static constexpr std::size_t bytes = std::size_t{64} << 20U;
  static constexpr Reach kinds[] = {Reach::any, Reach::own, Reach::linked};

  // Whether the GPU has its memory again, but for less than any buffer here: the driver takes some
  // for itself, in steps of 2 MB, when streams and pools are first used.
  bool is_free_again(std::size_t before) const {
    return gpu_->memory_use().free_bytes + bytes / 2 > before;
  }

  static std::vector<std::uint8_t> content(std::size_t seed) {
    std::vector<std::uint8_t> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::uint8_t>(i * 7 / 5 + seed);
    return all;
  }
  static std::vector<std::uint8_t> read(Device& device, const Buffer& buffer) {
    std::vector<std::uint8_t> all(buffer.bytes());
    device.copy_to_host(all.data(), buffer.address(), all.size());
    return all;
  }
};

TEST_F(CudaMemory, AllKindsHoldBytesForAllStreamsAndComeBack) {
  for (const Reach kind : kinds) gpu_->allocate(bytes, "first", kind);  // makes the pools
  const std::size_t before = gpu_->memory_use().free_bytes;
  {
    const Stream stream = gpu_->create_stream();
    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
      const std::vector<std::uint8_t> sent = content(i);
      buffers.push_back(gpu_->allocate(bytes, "memory", kinds[i]));
      EXPECT_EQ(buffers.back().address() % 256, 0U);
      gpu_->copy_to_device(buffers.back().address(), sent.data(), bytes, stream);
    }
    gpu_->synchronize(stream);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(read(*gpu_, buffers[i]), content(i)) << i;
    }
    EXPECT_LE(gpu_->memory_use().free_bytes, before - std::size(kinds) * bytes);
    EXPECT_FALSE(is_free_again(before));
  }
  EXPECT_TRUE(is_free_again(before));
}

TEST_F(CudaMemory, PoolsKeepSomeUntilItIsGivenBack) {
  for (const Reach kind : {Reach::own, Reach::linked}) {
    gpu_->give_back_memory();
    const std::size_t before = gpu_->memory_use().free_bytes;
    for (int i = 0; i < 2; ++i) gpu_->allocate(bytes, "memory", kind);
    EXPECT_TRUE(is_free_again(before)) << "kept memory counts as free";
    gpu_->give_back_memory();
    EXPECT_TRUE(is_free_again(before));
  }
}

TEST_F(CudaMemory, WhatPoolsKeepIsThereForOthers) {
  gpu_->allocate(bytes, "kept", Reach::own);
  const MemoryUse use = gpu_->memory_use();
  const std::size_t nearly_all = use.free_bytes - bytes / 2;
  EXPECT_EQ(gpu_->allocate(nearly_all, "nearly all", Reach::any).bytes(), nearly_all);
}

TEST_F(CudaMemory, MoreThanThereIsIsOneLine) {
  const std::size_t before = gpu_->memory_use().free_bytes, most = gpu_->properties().global_bytes;
  for (const Reach kind : kinds) {
    const std::string line = testing::error_of(
        ErrorKind::no_device, [&] { gpu_->allocate(most + bytes, "everything", kind); });
    EXPECT_THAT(line, HasSubstr("bytes for everything ("));
    EXPECT_THAT(line, HasSubstr("use a smaller problem"));
  }
  EXPECT_TRUE(is_free_again(before));
}

TEST_F(CudaMemory, LinksCopyBetweenTwoGpus) {
  if (cuda_devices().size() < 2) GTEST_SKIP() << "one GPU";
  const std::shared_ptr<Device> other = Device::open("cuda:1");
  const std::vector<std::uint8_t> sent = content(3);
  for (const Reach kind : {Reach::linked, Reach::any}) {
    const Buffer from = gpu_->allocate(bytes, "B", kind),
                 to = other->allocate(bytes, "a panel", Reach::own);
    gpu_->copy_to_device(from.address(), sent.data(), bytes);
    const Stream stream = other->create_stream();
    constexpr std::size_t row = 8192;
    device::PeerLink(gpu_, other, kind)
        .copy_rows(to.address(), row, from.address(), row, row, bytes / row, stream);
    other->synchronize(stream);
    EXPECT_EQ(read(*other, to), sent);
  }
}

}  // namespace
}  // namespace tilescope
