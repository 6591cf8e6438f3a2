#include "gpu/profiles.hpp"

#include <gmock/gmock.h>

#include <tilescope/error.hpp>

namespace tilescope::gpu {
namespace {

using ::testing::HasSubstr;

TEST(Profiles, DefaultIsTheH200) {
  EXPECT_EQ(profiles().front().name, "h200");
}

TEST(Profiles, FoundWhateverTheLetterCase) {
  ASSERT_NE(find_profile("T4"), nullptr);
  EXPECT_EQ(find_profile("T4"), find_profile("t4"));
  EXPECT_EQ(find_profile("t4")->compute_minor, 5);
}

TEST(Profiles, UnknownNameSuggestsTheNearest) {
  EXPECT_EQ(find_profile("h2000"), nullptr);
  try {
    require_profile("rtx4080");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("did you mean rtx4090?"));
    EXPECT_THAT(error.what(), HasSubstr("h200, h100, a100"));
  }
}

// The rates that the data sheets print, to the digits they print them with.
TEST(Profiles, RatesAgreeWithTheDataSheets) {
  EXPECT_NEAR(find_profile("h100")->peak_fp32(), 66.9e12, 0.05e12);
  EXPECT_NEAR(find_profile("h100")->peak_bandwidth(), 3.35e12, 0.005e12);
  EXPECT_NEAR(find_profile("h200")->peak_bandwidth(), 4.8e12, 0.05e12);
  EXPECT_NEAR(find_profile("a100")->peak_fp32(), 19.5e12, 0.05e12);
  EXPECT_NEAR(find_profile("a100")->peak_bandwidth(), 1.555e12, 0.0005e12);
  EXPECT_NEAR(find_profile("v100")->peak_fp32(), 15.7e12, 0.05e12);
  EXPECT_NEAR(find_profile("v100")->peak_bandwidth(), 900e9, 5e9);
  EXPECT_NEAR(find_profile("t4")->peak_fp32(), 8.1e12, 0.05e12);
  EXPECT_NEAR(find_profile("t4")->peak_bandwidth(), 320e9, 0.5e9);
  EXPECT_NEAR(find_profile("l4")->peak_fp32(), 30.3e12, 0.05e12);
  EXPECT_NEAR(find_profile("l4")->peak_bandwidth(), 300e9, 0.5e9);
  EXPECT_NEAR(find_profile("rtx4090")->peak_fp32(), 82.6e12, 0.05e12);
  EXPECT_NEAR(find_profile("rtx4090")->peak_bandwidth(), 1.008e12, 0.0005e12);
}

TEST(Profiles, EveryLimitIsSet) {
  for (const Profile& profile : profiles()) {
    SCOPED_TRACE(profile.name);
    const DeviceProperties& p = profile.properties;
    EXPECT_GT(p.fp32_lanes_per_sm, 0);
    EXPECT_GT(p.l2_bytes, 0U);
    EXPECT_GE(p.shared_bytes_per_sm,
              p.shared_bytes_per_block_optin + p.reserved_shared_bytes_per_block);
    EXPECT_GE(p.max_threads_per_sm, p.max_threads_per_block);
    EXPECT_EQ(p.max_block, (Dim3{1024, 1024, 64}));
  }
}

}  // namespace
}  // namespace tilescope::gpu
