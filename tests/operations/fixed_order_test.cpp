// Sums in a fixed order: the same bits on the CPU and on unlike GPUs, in one piece and in parts.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <tilescope/device.hpp>

#include "operations/numerics/conversion.hpp"
#include "operations/numerics/random.hpp"
#include "operations/reduction/reduction.hpp"

namespace tilescope::operations {
namespace {

std::uint64_t bits_of(const Reduced& reduced) {
  return std::bit_cast<std::uint64_t>(reduced.real);
}

// Their sums differ in almost every order of additions.
HostArray scattered(DataType type, std::size_t count) {
  HostArray array(type, count);
  std::mt19937_64 generator(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto draw = static_cast<double>(generator() >> 11U) * 0x1p-53 - 0.5;
    array.set(i, std::ldexp(draw, static_cast<int>(generator() % 40U)));
  }
  return array;
}

const std::initializer_list<std::size_t> counts = {
    0, 1, 2, 5, 513, 2047, 8193, 65'535, 65'536, 65'537, 70'003, 131'072, 300'001};

TEST(FixedOrder, SumsOfEveryDeviceHaveTheSameBits) {
  const auto cpu = Device::open("cpu");
  for (const char* name : {"emulated", "emulated:t4"}) {
    const auto device = Device::open(name);
    for (const DataType type : {DataType::float32, DataType::float64}) {
      for (const std::size_t count : counts) {
        const HostArray x = scattered(type, count);
        EXPECT_EQ(bits_of(reduce(*device, x.view(), Reduction::sum, {.variant = "fixed_order"})),
                  bits_of(reduce(*cpu, x.view(), Reduction::sum)))
            << name << ' ' << name_of(type) << ' ' << count;
      }
    }
  }
}

TEST(FixedOrder, AnotherOrderWouldShow) {
  const HostArray x = scattered(DataType::float32, 300'001);
  double sum = 0.0;
  for (const float value : x.as<float>()) sum += value;
  EXPECT_NE(sum, reduce(*Device::open("cpu"), x.view(), Reduction::sum).real);
}

TEST(FixedOrder, PartsHaveTheSumsOfTheWhole) {
  for (const DataType type : {DataType::float32, DataType::float64}) {
    const HostArray x = scattered(type, 300'001);
    std::vector<double> whole(sections_of(x.count())), parts(whole.size());
    section_sums_on_cpu(x.view(), whole.data());
    const std::size_t cut = 2 * sum_section;
    section_sums_on_cpu(part(x.view(), 0, cut), parts.data());
    section_sums_on_cpu(part(x.view(), cut, x.count() - cut), parts.data() + 2);
    EXPECT_EQ(parts, whole);
    EXPECT_EQ(sum_of_sections(whole), reduce(*Device::open("cpu"), x.view(), Reduction::sum).real);
  }
}

// Lists of 2^33 elements have more than a section of sections.
TEST(FixedOrder, SectionsOfSections) {
  std::vector<double> sums(sum_section + 3, 0x1p-60);
  sums.front() = 1.0;
  const double sum = sum_of_sections(sums);
  EXPECT_NEAR(sum, 1.0 + static_cast<double>(sum_section + 2) * 0x1p-60, 0x1p-52);
  EXPECT_GT(sum, 1.0) << "added one by one, all but the first would be lost";
}

TEST(FixedOrder, OtherReductions) {
  const auto device = Device::open("emulated");
  for (const DataType type : {DataType::float32, DataType::float64, DataType::int32}) {
    const HostArray x = random_array(type, 140'001, 3);
    for (const Reduction reduction :
         {Reduction::sum, Reduction::min, Reduction::max, Reduction::argmax}) {
      const Reduced found = reduce(*device, x.view(), reduction, {.variant = "fixed_order"});
      const Reduced expected = reduce(*Device::open("cpu"), x.view(), reduction);
      EXPECT_EQ(found.integer, expected.integer) << name_of(reduction);
      EXPECT_EQ(bits_of(found), bits_of(expected)) << name_of(reduction);
    }
  }
}

TEST(CombinedParts, NaNAndTiesAreTheFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto place = [](std::initializer_list<double> values) {
    std::vector<ReducedPart> parts;
    for (const double value : values) {
      parts.push_back(
          {.count = 1, .value = value, .integer = static_cast<std::int64_t>(parts.size())});
    }
    return combined(DataType::float32, Reduction::argmax, parts).integer;
  };
  EXPECT_EQ(place({1.0, 3.0, 3.0, 2.0}), 1);
  EXPECT_EQ(place({-0.0, 0.0}), 0);
  EXPECT_EQ(place({1.0, nan, 7.0, nan}), 1);
  EXPECT_EQ(place({nan, 7.0}), 0);
  EXPECT_EQ(place({-std::numeric_limits<double>::infinity(), -1.0}), 1);
}

TEST(CombinedParts, EmptyPartsSayNothing) {
  const std::vector<ReducedPart> parts{{}, {.count = 1, .value = -3.0}, {}};
  EXPECT_EQ(combined(DataType::float64, Reduction::max, parts).real, -3.0);
  EXPECT_EQ(combined(DataType::int32, Reduction::min, parts).integer, -3);
  EXPECT_EQ(combined(DataType::float64, Reduction::sum, {{}, {}}).real, 0.0);
  EXPECT_THROW(combined(DataType::float64, Reduction::max, {{}, {}}), Error);
}

}  // namespace
}  // namespace tilescope::operations
