#include "measure/verification.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/arrays.hpp"

namespace tilescope::measure {
namespace {

using operations::StoredExpected;
using testing::host_array;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

bool passes(double result, double reference, double bound) {
  return verify({{result}}, {{reference}}, {{bound}}).ok();
}

TEST(Verify, NanNeverPassesWhereTheReferenceIsANumber) {
  EXPECT_FALSE(passes(not_a_number, 1.0, 1e300));
  EXPECT_FALSE(passes(not_a_number, 1.0, infinity));
  EXPECT_FALSE(passes(not_a_number, 0.0, not_a_number));
  EXPECT_FALSE(passes(not_a_number, infinity, infinity));
}

TEST(Verify, NanMatchesNanAlone) {
  EXPECT_TRUE(passes(not_a_number, not_a_number, 0.0));
  EXPECT_TRUE(passes(-not_a_number, not_a_number, 0.0));
  EXPECT_FALSE(passes(1.0, not_a_number, infinity));
  EXPECT_FALSE(passes(infinity, not_a_number, infinity));
}

TEST(Verify, InfinityMatchesTheSameInfinity) {
  EXPECT_TRUE(passes(infinity, infinity, 0.0));
  EXPECT_TRUE(passes(-infinity, -infinity, 0.0));
  EXPECT_FALSE(passes(infinity, -infinity, infinity));
  EXPECT_FALSE(passes(infinity, 1e308, infinity)) << "an overflow is an error";
  EXPECT_FALSE(passes(1e308, infinity, infinity));
}

TEST(Verify, TheBoundIsExactAtItsEdge) {
  EXPECT_TRUE(passes(1.25, 1.0, 0.25));
  EXPECT_TRUE(passes(0.75, 1.0, 0.25));
  EXPECT_FALSE(passes(std::nextafter(1.25, 2.0), 1.0, 0.25));
  EXPECT_FALSE(passes(std::nextafter(0.75, 0.0), 1.0, 0.25));
  EXPECT_FALSE(passes(1.25, 1.0, std::nextafter(0.25, 0.0)));
}

TEST(Verify, ABoundOfZeroIsEquality) {
  EXPECT_TRUE(passes(3.0, 3.0, 0.0));
  EXPECT_TRUE(passes(-0.0, 0.0, 0.0));
  EXPECT_FALSE(passes(std::nextafter(3.0, 4.0), 3.0, 0.0)) << "one unit in the last place";
  EXPECT_FALSE(passes(std::numeric_limits<double>::denorm_min(), 0.0, 0.0));
}

TEST(Verify, ABoundThatIsNanOrNegativeLetsNothingPass) {
  EXPECT_FALSE(passes(1.0, 1.0, not_a_number));
  EXPECT_FALSE(passes(1.0, 1.0, -1.0));
}

TEST(Verify, CountsAndFindsTheFirstWrong) {
  const std::vector<double> reference{1, 2, 3, 4}, bounds{0.1, 0.1, 0.1, 0.1},
      result{1.05, 2.5, not_a_number, 4.0};
  const Verification v = verify(result, reference, bounds);
  EXPECT_EQ(v.elements, 4u);
  EXPECT_EQ(v.wrong, 2u);
  EXPECT_EQ(v.first_wrong, 1u);
  EXPECT_DOUBLE_EQ(v.max_error, 0.5);
  EXPECT_DOUBLE_EQ(v.max_error_ratio, 5.0);
  EXPECT_EQ(describe(v, host_array(result), StoredExpected(reference, bounds)),
            "2 of 4 elements are wrong, the first at 1: 2.5, not 2 (bound 0.1)");
}

TEST(Verify, EveryElementIsLookedAt) {
  std::vector<double> reference(1000, 1.0), bounds(1000, 0.0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{499}, std::size_t{999}}) {
    std::vector<double> result(1000, 1.0);
    result[at] = 1.0 + 1e-15;
    const Verification v = verify(result, reference, bounds);
    EXPECT_EQ(v.wrong, 1u);
    EXPECT_EQ(v.first_wrong, at);
  }
}

TEST(Verify, RightResults) {
  const std::vector<double> reference{1, 2}, bounds{0.5, 0.5}, result{1.25, 2};
  const Verification v = verify(result, reference, bounds);
  EXPECT_TRUE(v.ok());
  EXPECT_DOUBLE_EQ(v.max_error_ratio, 0.5);
  EXPECT_EQ(describe(v, host_array(result), StoredExpected(reference, bounds)),
            "all 2 elements are right");
}

// Arrays are checked in pieces by all cores: nothing may be lost between two of them.
TEST(VerifyArrays, FindsWhatIsWrongInAnyPiece) {
  constexpr std::size_t count = 100001;
  const StoredExpected expected(std::vector<double>(count, 1.0), std::vector<double>(count, 0.25));
  for (const std::size_t at : {std::size_t{0}, std::size_t{32767}, std::size_t{32768}, count - 1}) {
    std::vector<float> values(count, 1.125F);
    values[at] = 1.5F;
    const Verification v = verify(host_array(values), expected);
    EXPECT_EQ(v.elements, count);
    EXPECT_EQ(v.wrong, 1u);
    EXPECT_EQ(v.first_wrong, at);
    EXPECT_EQ(v.max_error, 0.5);
    EXPECT_EQ(v.max_error_ratio, 2.0);
  }
}

TEST(VerifyArrays, TheFirstWrongIsTheFirstInTheArray) {
  constexpr std::size_t count = 1000000;
  const StoredExpected expected(std::vector<double>(count, 1.0), std::vector<double>(count, 0.0));
  std::vector<double> values(count, 2.0);
  std::fill_n(values.begin(), 70000, 1.0);
  const Verification v = verify(host_array(values), expected);
  EXPECT_EQ(v.wrong, count - 70000);
  EXPECT_EQ(v.first_wrong, 70000u);
}

TEST(VerifyArrays, AnotherLengthIsWrong) {
  const StoredExpected expected({1.0, 2.0}, {0.0, 0.0}), none({}, {});
  for (const auto& values : {std::vector<double>{1.0}, std::vector<double>{1.0, 2.0, 3.0}}) {
    const operations::HostArray result = host_array(values);
    const Verification v = verify(result, expected);
    EXPECT_EQ(v.wrong, 2u);
    EXPECT_EQ(describe(v, result, expected), std::to_string(values.size()) + " elements, not 2");
  }
  EXPECT_FALSE(verify(host_array(std::vector<double>{1.0}), none).ok());
  EXPECT_TRUE(verify(host_array(std::vector<double>{}), none).ok());
}

}  // namespace
}  // namespace tilescope::measure
