// Looks into a kernel from a program, with no GPU: finds its race, counts its bank conflicts, and
// runs its cured twin.

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <tilescope/check.hpp>
#include <tilescope/explain.hpp>
#include <tilescope/run.hpp>
#include <vector>

namespace {

using namespace tilescope;

// Reverses 64 integers, two words apart in shared memory.
const std::string head = R"(__global__ void turn(int* x, int n) {
  __shared__ int tile[128];
  int t = threadIdx.x;
  if (t < n) tile[2 * t] = x[t];
)";
const std::string tail = R"(  if (t < n) x[t] = tile[2 * (n - 1 - t)];
}
)";
const SourceText faulty{head + tail}, cured{head + "  __syncthreads();\n" + tail};

/// turn<<<1, 64>>>(x, 64), x holding 0, 1, 2, ...
LaunchDescription launch() {
  std::vector<int> x(64);
  std::iota(x.begin(), x.end(), 0);
  return {.grid = Dim3{1},
          .block = Dim3{64},
          .arguments = {LaunchArgument::array(x), LaunchArgument::scalar(64)}};
}

bool finds_the_race() {
  const CheckResult result = check(faulty, launch());
  for (const Finding& finding : result.findings) {
    std::printf("%s in line %u: %s\n", std::string(to_string(finding.kind)).c_str(),
                finding.first.place.line, message(finding).c_str());
  }
  return result.complete() && result.findings.size() == 1 &&
         result.findings[0].kind == FindingKind::race && check(cured, launch()).clean();
}

bool counts_the_conflicts() {
  const ExplainResult result = explain(cured, launch());
  for (const LineCounts& line : result.counts.lines) {
    const WavefrontCounts shared = line.counts.shared();
    if (shared.requests == 0) continue;
    std::printf("line %u: %d wavefronts, %d of them conflicts\n", line.place.line,
                static_cast<int>(shared.wavefronts), static_cast<int>(shared.conflicts()));
  }
  const std::vector<Advice> advice = advise(result);
  // Two warps store and load once each; every access takes two turns where one would do.
  return result.counts.totals.shared().wavefronts == 8 &&
         result.counts.totals.shared().conflicts() == 4 && !advice.empty() &&
         advice[0].kind == AdviceKind::bank_conflict;
}

bool turns_the_list() {
  const RunResult result = run(cured, launch(), {.device = "emulated"});
  std::vector<int> x = result.arrays.at(0).values<int>();
  std::printf("x[0] is %d\n", x[0]);
  std::reverse(x.begin(), x.end());
  std::vector<int> expected(64);
  std::iota(expected.begin(), expected.end(), 0);
  return x == expected;
}

}  // namespace

int main() {
  try {
    const bool right = finds_the_race() && counts_the_conflicts() && turns_the_list();
    std::printf("check, explain and run: %s\n", right ? "right" : "wrong");
    return right ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "inspect: %s\n", error.what());
    return error.exit_code();
  }
}
