#include "report/text/wrap.hpp"

#include <gtest/gtest.h>

namespace tilescope::report {
namespace {

TEST(Hang, BreaksBetweenWords) {
  EXPECT_EQ(hang("one two three", 2, 7), "one two\n  three");
  EXPECT_EQ(hang("one two three", 4, 13), "one two three");
  EXPECT_EQ(hang("one two three", 1, 3), "one\n two\n three");
}

TEST(Hang, AWordThatIsTooLongStaysWhole) {
  EXPECT_EQ(hang("a incomprehensible b", 0, 5), "a\nincomprehensible\nb");
}

TEST(Hang, SpacesAreNotKept) {
  EXPECT_EQ(hang("  one   two ", 2, 80), "one two");
  EXPECT_EQ(hang("", 2, 80), "");
}

}  // namespace
}  // namespace tilescope::report
