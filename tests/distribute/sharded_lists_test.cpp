// Lists over several emulated GPUs: the results are those of one device, however many take part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <tilescope/sharded.hpp>
#include <tilescope/sharded_lists.hpp>

#include "operations/numerics/random.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using operations::HostArray;
using operations::random_array;
using testing::error_of;
using ::testing::HasSubstr;

const std::initializer_list<const char*> device_lists = {
    "emulated", "emulated,emulated", "emulated,emulated:t4,emulated",
    "emulated,emulated,emulated,emulated,emulated"};
const std::initializer_list<std::size_t> counts = {0, 1, 1023, 65'537, 200'003};

TEST(ShardedLists, ReductionsDoNotDependOnTheDevices) {
  const auto cpu = Device::open("cpu");
  for (const char* list : device_lists) {
    const auto devices = open_devices(list);
    for (const DataType type : {DataType::float32, DataType::float64, DataType::int32}) {
      for (const std::size_t count : counts) {
        const HostArray x = random_array(type, count, 1);
        for (const Reduction reduction :
             {Reduction::sum, Reduction::min, Reduction::max, Reduction::argmax}) {
          if (count == 0 && reduction != Reduction::sum) continue;
          SCOPED_TRACE(
              fmt::format("{} of {} {} on {}", name_of(reduction), count, name_of(type), list));
          const Reduced found = reduce_sharded(devices, x.view(), reduction);
          const Reduced expected = reduce(*cpu, x.view(), reduction);
          EXPECT_EQ(found.type, expected.type);
          EXPECT_EQ(found.integer, expected.integer);
          EXPECT_EQ(std::bit_cast<std::uint64_t>(found.real),
                    std::bit_cast<std::uint64_t>(expected.real));
        }
      }
    }
  }
}

TEST(ShardedLists, Counts) {
  const auto cpu = Device::open("cpu");
  for (const char* list : device_lists) {
    const auto devices = open_devices(list);
    for (const std::size_t count : counts) {
      const HostArray x = random_array(DataType::float32, count, 2);
      const Bins bins{.count = 100, .lower = -0.5, .upper = 0.75};
      const HistogramResult found = histogram_sharded(devices, x.view(), bins);
      EXPECT_EQ(found.counts, histogram(*cpu, x.view(), bins).counts) << list << ' ' << count;
      EXPECT_EQ(found.lower, -0.5);
    }
  }
}

TEST(ShardedLists, Saxpb) {
  const auto one = Device::open("emulated");
  for (const char* list : device_lists) {
    const auto devices = open_devices(list);
    for (const std::size_t count : counts) {
      const HostArray x = random_array(DataType::float64, count, 3);
      std::vector<double> y(count + 1, 7.0), expected = y;
      saxpb_sharded(devices, 0.3, x.view(), 0.7, {DataType::float64, count, y.data()});
      saxpb(*one, 0.3, x.view(), 0.7, {DataType::float64, count, expected.data()});
      EXPECT_EQ(y, expected) << list << ' ' << count;
    }
  }
}

TEST(ShardedLists, Refusals) {
  const auto devices = open_devices("emulated,emulated");
  const std::vector<float> x(10), nothing;
  std::vector<float> short_list(9);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { reduce_sharded({}, x, Reduction::sum); }),
              HasSubstr("a sharded list needs at least one device"));
  const std::vector<std::shared_ptr<Device>> cpu{Device::open("cpu")};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { reduce_sharded(cpu, x, Reduction::sum); }),
              HasSubstr("the cpu device takes no part in a sharded list"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { reduce_sharded(devices, nothing, Reduction::argmax); }),
      HasSubstr("an empty list has no argmax"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { saxpb_sharded(devices, 1.0, x, 0.0, short_list); }),
              HasSubstr("saxpb"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { histogram_sharded(devices, x, {}); }),
              HasSubstr("range"));
}

}  // namespace
}  // namespace tilescope
