// Modules, managed memory and host functions, on a real GPU.
#include "support/module_cases.hpp"

namespace tilescope::testing {

INSTANTIATE_TEST_SUITE_P(Cuda, ModuleCases, ::testing::Values("cuda"));

}  // namespace tilescope::testing
