// The CPU forms of the companion operations, which the ladders take as the reference, against their
// definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "operations/blur/blur.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/laplacian/laplacian.hpp"
#include "operations/numerics/random.hpp"
#include "operations/reduction/reduction.hpp"
#include "operations/transpose/transpose.hpp"
#include "support/arrays.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::host_array;

TEST(BlurOnCpu, IsTheDefinition) {
  struct Shape {
    std::int64_t height, width;
  };
  for (const auto& [height, width] : {Shape{1, 1}, {1, 150}, {150, 1}, {62, 76}, {300, 20}}) {
    for (const int channels : {1, 2, 3, 4}) {
      for (const int radius : {0, 1, 2, 5, 38, 64}) {
        const BlurProblem p{height, width, channels, radius};
        const auto count = static_cast<std::size_t>(height * width * channels);
        HostArray in = random_array(DataType::uint8, count, 1);
        // Full boxes of the largest value are where a reciprocal would fail.
        if (radius == 5) std::fill_n(in.as<std::uint8_t>().data(), count, std::uint8_t{255});
        std::vector<std::uint8_t> fast(count), slow(count);
        blur_on_cpu(in.as<std::uint8_t>().data(), fast.data(), p);
        blur_by_definition(in.as<std::uint8_t>().data(), slow.data(), p);
        EXPECT_EQ(fast, slow) << height << " x " << width << " x " << channels << ", " << radius;
      }
    }
  }
}

// Every mean that a box can have, whatever its sum: the division by multiplication is exact.
TEST(BlurOnCpu, DividesExactly) {
  for (std::int64_t radius = 0; radius <= 64; ++radius) {
    const std::uint64_t area = static_cast<std::uint64_t>((2 * radius + 1) * (2 * radius + 1));
    const std::uint64_t reciprocal = ((std::uint64_t{1} << 52U) + area - 1) / area;
    for (std::uint64_t mean = 0; mean <= 255; ++mean) {
      for (const std::uint64_t box : {mean * area, mean * area + area - 1}) {
        if (box <= 255 * area) {
          EXPECT_EQ(box * reciprocal >> 52U, box / area) << radius << ' ' << box;
        }
      }
    }
  }
}

std::vector<std::uint64_t> counts_of(const HostArray& x, const Binning& binning) {
  HostArray counts(counter_type(x.count()), static_cast<std::size_t>(binning.bins));
  histogram_on_cpu(x.view(), binning, counts.data());
  const auto found = counts.as<std::uint32_t>();
  return {found.begin(), found.end()};
}

