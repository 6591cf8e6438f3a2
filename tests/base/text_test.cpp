#include "base/text.hpp"

#include <gmock/gmock.h>

namespace tilescope {
namespace {

using ::testing::ElementsAre;

TEST(Text, TrimRemovesWhiteSpaceAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("ab"), "ab");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,,", ','), ElementsAre("", "a", "", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, SplitLeavesBracketsWhole) {
  EXPECT_THAT(split_outside_brackets("0, scale<16, 2>:3 ,f(a, b)[1,2]"),
              ElementsAre("0", "scale<16, 2>:3", "f(a, b)[1,2]"));
  EXPECT_THAT(split_outside_brackets(""), ElementsAre(""));
  EXPECT_THAT(split_outside_brackets("a<b, c"), ElementsAre("a<b, c")) << "never closed";
}

TEST(Text, NearestSuggestsWhatIsLikely) {
  EXPECT_EQ(nearest("matmull", {"ladder", "matmul"}), "matmul");
  EXPECT_EQ(nearest("mtamul", {"ladder", "matmul"}), "matmul");
  EXPECT_EQ(nearest("reduce", {"reverse", "reduction"}), "reduction");
  EXPECT_EQ(nearest("hist", {"matmul", "histogram"}), "histogram");
  EXPECT_EQ(nearest("x", {"ladder", "matmul"}), "");
  EXPECT_EQ(nearest("", {"ladder", "matmul"}), "");
  EXPECT_EQ(nearest("lamps", {"ladder", "matmul"}), "");
  EXPECT_EQ(nearest("matmul", {}), "");
}

TEST(Text, PrintableIsOneLine) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(printable("Größe"), "Größe");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace tilescope
