// Operations in chunks, on the emulated device: the same results as in one piece, within the limit.
#include "transfer/streamed.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tilescope/error.hpp>
#include <tilescope/reverse.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/vector_add.hpp>

#include "operations/elementwise/elementwise.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/numerics/random.hpp"
#include "support/fake_device.hpp"
#include "support/temporary_folder.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::transfer {
namespace {

using operations::HostArray;
using testing::error_of;
using ::testing::HasSubstr;

constexpr std::size_t lengths[] = {0, 1, 2, 1009, 4096};
constexpr std::size_t limits[] = {4000, 20'000};

ArrayView into(HostArray& array) {
  return {array.type(), array.count(), array.data()};
}

class StreamedTest : public ::testing::Test {
 protected:
  /// The two ways of `run(y, stream)` leave the same bytes in y, for all lengths and limits.
  template <typename Run>
  void expect_same_bits(DataType type, const Run& run) {
    for (const std::size_t count : lengths) {
      const HostArray x = operations::random_array(type, count, 3);
      HostArray whole(type, count), chunked(type, count);
      run(x, whole, StreamOptions{});
      for (const std::size_t limit : limits) {
        std::memset(chunked.data(), 0xA5, chunked.bytes());
        std::size_t done = 0;
        run(x, chunked, StreamOptions{.device_bytes = limit, .progress = [&](std::size_t n) {
                                        EXPECT_GT(n, done);
                                        done = n;
                                      }});
        EXPECT_EQ(done, count);
        EXPECT_EQ(std::memcmp(whole.data(), chunked.data(), whole.bytes()), 0)
            << count << " elements within " << limit;
      }
    }
  }

  std::shared_ptr<Device> device_ = Device::open("emulated");
};

TEST_F(StreamedTest, SaxpbByEveryRung) {
  for (const DataType type : {DataType::float32, DataType::float64}) {
    for (const char* rung : {"", "many_blocks", "strided_8", "grid_stride", "vector"}) {
      SaxpbOptions options;
      options.variant = rung;
      expect_same_bits(type, [&](const HostArray& x, HostArray& y, const StreamOptions& stream) {
        saxpb(*device_, 0.3, x.view(), -0.7, into(y), options, stream);
      });
    }
  }
}

TEST_F(StreamedTest, VectorAdd) {
  expect_same_bits(DataType::float32, [&](const HostArray& x, HostArray& y, const auto& stream) {
    const HostArray other = operations::random_array(DataType::float32, x.count(), 8);
    vector_add(*device_, x.view(), other.view(), into(y), {}, stream);
  });
}

TEST_F(StreamedTest, ScaleCutsBetweenRowsOrWithinThem) {
  for (const std::int64_t columns : {1, 16, 1009, 4096}) {
    for (const char* rung : {"", "picture"}) {
      expect_same_bits(
          DataType::float32, [&](const HostArray& x, HostArray& y, const StreamOptions& stream) {
            const auto count = static_cast<std::int64_t>(x.count());
            const std::int64_t width =
                count % columns == 0 ? columns : std::max<std::int64_t>(1, count);
            scale(*device_, 1.7, dense_view(x.data(), x.type(), count / width, width),
                  dense_view(y.data(), y.type(), count / width, width), {.variant = rung}, stream);
          });
    }
  }
}

TEST_F(StreamedTest, ReverseAlsoInPlace) {
  for (const DataType type : {DataType::float64, DataType::int16}) {
    for (const char* rung : {"", "shared", "in_place"}) {
      expect_same_bits(type, [&](const HostArray& x, HostArray& y, const StreamOptions& stream) {
        reverse(*device_, x.view(), into(y), {.variant = rung}, stream);
      });
    }
  }
}

TEST_F(StreamedTest, HistogramCountsTheSame) {
  for (const std::size_t count : lengths) {
    for (const DataType type : {DataType::uint8, DataType::float32}) {
      const HostArray x = operations::random_array(type, count, 5);
      Bins bins{.count = 16};
      if (type == DataType::float32) {
        bins.lower = -0.5;
        bins.upper = 0.5;
      }
      const HistogramResult whole = histogram(*device_, x.view(), bins, {}, {});
      const HistogramResult chunked =
          histogram(*device_, x.view(), bins, {}, {.device_bytes = 4000});
      EXPECT_EQ(whole.counts, chunked.counts) << count;
      EXPECT_EQ(whole.upper, chunked.upper);
    }
  }
}

TEST_F(StreamedTest, ReductionsThatAreExactAreTheSame) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1009}, std::size_t{5000}}) {
    for (const DataType type : {DataType::int32, DataType::float32, DataType::float64}) {
      const HostArray x = operations::random_array(type, count, 7);
      for (const Reduction reduction :
           {Reduction::sum, Reduction::min, Reduction::max, Reduction::argmax}) {
        if (reduction == Reduction::sum && type != DataType::int32) continue;
        const Reduced whole = reduce(*device_, x.view(), reduction, {}, {});
        const Reduced chunked = reduce(*device_, x.view(), reduction, {}, {.device_bytes = 4000});
        EXPECT_EQ(whole.type, chunked.type);
        EXPECT_EQ(whole.real, chunked.real);
        EXPECT_EQ(whole.integer, chunked.integer) << name_of(reduction) << ' ' << count;
      }
    }
  }
}

