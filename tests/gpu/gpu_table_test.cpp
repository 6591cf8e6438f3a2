#include <gmock/gmock.h>

#include <set>
#include <tilescope/gpu/gpu_table.hpp>

#include "support/temporary_folder.hpp"

namespace tilescope::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The driver's report of a GPU like `known`, under the name `name`.
DeviceProperties device(const Gpu& known, const std::string& name) {
  DeviceProperties properties = known.properties;
  properties.name = name;
  return properties;
}

std::vector<std::string> rates_of(const Gpu& gpu) {
  std::vector<std::string> names;
  for (const MathRate& rate : gpu.rates) names.push_back(rate.name);
  return names;
}

TEST(GpuOfDevice, EachNameOfTheDriverIsOneGpuOfTheTable) {
  std::set<std::string> seen;
  for (const Gpu& known : gpu_table()) {
    for (const std::string& name : known.device_names) {
      SCOPED_TRACE(name);
      EXPECT_TRUE(seen.insert(name).second);
      const Gpu found = gpu_of_device(device(known, name));
      EXPECT_EQ(found.name, known.name);
      EXPECT_EQ(found.properties.name, name);
      EXPECT_EQ(rates_of(found), rates_of(known));
    }
  }
  for (const char* name :
       {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L4", "Tesla T4",
        "Tesla V100-SXM2-16GB", "NVIDIA GeForce RTX 4090", "NVIDIA B200"}) {
    EXPECT_EQ(seen.count(name), 1U) << name;
  }
}

TEST(GpuOfDevice, ANameThatBeginsLikeAnotherHasNoCeilingOfItsTensorCores) {
  const Gpu l4 = find_gpu("l4");
  ASSERT_NE(gpu_of_device(device(l4, "NVIDIA L4")).rate("bf16_tensor"), nullptr);
  for (const char* name :
       {"NVIDIA L40S", "NVIDIA L40", "NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D", "nvidia l4", ""}) {
    SCOPED_TRACE(name);
    const Gpu found = gpu_of_device(device(l4, name));
    EXPECT_EQ(found.name, name);
    EXPECT_THAT(rates_of(found), ElementsAre("fp32"));
    EXPECT_TRUE(found.latencies.empty());
  }
}

TEST(GpuOfDevice, WithoutKnownUnitsThereIsNoRateAtAll) {
  DeviceProperties unknown = find_gpu("l4").properties;
  unknown.name = "a GPU of tomorrow";
  unknown.fp32_lanes_per_sm = 0;
  EXPECT_TRUE(gpu_of_device(unknown).rates.empty());
}

TEST(GpuOfDevice, AGpuOfAFileIsNoDeviceOfTheGpuItIsBasedOn) {
  const Gpu gpu = parse_gpu(R"({"based_on": "l4", "name": "mine", "sm_count": 20})", "mine.json");
  EXPECT_TRUE(gpu.device_names.empty());
}

TEST(GpuFile, RefusesWhatIsNoDescriptionInOneLine) {
  const auto refused = [](std::string_view text) {
    return testing::error_of(ErrorKind::bad_input, [&] { parse_gpu(text, "mine.json"); });
  };
  EXPECT_THAT(refused("{,"), StartsWith("mine.json: expected JSON: line 1, column 2: "));
  EXPECT_THAT(refused("{\"a\": 1e400}"), StartsWith("mine.json: expected JSON: "));
  EXPECT_THAT(refused("[1]"), StartsWith("mine.json: expected a JSON object {...}, got array [1]"));
  EXPECT_THAT(refused(R"({"based_on": "mine.json"})"), HasSubstr("name a GPU of the table"));
  for (const char* text : {"{,", "\xff", "[[[[", "{\"a\": 1e400}"}) {
    EXPECT_THAT(refused(text), Not(HasSubstr("json.exception"))) << text;
    EXPECT_THAT(refused(text), Not(HasSubstr("\n"))) << text;
  }
}

}  // namespace
}  // namespace tilescope::gpu
