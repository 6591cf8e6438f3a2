// Shared by tests of check(), explain() and run(): a compiler and a kernel.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <tilescope/launch_description.hpp>
#include <tilescope/target.hpp>

#include "compile/compiler.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::testing {

class InspectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (compile::compiler_description().empty()) GTEST_SKIP() << "no NVRTC";
  }

  /// Reverses the first n integers of x; without its barrier it is a race in lines 4 and 6.
  static SourceText turn(bool with_barrier = true) {
    return {std::string("__global__ void turn(int* x, int n) {\n"
                        "  __shared__ int tile[64];\n"
                        "  int t = threadIdx.x;\n"
                        "  if (t < n) tile[t] = x[t];\n") +
            (with_barrier ? "  __syncthreads();\n" : "\n") +
            "  if (t < n) x[t] = tile[n - 1 - t];\n}\n"};
  }
  static LaunchDescription turn_launch() {
    return {.grid = Dim3{1},
            .block = Dim3{64},
            .arguments = {LaunchArgument::array(DataType::int32, 64, Initial::iota),
                          LaunchArgument::scalar(64)}};
  }
};

}  // namespace tilescope::testing
