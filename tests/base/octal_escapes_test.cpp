#include "base/octal_escapes.hpp"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

TEST(OctalEscapes, AreForBytesBeyondAscii) {
  EXPECT_EQ(with_octal_escapes("\xc3\xbc.cu"), "\\303\\274.cu");
  EXPECT_EQ(without_octal_escapes("\\303\\274.cu"), "\xc3\xbc.cu");
  EXPECT_EQ(with_octal_escapes("a\"b.cu"), "a\\042b.cu");
  EXPECT_EQ(without_octal_escapes("a\\042b.cu"), "a\"b.cu");
  EXPECT_EQ(without_octal_escapes(with_octal_escapes("a \xff\x80 b")), "a \xff\x80 b");
}

TEST(OctalEscapes, OtherBackslashesStay) {
  for (const char* text : {"", "plain", "\\", "a\\b", "\\12", "\\128", "\\400", "\\n12"}) {
    EXPECT_EQ(without_octal_escapes(text), text);
    EXPECT_EQ(with_octal_escapes(text), text);
  }
}

}  // namespace
}  // namespace tilescope
