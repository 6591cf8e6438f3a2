// Text from outside the program in markup.
#include "report/svg/escape.hpp"

#include <gtest/gtest.h>

namespace tilescope::report {
namespace {

TEST(Escape, MarkupIsText) {
  EXPECT_EQ(escaped("</script><b a='1' c=\"2\">&amp;"),
            "&lt;/script&gt;&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
}

TEST(Escape, CharactersBeyondAsciiStay) {
  EXPECT_EQ(escaped("\xc3\xbc \xe2\x9c\x93 \xf0\x9f\x8e\xb2"),
            "\xc3\xbc \xe2\x9c\x93 \xf0\x9f\x8e\xb2");
  EXPECT_EQ(escaped("a\tb\nc"), "a\tb\nc");
}

TEST(Escape, OtherBytesAreReplaced) {
  const std::string unknown = "\xef\xbf\xbd";
  EXPECT_EQ(escaped("a\xff"), "a" + unknown);
  EXPECT_EQ(escaped("\xc3"), unknown);                                // cut short
  EXPECT_EQ(escaped("\xc0\xaf"), unknown + unknown);                  // "/" in two bytes
  EXPECT_EQ(escaped("\xed\xa0\x80"), unknown + unknown + unknown);    // half of a pair
  EXPECT_EQ(escaped("\xf4\x90\x80\x80").size(), 4 * unknown.size());  // beyond the last character
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a" + unknown + "b");
  EXPECT_EQ(escaped("\x1b[1m"), unknown + "[1m");
}

}  // namespace
}  // namespace tilescope::report
