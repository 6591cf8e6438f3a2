#include "report/source_text.hpp"

#include <gtest/gtest.h>

namespace tilescope::report {
namespace {

TEST(SourceTexts, TheLastLineEndHasNoLineBehindIt) {
  SourceTexts sources;
  sources.add("with", "first\nlast\n");
  sources.add("without", "first\nlast");
  sources.add("blank", "first\n\n");
  EXPECT_EQ(sources.line_count("with"), 2U);
  EXPECT_EQ(sources.line("with", 2), "last");
  EXPECT_EQ(sources.line_count("without"), 2U);
  EXPECT_EQ(sources.line_count("blank"), 2U);
}

}  // namespace
}  // namespace tilescope::report
