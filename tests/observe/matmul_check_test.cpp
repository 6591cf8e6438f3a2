// No rung of the matmul ladder has a defect.
#include <gtest/gtest.h>

#include "matmul_rungs.hpp"
#include "observe/check/check_observer.hpp"

namespace tilescope::observe {
namespace {

TEST(MatmulCheck, NoRungIsReported) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  for (const testing::Rung& rung : testing::rungs(128)) {
    SCOPED_TRACE(rung.name);
    CheckObserver checker;
    testing::run_rung(rung, 128, {&checker});
    for (const Finding& finding : checker.findings()) ADD_FAILURE() << message(finding);
    EXPECT_EQ(message(checker.limitation()), "");
  }
}

}  // namespace
}  // namespace tilescope::observe