TEST_F(StreamedTest, NothingHasASumOnly) {
  const HostArray nothing(DataType::float32, 0);
  const StreamOptions stream{.device_bytes = 4000};
  EXPECT_EQ(reduce(*device_, nothing.view(), Reduction::sum, {}, stream).real, 0.0);
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { reduce(*device_, nothing.view(), Reduction::max, {}, stream); }),
              HasSubstr("an empty list has no max"));
}

TEST_F(StreamedTest, TheFirstOfEqualElementsAndOfNaNsWins) {
  constexpr std::size_t count = 3000;
  const StreamOptions stream{.device_bytes = 4000};
  HostArray x(DataType::float32, count);
  for (float& value : x.as<float>()) value = 1.0F;
  EXPECT_EQ(reduce(*device_, x.view(), Reduction::argmax, {}, stream).integer, 0);
  x.as<float>()[2000] = x.as<float>()[2900] = 2.0F;
  EXPECT_EQ(reduce(*device_, x.view(), Reduction::argmax, {}, stream).integer, 2000);
  x.as<float>()[1500] = x.as<float>()[2500] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reduce(*device_, x.view(), Reduction::argmax, {}, stream).integer, 1500);
  for (const Reduction reduction : {Reduction::sum, Reduction::min, Reduction::max}) {
    EXPECT_TRUE(std::isnan(reduce(*device_, x.view(), reduction, {}, stream).real));
  }
}

TEST_F(StreamedTest, ASumOfFloatsIsThatOfItsChunksInOrder) {
  const HostArray x = operations::random_array(DataType::float32, 5003, 11);
  const StreamOptions stream{.device_bytes = 4000};
  std::vector<std::size_t> ends;
  StreamOptions watched = stream;
  watched.progress = [&](std::size_t done) { ends.push_back(done); };
  const double sum = reduce(*device_, x.view(), Reduction::sum, {}, watched).real;
  ASSERT_GT(ends.size(), 2U);
  double expected = 0.0;
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    expected += tilescope::reduce(*device_, {x.type(), end - first, x.as<float>().data() + first},
                                  Reduction::sum)
                    .real;
    first = end;
  }
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(sum, reduce(*device_, x.view(), Reduction::sum, {}, stream).real) << "another run";
}

TEST_F(StreamedTest, ThreeChunksAreUnderWayAtOnce) {
  const HostArray x = operations::random_array(DataType::float32, 5000, 1);
  const float* const first = x.as<float>().data();
  bool planned = false;
  std::string order;  // which chunk begins (+) and which is taken (-)
  StreamedJob job{.inputs = {x.view()},
                  .task =
                      [&](const auto& part) {
                        if (planned && part[0].data != first) {
                          const auto at = static_cast<const float*>(part[0].data) - first;
                          order += fmt::format("+{} ", at / 1000);
                        }
                        return operations::saxpb_task(part[0], {});
                      },
                  .take =
                      [&](std::size_t at, std::size_t count, const void*) {
                        EXPECT_EQ(count, 1000U);
                        order += fmt::format("-{} ", at / 1000);
                      }};
  const StreamOptions options{.device_bytes = 3 * 2 * 4 * 1000};
  ASSERT_EQ(plan_streamed(*device_, job, "", options).chunk, 1000U);
  planned = true;
  run_streamed(*device_, job, "", options);
  EXPECT_EQ(order, "+1 +2 -0 +3 -1 +4 -2 -3 -4 ") << "the first begins unseen";
}

