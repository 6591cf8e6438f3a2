// How fast the emulator runs kernels of the ladders, on one host thread: warp instructions per
// second without an observer, with the counts of `explain`, and with the checks of `check`. And the
// time of the same computation in plain C++ (native_kernels.hpp), to compare with.
//
//     cmake -S . -B build -DTILESCOPE_BUILD_BENCHMARKS=ON && ninja -C build emulator_speed
//     build/bench/emulator_speed --benchmark_filter=tiled_16
//
// Products are of size 256 or TILESCOPE_BENCH_SIZE, lists have 2^20 elements, pictures and grids
// 1,024 x 1,024.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <tilescope/error.hpp>

#include "device/emulated/emulated_device.hpp"
#include "native_kernels.hpp"
#include "observe/check/check_observer.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/registry.hpp"

namespace {

using namespace tilescope;

enum class Watch { nobody, counts, checks };

struct Rung {
  const char* operation;
  const char* rung;
  std::int64_t size;
};

std::int64_t product_size() {
  const char* text = std::getenv("TILESCOPE_BENCH_SIZE");
  const std::int64_t given = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  return given > 0 ? given : 256;
}

/// Adds up the instructions of all launches. Listens to no event.
class InstructionSum final : public emulator::Observer {
 public:
  std::uint32_t events() const override { return emulator::kNoEvents; }
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override { return nullptr; }
  void end_launch(const emulator::LaunchTotals& totals) override {
    sum = std::accumulate(totals.counts.executed.begin(), totals.counts.executed.end(), sum);
  }
  std::uint64_t sum = 0;
};

void run(benchmark::State& state, const Rung& kernel, Watch watch) {
  const auto device = std::make_shared<device::EmulatedDevice>();
  ProblemOptions problem;
  problem.size = kernel.size;
  const auto operation = operations::make_operation(kernel.operation, problem);
  const auto variants = operation->variants();
  const auto variant = std::find_if(variants.begin(), variants.end(),
                                    [&](const auto& info) { return info.name == kernel.rung; });
  if (variant == variants.end()) {
    state.SkipWithError("no such rung");
    return;
  }
  const auto prepared = operation->prepare(*variant, *device);
  observe::CountObserver counter;
  observe::CheckObserver checker;
  InstructionSum instructions;
  device::EmulationOptions options{.threads = 1, .tolerant = true};
  options.observers = {&instructions};
  if (watch == Watch::counts) options.observers.push_back(&counter);
  if (watch == Watch::checks) options.observers.push_back(&checker);
  device->set_options(std::move(options));
  for (auto _ : state) prepared->run(0);
  // Per second of this thread's CPU time: what else the machine does is left out.
  const auto sum = static_cast<double>(instructions.sum);
  state.counters["warp_instr/s"] = benchmark::Counter(sum, benchmark::Counter::kIsRate);
  state.counters["instructions"] =
      benchmark::Counter(sum / static_cast<double>(state.iterations()));
}

std::vector<Rung> kernels() {
  constexpr std::int64_t kList = 1 << 20, kPicture = 1024;
  std::vector<Rung> result;
  for (const char* rung : {"global_accumulator", "register_accumulator_16", "tiled_16", "tiled_32",
                           "tiled_conflicts_32", "register_tile_1d", "register_tile_2d",
                           "double_buffered", "warp_tiles"}) {
    result.push_back({"matmul", rung, product_size()});
  }
  result.insert(result.end(), {{"saxpb", "many_blocks", kList},
                               {"vector_add", "in_flight", kList},
                               {"reverse", "shared", kList},
                               {"reduce", "halving_tree", kList},
                               {"reduce", "shuffles", kList},
                               {"histogram", "block_private", kList},
                               {"transpose", "tiled", kPicture},
                               {"laplacian", "tiled", kPicture},
                               {"blur", "plain", kPicture},
                               {"blur", "separable", kPicture}});
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Rung& kernel : kernels()) {
    for (const auto& [name, watch] :
         {std::pair{"nobody", Watch::nobody}, std::pair{"counts", Watch::counts},
          std::pair{"checks", Watch::checks}}) {
      const std::string title = std::string(kernel.operation) + "/" + kernel.rung + "/" + name;
      benchmark::RegisterBenchmark(title.c_str(), [kernel, watch = watch](benchmark::State& state) {
        run(state, kernel, watch);
      })->Unit(benchmark::kMillisecond);
    }
  }
  for (const bench::NativeKernel& native : bench::native_kernels()) {
    benchmark::RegisterBenchmark((std::string("native/") + native.name).c_str(),
                                 [run = native.run](benchmark::State& state) {
                                   for (auto _ : state) run();
                                 })
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