template <typename T>
void expect_integers(DataType type, std::int64_t bins, std::int64_t lower, std::int64_t upper) {
  const HostArray x = random_array(type, 20'011, 5);
  const Binning binning = make_binning(
      type,
      {.count = bins, .lower = static_cast<double>(lower), .upper = static_cast<double>(upper)});
  std::vector<std::uint64_t> wanted(static_cast<std::size_t>(bins));
  for (const T element : x.as<T>()) {
    const auto value = static_cast<std::int64_t>(element);
    if (value < lower || value >= upper) continue;
    ++wanted[static_cast<std::size_t>((value - lower) * bins / (upper - lower))];
  }
  EXPECT_EQ(counts_of(x, binning), wanted) << name_of(type) << ' ' << bins;
}

TEST(HistogramOnCpu, OfIntegersIsTheDefinition) {
  for (const std::int64_t bins : {1, 7, 256, 1000, 65536}) {
    expect_integers<std::uint8_t>(DataType::uint8, bins, 0, 256);
    expect_integers<std::uint8_t>(DataType::uint8, bins, 10, 200);
    expect_integers<std::int8_t>(DataType::int8, bins, -100, 300);
    expect_integers<std::int16_t>(DataType::int16, bins, -32768, 32768);
    expect_integers<std::uint16_t>(DataType::uint16, bins, 1, 65535);
    expect_integers<std::int32_t>(DataType::int32, bins, -2147483648LL, 2147483648LL);
    expect_integers<std::uint32_t>(DataType::uint32, bins, 1000, 4294967296LL);
  }
}

TEST(HistogramOnCpu, OfNumbersLeavesOutWhatIsBeyondAndNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const HostArray x = host_array(
      std::vector<float>{0.0F, -0.0F, 0.24F, 0.25F, 1.0F, 1.01F, -0.01F, nan, infinity, -infinity});
  const Binning binning = make_binning(DataType::float32, {.count = 4, .lower = 0.0, .upper = 1.0});
  EXPECT_EQ(counts_of(x, binning), (std::vector<std::uint64_t>{3, 1, 0, 1}));
}

TEST(HistogramOnCpu, OfThePhraseInFourLetterBins) {
  const std::string phrase = "Programming Massively Parallel Processors";
  HostArray x(DataType::uint8, phrase.size());
  std::copy(phrase.begin(), phrase.end(), x.as<std::uint8_t>().begin());
  EXPECT_EQ(counts_of(x, make_binning(DataType::uint8, {.letters = true})),
            (std::vector<std::uint64_t>{5, 5, 6, 10, 10, 1, 1}));
}

TEST(HistogramOnCpu, LettersAreNothingElse) {
  HostArray x(DataType::uint8, 256);
  std::iota(x.as<std::uint8_t>().begin(), x.as<std::uint8_t>().end(), std::uint8_t{0});
  EXPECT_EQ(counts_of(x, make_binning(DataType::uint8, {.letters = true})),
            (std::vector<std::uint64_t>{8, 8, 8, 8, 8, 8, 4}));
}

TEST(Binning, RefusesWhatCannotBe) {
  using testing::error_of;
  for (const auto& [type, bins] : std::vector<std::pair<DataType, Bins>>{
           {DataType::uint8, {.count = 0}},
           {DataType::uint8, {.count = 65537}},
           {DataType::uint8, {.lower = 5.0, .upper = 5.0}},
           {DataType::int32, {.lower = 0.5, .upper = 5.0}},
           {DataType::float32, {}},
           {DataType::float32, {.lower = 1.0, .upper = 1.0 + 1e-9}},
           {DataType::float32, {.lower = -3e38, .upper = 3e38}},
           {DataType::float64, {.lower = 0.0, .upper = std::nan("")}},
           {DataType::int16, {.letters = true}},
           {DataType::int64, {}}}) {
    EXPECT_NE(error_of(ErrorKind::usage, [&, t = type, b = bins] { make_binning(t, b); }), "");
  }
}

template <typename Result>
Result reduced(const HostArray& x, Reduction reduction) {
  Result result{};
  reduce_on_cpu(x.view(), reduction, &result);
  return result;
}

TEST(ReduceOnCpu, FindsTheFirstOfEqualsAnywhere) {
  for (const std::size_t count : {1UL, 15UL, 16UL, 17UL, 65535UL, 65536UL, 65537UL, 200'003UL}) {
    for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
      std::vector<float> values(count, 1.0F);
      values[place] = 2.0F;
      values[count - 1] = 2.0F;
      const HostArray x = host_array(values);
      EXPECT_EQ(reduced<std::int64_t>(x, Reduction::argmax), static_cast<std::int64_t>(place));
      EXPECT_EQ(reduced<float>(x, Reduction::max), 2.0F);
      EXPECT_EQ(reduced<float>(x, Reduction::min), count == 1                 ? 2.0F
                                                   : place == 0 && count == 2 ? 2.0F
                                                                              : 1.0F);
      EXPECT_EQ(reduced<double>(x, Reduction::sum),
                static_cast<double>(count) + (place == count - 1 ? 1.0 : 2.0));
    }
  }
}

TEST(ReduceOnCpu, NaNComesFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values(100'000, infinity);
  values[70'000] = values[90'000] = nan;
  const HostArray x = host_array(values);
  EXPECT_EQ(reduced<std::int64_t>(x, Reduction::argmax), 70'000);
  EXPECT_TRUE(std::isnan(reduced<double>(x, Reduction::max)));
  EXPECT_TRUE(std::isnan(reduced<double>(x, Reduction::min)));
  EXPECT_TRUE(std::isnan(reduced<double>(x, Reduction::sum)));
  const HostArray all = host_array(std::vector<double>(40, nan));
  EXPECT_EQ(reduced<std::int64_t>(all, Reduction::argmax), 0);
}

TEST(ReduceOnCpu, ExtremesOfExtremes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const HostArray low = host_array(std::vector<double>(40, -infinity));
  EXPECT_EQ(reduced<double>(low, Reduction::max), -infinity);
  EXPECT_EQ(reduced<std::int64_t>(low, Reduction::argmax), 0);
  HostArray integers(DataType::int32, 33);
  std::fill_n(integers.as<std::int32_t>().data(), 33, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduced<std::int32_t>(integers, Reduction::max),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduced<std::int64_t>(integers, Reduction::sum), -33 * 2147483648LL);
}

TEST(ReduceOnCpu, AZeroIsPositive) {
  const HostArray zeros = host_array(std::vector<double>(20, -0.0));
  EXPECT_FALSE(std::signbit(reduced<double>(zeros, Reduction::min)));
  EXPECT_FALSE(std::signbit(reduced<double>(zeros, Reduction::max)));
  EXPECT_FALSE(std::signbit(reduced<double>(zeros, Reduction::sum)));
}

TEST(TransposeOnCpu, IsTheDefinition) {
  for (const DataType type :
       {DataType::uint8, DataType::int16, DataType::float32, DataType::float64}) {
    for (const std::int64_t rows : {1, 31, 64, 65, 130}) {
      for (const std::int64_t columns : {1, 33, 64, 129}) {
        const HostArray in = random_array(type, static_cast<std::size_t>(rows * columns), 7);
        HostArray out(type, in.count());
        transpose_task(in.view(), rows, columns).compute(out.data());
        const std::vector<double> from = testing::doubles(in), to = testing::doubles(out);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < columns; ++c) {
            ASSERT_EQ(to[static_cast<std::size_t>(c * rows + r)],
                      from[static_cast<std::size_t>(r * columns + c)])
                << rows << " x " << columns;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
