// Products of shards in the memory of several GPUs: the bits are those of one GPU.
#include <fmt/format.h>

#include <algorithm>
#include <tilescope/gemm.hpp>
#include <tilescope/sharded.hpp>

#include "cuda/real_gpu.hpp"
#include "distribute/shares.hpp"
#include "support/matrices.hpp"

namespace tilescope {
namespace {

using distribute::Range;
using testing::TestMatrix;

/// A matrix in device memory.
struct OnDevice {
  Buffer memory;
  MatrixView view;

  OnDevice(Device& device, const TestMatrix& from, Range rows)
      : view{ConstMatrixView{.type = from.view().type,
                             .rows = rows.count,
                             .columns = from.view().columns,
                             .order = Order::row_major,
                             .leading = from.view().leading}} {
    const std::size_t pitch = static_cast<std::size_t>(view.leading) * size_of(view.type);
    memory = device.allocate(static_cast<std::size_t>(rows.count) * pitch, "shard");
    view.data = reinterpret_cast<void*>(memory.address());
    device.copy_to_device(memory.address(),
                          static_cast<const std::byte*>(from.view().data) +
                              static_cast<std::size_t>(rows.first) * pitch,
                          memory.bytes());
  }
  std::vector<std::byte> bytes(Device& device) const {
    std::vector<std::byte> result(memory.bytes());
    device.copy_to_host(result.data(), memory.address(), result.size());
    return result;
  }
};

class ShardsOnGpus : public testing::RealGpu {
 protected:
  void SetUp() override {
    RealGpu::SetUp();
    if (IsSkipped()) return;
    gpus_ = open_devices("all");
    if (gpus_.size() < 2) GTEST_SKIP() << "needs two GPUs";
  }

  void expect_bits_of_one(const MatmulShape& s, Precision precision, std::int64_t panels,
                          int launches = 2) {
    SCOPED_TRACE(fmt::format("{} x {} x {} in {}", s.m, s.n, s.k, name_of(precision)));
    const DataType type = precision == Precision::bf16   ? DataType::bfloat16
                          : precision == Precision::fp16 ? DataType::float16
                                                         : DataType::float32;
    TestMatrix a(type, s.m, s.k), b(type, s.k, s.n), c(type, s.m, s.n);
    a.fill_random(1);
    b.fill_random(2);
    const MatmulOptions options{.precision = precision};
    Device& first = *gpus_.front();
    const OnDevice whole_a(first, a, {0, s.m}), whole_b(first, b, {0, s.k}),
        whole_c(first, c, {0, s.m});
    first.fill(whole_c.memory.address(), 0xFF, whole_c.memory.bytes());  // gaps between rows too
    PreparedGemm(first, whole_a.view, whole_b.view, whole_c.view, options).launch();
    first.synchronize();
    const std::vector<std::byte> expected = whole_c.bytes(first);

    const auto count = static_cast<std::int64_t>(gpus_.size());
    std::vector<OnDevice> shards;
    std::vector<ConstMatrixView> as, bs;
    std::vector<MatrixView> cs;
    const std::vector<Range> rows = distribute::equal_shares(s.m, count, 1),
                             depths = distribute::equal_shares(s.k, count, 1);
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      as.emplace_back(shards.emplace_back(*gpus_[i], a, rows[i]).view);
      bs.emplace_back(shards.emplace_back(*gpus_[i], b, depths[i]).view);
      cs.push_back(shards.emplace_back(*gpus_[i], c, rows[i]).view);
    }
    ShardedGemm product(gpus_, as, bs, cs, options);
    EXPECT_EQ(product.report().panels, panels);
    const bool may_differ = !product.report().product.note.empty();
    EXPECT_TRUE(!may_differ || s.k % 8 != 0) << "rows of whole chunks are added alike";
    for (int launch = 0; launch < launches; ++launch) {
      for (std::size_t i = 0; i < gpus_.size(); ++i) {
        const Buffer& memory = shards[3 * i + 2].memory;
        gpus_[i]->fill(memory.address(), 0xFF, memory.bytes());
      }
      product.launch();
      std::vector<std::byte> got;
      for (std::size_t i = 0; i < gpus_.size(); ++i) {
        gpus_[i]->synchronize();
        const std::vector<std::byte> part = shards[3 * i + 2].bytes(*gpus_[i]);
        got.insert(got.end(), part.begin(), part.end());
      }
      const auto [one, other] = std::mismatch(got.begin(), got.end(), expected.begin());
      const auto place = static_cast<std::size_t>(one - got.begin()) / size_of(type);
      EXPECT_TRUE(one == got.end() || may_differ)
          << "launch " << launch << ": row " << place / static_cast<std::size_t>(s.n) << ", column "
          << place % static_cast<std::size_t>(s.n);
    }
  }

  std::vector<std::shared_ptr<Device>> gpus_;
};

TEST_F(ShardsOnGpus, OneLaunchWaitsForTheColumnsOfB) {
  expect_bits_of_one({4096, 4096, 1024}, Precision::bf16, 4, 20);
  expect_bits_of_one({4104, 3000, 1792}, Precision::bf16, 3, 20);
  expect_bits_of_one({8192, 2048, 4096}, Precision::fp16, 3, 20);
}

TEST_F(ShardsOnGpus, PanelsOneAfterTheOther) {
  expect_bits_of_one({4095, 4097, 1003}, Precision::bf16, 4);
  expect_bits_of_one({4104, 3000, 904}, Precision::bf16, 3);
  expect_bits_of_one({3001, 2999, 1001}, Precision::fp32, 1);
  expect_bits_of_one({4096, 4096, 1024}, Precision::tf32, 4);
}

}  // namespace
}  // namespace tilescope
