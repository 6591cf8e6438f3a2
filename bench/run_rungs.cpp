// Runs rungs of the matmul ladder on a GPU, once each, for a profiler (bench/ncu_gemm.sh):
//
//     run_rungs < PROBLEMS        # lines "RUNG PRECISION M N K"
//
// The profiler sees the launches of the runs alone, in the order of the lines (ncu
// --profile-from-start off); printed are the lines that ran, with the number of their launches.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "operations/registry.hpp"

namespace {

using namespace tilescope;

struct Problem {
  std::string rung, precision;
  long m = 0, n = 0, k = 0;

  std::string text() const { return fmt::format("{} {} {} {} {}", rung, precision, m, n, k); }
};

/// Calls cuProfilerStart or cuProfilerStop, where there is a driver.
void tell_profiler(const char* function) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return;
  if (void* const call = dlsym(driver, function)) reinterpret_cast<int (*)()>(call)();
}

void run(const Problem& problem, const std::shared_ptr<Device>& device) {
  ProblemOptions options;
  options.precision = problem.precision;
  options.rows = problem.m, options.columns = problem.n, options.inner = problem.k;
  const auto operation = operations::make_operation("matmul", options);
  for (const operations::VariantInfo& variant : operation->variants()) {
    if (variant.name != problem.rung) continue;
    if (const auto why = operation->refusal(variant, *device)) {
      std::cerr << problem.text() << ": " << *why << '\n';
      return;
    }
    const auto prepared = operation->prepare(variant, *device);
    prepared->poison(0);
    device->synchronize();
    tell_profiler("cuProfilerStart");
    prepared->run(0);
    device->synchronize();
    tell_profiler("cuProfilerStop");
    const auto plan = operation->plan(variant, device->properties());
    const auto launches = std::ranges::count_if(
        plan.steps, [](const operations::Step& step) { return !step.kernel.empty(); });
    std::cout << problem.text() << ' ' << launches << std::endl;
    return;
  }
  std::cerr << problem.text() << ": there is no such rung\n";
}

}  // namespace

int main() {
  try {
    const auto device = Device::open("cuda");
    Problem problem;
    while (std::cin >> problem.rung >> problem.precision >> problem.m >> problem.n >> problem.k) {
      run(problem, device);
    }
  } catch (const std::exception& error) {
    std::cerr << "run_rungs: " << error.what() << '\n';
    return 1;
  }
}
