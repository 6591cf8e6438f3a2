// Products that read what the one before them wrote, queued at once: their grids may begin before
// that one has ended, and must give the bits of products one by one.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <tilescope/gemm.hpp>

#include "cuda/real_gpu.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "support/random_buffer.hpp"
#include "support/stream_graph.hpp"

namespace tilescope {
namespace {

class ProductChainsOnGpu : public testing::RealGpu {
 protected:
  // X, then X W, X W W ... in turns in two matrices; W keeps their size about equal.
  struct Chain {
    Buffer first, x[2], w;
    std::unique_ptr<PreparedGemm> there, back;
  };

  Chain chain_of(Precision precision, std::int64_t rows, std::int64_t size) {
    const DataType type = operations::operand_type(precision);
    const auto random = [&](std::int64_t count, std::uint64_t seed) {
      return testing::random_buffer(*gpu_, type, count, seed);
    };
    Chain chain{random(rows * size, 1),
                {random(rows * size, 2), random(rows * size, 3)},
                random(size * size, 4)};
    const auto view = [&](const Buffer& buffer, std::int64_t of_rows) {
      return dense_view(reinterpret_cast<void*>(buffer.address()), type, of_rows, size);
    };
    const MatmulOptions options{.precision = precision,
                                .alpha = std::sqrt(3.0 / static_cast<double>(size))};
    const auto product = [&](int from) {
      return std::make_unique<PreparedGemm>(*gpu_, view(chain.x[from], rows), view(chain.w, size),
                                            view(chain.x[1 - from], rows), options);
    };
    chain.there = product(0);
    chain.back = product(1);
    return chain;
  }

  /// Both matrices after twelve products there and back.
  std::vector<std::byte> result(const Chain& chain, const Stream& stream,
                                const std::function<void()>& between) {
    const auto copy_first = [&](const Buffer& to) {
      std::vector<std::byte> bytes(to.bytes());
      gpu_->copy_to_host(bytes.data(), chain.first.address(), bytes.size());
      gpu_->copy_to_device(to.address(), bytes.data(), bytes.size());
    };
    copy_first(chain.x[0]);
    copy_first(chain.x[1]);
    gpu_->fill(scratch_.address(), 0, scratch_.bytes(), stream);
    for (int i = 0; i < 12; ++i) {
      chain.there->launch(stream);
      between();
      chain.back->launch(stream);
      between();
    }
    return both(chain);
  }
  std::vector<std::byte> both(const Chain& chain) {
    gpu_->synchronize();
    std::vector<std::byte> bytes(2 * chain.first.bytes());
    for (std::size_t i : {0U, 1U}) {
      gpu_->copy_to_host(bytes.data() + i * chain.first.bytes(), chain.x[i].address(),
                         chain.first.bytes());
    }
    return bytes;
  }

  void SetUp() override {
    RealGpu::SetUp();
    // Its fill lasts longer than the host needs to queue a chain.
    if (gpu_) scratch_ = gpu_->allocate(std::size_t{1} << 30U, "scratch");
  }

  Buffer scratch_;
};

TEST_F(ProductChainsOnGpu, HaveTheBitsOfProductsOneByOne) {
  const Stream stream = gpu_->create_stream();
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32,
                                    Precision::fp32, Precision::fp64, Precision::fp32_fast}) {
    for (const auto& [rows, size] : {std::pair<std::int64_t, std::int64_t>{1, 512},
                                     {16, 1024},
                                     {64, 64},
                                     {101, 101},
                                     {256, 2048},
                                     {300, 1003},
                                     {1000, 1000},
                                     {2048, 40}}) {
      SCOPED_TRACE(fmt::format("{} x {} in {}", rows, size, name_of(precision)));
      const Chain chain = chain_of(precision, rows, size);
      const std::vector<std::byte> expected = result(chain, stream, [&] { gpu_->synchronize(); });
      for (int run = 0; run < 4; ++run) {
        ASSERT_EQ(result(chain, stream, [] {}), expected) << chain.there->report().variant;
      }
      result(chain, stream, [] {});  // twelve products from the first matrix
      const testing::StreamGraph graph(stream, [&] {
        chain.there->launch(stream);
        chain.back->launch(stream);
      });
      const std::vector<std::byte> once = both(chain);
      EXPECT_EQ(once, expected);
      for (int i = 0; i < 3; ++i) graph.launch(stream);
      const std::vector<std::byte> replayed = both(chain);
      result(chain, stream, [] {});
      for (int i = 0; i < 3; ++i) {
        chain.there->launch(stream);
        chain.back->launch(stream);
      }
      EXPECT_EQ(both(chain), replayed) << "in a graph";
    }
  }
}

}  // namespace
}  // namespace tilescope
