// The checker finds the same in compiled and in interpreted code, to the last word: in random
// kernels with races of threads and blocks, barriers, shuffles, atomics and faults.
//
// 100 kernels run with the other tests. More, from any seed:
//
//     TILESCOPE_RANDOM_KERNELS=10000 TILESCOPE_RANDOM_SEED=7
//       build/tests/test_observe --gtest_filter='CheckTiers.RandomKernels'
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "emulator/random_kernel.hpp"
#include "kernel_run.hpp"
#include "observe/check/check_observer.hpp"

namespace tilescope::observe {
namespace {

std::string text_of(const FindingAccess& access) {
  std::string text = access.place.file + ":" + std::to_string(access.place.line) + " ptx " +
                     std::to_string(access.ptx_line) + " action " +
                     std::to_string(static_cast<int>(access.action)) + " bytes " +
                     std::to_string(access.bytes);
  if (access.thread) {
    for (const Dim3& of : {access.thread->block, access.thread->thread}) {
      text += " " + std::to_string(of.x) + "," + std::to_string(of.y) + "," + std::to_string(of.z);
    }
  }
  return text;
}

/// All that a report says.
std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += std::string(to_string(finding.kind)) + " " +
            std::to_string(static_cast<int>(finding.severity)) + ", " +
            std::to_string(finding.count) + " times: " + message(finding) + "\n  " +
            text_of(finding.first) + "\n";
    if (finding.second) text += "  " + text_of(*finding.second) + "\n";
    if (finding.memory) {
      text += "  " + finding.memory->object + " + " + std::to_string(finding.memory->offset) +
              " at " + std::to_string(finding.memory->address) + "\n";
    }
  }
  return text;
}

/// Kernels of a seed that is a multiple of 3 find the data that they read uninitialised.
std::string check(const std::string& ptx, std::uint64_t seed) {
  constexpr Launch kLaunches[] = {{{3}, {64}}, {{2}, {16, 6}}, {{4}, {48}}, {{2}, {33, 2}}};
  const Launch& launch = kLaunches[seed % std::size(kLaunches)];
  testing::KernelRun run(ptx);
  run.threads = 1;  // the values that racing blocks leave depend on it
  std::vector<std::uint32_t> start(emulator::test::kRandomDataBytes / 4);
  std::mt19937 random(7);
  for (std::uint32_t& value : start) value = static_cast<std::uint32_t>(random());
  for (std::size_t i = 0; i < start.size(); i += 3) start[i] = static_cast<std::uint32_t>(i);
  const std::uint64_t data = seed % 3 == 0
                                 ? run.uninitialised("data", start.size() * sizeof start[0])
                                 : run.array("data", start);
  const std::uint64_t results = run.uninitialised(
      "results", launch.grid.count() * launch.block.count() * emulator::test::kRandomResultBytes);
  CheckObserver checker;
  run.launch(launch, {&checker}, data, results);
  return text_of(checker.findings()) + std::string(message(checker.limitation()));
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(CheckTiers, RandomKernels) {
  const std::uint64_t first = setting("TILESCOPE_RANDOM_SEED", 1);
  const std::uint64_t count = setting("TILESCOPE_RANDOM_KERNELS", 100);
  std::uint64_t faulty = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string ptx =
        ".version 8.6\n.target sm_90\n.address_size 64\n" + emulator::test::random_kernel(seed);
    std::string interpreted, compiled;
    {
      const Environment interpret("TILESCOPE_INTERPRET", "1");
      interpreted = check(ptx, seed);
    }
    {
      const Environment soon("TILESCOPE_COMPILE_AFTER", "2");
      compiled = check(ptx, seed);
    }
    ASSERT_EQ(interpreted, compiled) << "seed " << seed << "\n" << ptx;
    faulty += interpreted.empty() ? 0 : 1;
  }
  EXPECT_GT(faulty, count / 4);
}

}  // namespace
}  // namespace tilescope::observe
