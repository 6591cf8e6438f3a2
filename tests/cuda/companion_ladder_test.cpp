// Every rung of every companion operation on a real GPU.
#include <tilescope/device.hpp>

#include "cuda/real_gpu.hpp"
#include "support/companion_cases.hpp"

namespace tilescope {
namespace {

using CompanionLadderOnGpu = testing::RealGpu;

TEST_F(CompanionLadderOnGpu, EveryRungIsRight) {
  for (const testing::CompanionCase& c : testing::companion_cases()) {
    SCOPED_TRACE(::testing::PrintToString(c));
    testing::expect_every_rung_right(c, *gpu_);
  }
}

}  // namespace
}  // namespace tilescope
