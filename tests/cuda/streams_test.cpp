// The guarantees of streams and events, on a real GPU.
#include "support/stream_cases.hpp"

namespace tilescope::testing {

INSTANTIATE_TEST_SUITE_P(Cuda, StreamCases, ::testing::Values("cuda"));

}  // namespace tilescope::testing
