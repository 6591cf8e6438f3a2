// NCCL, with one process: the library is found, a group of one comes and goes, and pieces in its
// memory stay as they are. Two processes that share a GPU: tests/ranks/gpu_ranks_test.py.
#include "device/cuda/nccl.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "cuda/real_gpu.hpp"

namespace tilescope {
namespace {

using device::Nccl;

class NcclOnGpu : public testing::RealGpu {};

TEST_F(NcclOnGpu, AGroupOfOne) {
  if (const std::string why = Nccl::missing(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_GE(Nccl::version(), "2.");
  Nccl group(*gpu_, Nccl::new_name(), 0, 1);
  std::vector<std::int32_t> sent(1'000'000), received(sent.size());
  std::iota(sent.begin(), sent.end(), 0);
  const std::size_t bytes = sent.size() * sizeof(sent.front());
  const Buffer memory = gpu_->allocate(bytes);
  const Stream stream = gpu_->create_stream();
  gpu_->copy_to_device(memory.address(), sent.data(), bytes, stream);
  const std::vector<Nccl::Piece> pieces{{memory.address(), bytes}};
  group.spread(pieces, stream);
  gpu_->copy_to_host(received.data(), memory.address(), bytes, stream);
  gpu_->synchronize(stream);
  EXPECT_EQ(received, sent);
}

TEST_F(NcclOnGpu, AMissingRankIsAnError) {
  if (const std::string why = Nccl::missing(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_THROW(Nccl(*gpu_, Nccl::new_name(), 1, 1), Error);
}

}  // namespace
}  // namespace tilescope
