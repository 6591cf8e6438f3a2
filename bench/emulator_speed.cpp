// How fast the emulator runs the matmul ladder, on one host thread: warp instructions per second
// without an observer, with the counts of `explain`, and with the checks of `check`.
//
//     cmake -S . -B build -DTILESCOPE_BUILD_BENCHMARKS=ON && ninja -C build emulator_speed
//     build/bench/emulator_speed --benchmark_filter=tiled_16
//
// The size of the products is 256, or TILESCOPE_BENCH_SIZE.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tilescope/error.hpp>

#include "device/emulated/emulated_device.hpp"
#include "observe/check/check_observer.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/registry.hpp"

namespace {

using namespace tilescope;

enum class Watch { nobody, counts, checks };

std::int64_t size() {
  const char* text = std::getenv("TILESCOPE_BENCH_SIZE");
  const std::int64_t given = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  return given > 0 ? given : 256;
}

void run(benchmark::State& state, const std::string& rung, Watch watch) {
  const auto device = std::make_shared<device::EmulatedDevice>();
  ProblemOptions problem;
  problem.size = size();
  const auto operation = operations::make_operation("matmul", problem);
  const auto variants = operation->variants();
  const auto variant = std::find_if(variants.begin(), variants.end(),
                                    [&](const auto& info) { return info.name == rung; });
  if (variant == variants.end()) {
    state.SkipWithError("no such rung");
    return;
  }
  const auto prepared = operation->prepare(*variant, *device);
  observe::CountObserver counter;
  observe::CheckObserver checker;
  device::EmulationOptions options{.threads = 1, .tolerant = true};
  if (watch == Watch::counts) options.observers = {&counter};
  if (watch == Watch::checks) options.observers = {&checker};
  device->set_options(std::move(options));
  double instructions = 0;
  for (auto _ : state) {
    prepared->run(0);
    instructions += static_cast<double>(device->last_launch().warp_instructions);
  }
  // Per second of this thread's CPU time: what else the machine does is left out.
  state.counters["warp_instr/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
  state.counters["instructions"] =
      benchmark::Counter(instructions / static_cast<double>(state.iterations()));
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* rung : {"global_accumulator", "register_accumulator_16", "tiled_16", "tiled_32",
                           "tiled_conflicts_32", "register_tile_1d", "register_tile_2d",
                           "double_buffered", "warp_tiles"}) {
    for (const auto& [name, watch] :
         {std::pair{"nobody", Watch::nobody}, std::pair{"counts", Watch::counts},
          std::pair{"checks", Watch::checks}}) {
      benchmark::RegisterBenchmark((std::string(rung) + "/" + name).c_str(),
                                   [rung = std::string(rung), watch = watch](
                                       benchmark::State& state) { run(state, rung, watch); })
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
