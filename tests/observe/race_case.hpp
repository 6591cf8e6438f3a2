// The head of the kernels in the tests of races, which share it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "check_run.hpp"

namespace tilescope::testing {

class RaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
};

/// The kernel's head is line 1 of the source.
inline std::string kernel(const std::string& body) {
  return "extern \"C\" __global__ void k(int* out, int* in, int n) {\n" + body + "\n}\n";
}
/// With declarations in front, all on line 1.
inline std::string kernel_with(const std::string& before, const std::string& body) {
  return before + " " + kernel(body);
}

}  // namespace tilescope::testing
