// Checks a kernel of CUDA C++ and gives what was found, for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernel_run.hpp"
#include "observe/check/check_observer.hpp"

namespace tilescope::testing {

/// A kernel `k(int* out, int* in, int n)`; out and in have `size` ints, in holds 0, 1, 2, ...
struct Checked {
  std::string source;
  Launch launch{{1}, {64}};
  int size = 4096;
  bool out_is_initialised = true;
};

struct CheckResult {
  std::vector<Finding> findings;
  Limitation limitation = Limitation::none;
  emulator::LaunchSummary summary;

  /// "kind line/line variable" of each, such as "race 4/6 tile"; lines count from the first line of
  /// the source.
  std::vector<std::string> brief() const {
    std::vector<std::string> result;
    for (const Finding& f : findings) {
      std::string text(to_string(f.kind));
      text += " " + std::to_string(f.first.place.line);
      if (f.second) text += "/" + std::to_string(f.second->place.line);
      if (f.memory && !f.memory->object.empty()) text += " " + f.memory->object;
      result.push_back(text);
    }
    return result;
  }
};

inline CheckResult check(const Checked& what, unsigned threads = 2) {
  const compile::Program program = compile::compile(compilation(what.source));
  KernelRun run(program);
  run.threads = threads;
  std::vector<int> values(static_cast<std::size_t>(what.size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  const std::uint64_t in = run.array("in", values);
  std::fill(values.begin(), values.end(), 0);
  const std::uint64_t out = what.out_is_initialised
                                ? run.array("out", values)
                                : run.uninitialised("out", values.size() * sizeof(int));
  observe::CheckObserver checker;
  CheckResult result;
  result.summary = run.launch(what.launch, {&checker}, out, in, what.size);
  result.findings = checker.findings();
  result.limitation = checker.limitation();
  return result;
}

}  // namespace tilescope::testing