TEST_F(StreamedTest, AllOfItStaysWithinTheLimit) {
  const HostArray x = operations::random_array(DataType::float32, 100'003, 1);
  const StreamedJob job{
      .inputs = {x.view()},
      .task = [](const auto& part) { return operations::saxpb_task(part[0], {}); },
      .take = {}};
  for (std::size_t limit = 24; limit < 1'000'000; limit = limit * 3 / 2) {
    const StreamedPlan plan = plan_streamed(*device_, job, "", {.device_bytes = limit});
    EXPECT_LE(plan.device_bytes, limit);
    EXPECT_EQ(plan.device_bytes, 3 * 2 * 4 * plan.chunk);
    EXPECT_GE(plan.chunks * plan.chunk, x.count());
    EXPECT_LT((plan.chunks - 1) * plan.chunk, x.count());
  }
  EXPECT_EQ(
      error_of(ErrorKind::usage, [&] { plan_streamed(*device_, job, "", {.device_bytes = 23}); }),
      "a device-memory limit of 23 B is below the 24 B that chunks of one element take; "
      "raise the limit");
}

TEST_F(StreamedTest, VariantsThatAreNoKernelsAreRefused) {
  const HostArray x = operations::random_array(DataType::float32, 10, 1);
  HostArray y(DataType::float32, 10);
  SaxpbOptions options;
  for (const char* name : {"cpu", "no_such"}) {
    options.variant = name;
    EXPECT_THAT(
        error_of(
            ErrorKind::usage,
            [&] { saxpb(*device_, 1, x.view(), 1, into(y), options, {.device_bytes = 4000}); }),
        HasSubstr(name));
  }
}

TEST_F(StreamedTest, TheCpuTakesALimitAndNeedsNone) {
  const auto cpu = Device::open("cpu");
  const HostArray x = operations::random_array(DataType::float32, 1009, 1);
  HostArray y(DataType::float32, 1009), z(DataType::float32, 1009);
  EXPECT_EQ(saxpb(*cpu, 2, x.view(), 1, into(y), {}, {.device_bytes = 1}).variant, "cpu");
  tilescope::saxpb(*cpu, 2, x.view(), 1, into(z));
  EXPECT_EQ(std::memcmp(y.data(), z.data(), y.bytes()), 0);
}

TEST(ChunkSize, IsTheLeastOfItsFormula) {
  for (const double rate : {6e9, 55e9}) {
    for (const double bytes : {1e6, 1e9, 1e11}) {
      for (const int copies : {1, 2}) {
        const LinkModel link{rate, 7e-6};
        const auto time = [&](double c) {
          return bytes / rate + bytes / c * copies * link.latency_s + 2 * c / rate;
        };
        const auto best = static_cast<double>(best_chunk_bytes(link, bytes, copies));
        EXPECT_LT(time(best), time(best * 0.9));
        EXPECT_LT(time(best), time(best * 1.1));
      }
    }
  }
  EXPECT_EQ(best_chunk_bytes({55e9, 0.0}, 1e9, 1), least_chunk_bytes) << "a link without latency";
}

TEST(LinkModel, OfALinkWithoutTimeIsStillOne) {
  const auto fake = std::make_shared<testing::FakeDevice>(DeviceProperties{});
  const LinkModel link = measure_link_model(*fake);
  EXPECT_GT(link.bytes_per_second, 0.0);
  EXPECT_GE(link.latency_s, 0.0);
  EXPECT_GE(best_chunk_bytes(link, 1e9, 1), least_chunk_bytes);
}

}  // namespace
}  // namespace tilescope::transfer
