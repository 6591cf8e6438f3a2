#include "measure/memory_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tilescope/error.hpp>
#include <utility>

#include "base/errors.hpp"
#include "measure/timing.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::measure {
namespace {

using gpu::LevelCost;
using gpu::MemoryLevel;

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
constexpr std::size_t line = 128;

class Meter {
 public:
  explicit Meter(Device& device)
      : device_(device), clocks_(device.allocate(2 * sizeof(std::uint64_t), "clocks")) {}

  double registers() {
    constexpr std::uint32_t steps = 64 * 256;
    return latency("chase_registers", "", steps, KernelArguments::of(0.5f, steps, out()));
  }
  double shared() {
    constexpr std::uint32_t steps = 8 * 2048;
    return latency("chase_shared", "", steps, KernelArguments::of(steps, out()));
  }
  double constants() {
    constexpr std::uint32_t steps = 8 * 2048;
    return latency("chase_constant", "", steps, KernelArguments::of(steps, out()));
  }
  /// Latency along a ring of one index a line in `bytes` of global memory. A ring larger than every
  /// cache is followed once, cold; a smaller one is brought into its cache first.
  double global(std::size_t bytes, std::string_view cache, bool cold) {
    const auto links = static_cast<std::uint32_t>(bytes / line);
    const Buffer ring = device_.allocate(bytes, "ring");
    std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
    constexpr std::uint32_t words_per_line = line / sizeof(std::uint32_t);
    for (std::uint32_t i = 0; i < links; ++i) {
      words[i * words_per_line] = (i + 1) % links * words_per_line;
    }
    device_.copy_to_device(ring.address(), words.data(), bytes);
    const std::uint32_t warm = cold ? 0 : links;
    const std::uint32_t steps = cold ? links / 8 * 8 : std::max(links, 4096U) / 8 * 8;
    const std::uint64_t start = ring.address();
    return latency("chase_global", cache, steps, KernelArguments::of(start, warm, steps, out()));
  }

  /// Bytes per second when each of `blocks` blocks reads `bytes_per_block`, `repeats` times.
  double read(std::uint32_t blocks, std::size_t bytes_per_block, std::uint32_t repeats,
              std::string_view cache) {
    const Buffer data = device_.allocate(blocks * bytes_per_block, "data");
    device_.fill(data.address(), 0, data.bytes());
    const std::uint64_t words = bytes_per_block / 16;
    const std::uint64_t from = data.address();
    return rate("read_global", cache, blocks, double(blocks) * double(bytes_per_block) * repeats,
                KernelArguments::of(from, words, repeats, out()));
  }
  double read_shared(std::uint32_t blocks, std::uint32_t repeats) {
    constexpr double bytes_per_repeat = 1024.0 * 4 * 16;  // threads, loads, bytes
    return rate("read_shared", "", blocks, blocks * bytes_per_repeat * repeats,
                KernelArguments::of(repeats, out()));
  }

 private:
  std::uint64_t out() const { return clocks_.address(); }

  Kernel load(std::string_view source, const char* name, std::string_view cache) {
    KernelRequest request = operations::embedded_request(source);
    request.kernel = name;
    request.defines.emplace_back("CACHE", fmt::format("\"{}\"", cache.empty() ? "ca" : cache));
    return device_.load(request);
  }

  // Clocks per step; the least of three runs, because the first pays for cold instructions.
  double latency(const char* kernel, std::string_view cache, std::uint32_t steps,
                 const KernelArguments& arguments) {
    const Kernel loaded = load("memories/latency.cu", kernel, cache);
    std::uint64_t least = ~std::uint64_t{0};
    for (int run = 0; run < 3; ++run) {
      device_.launch(loaded, {.grid = {1}, .block = {1}}, arguments);
      device_.synchronize();
      std::uint64_t clocks[2] = {};
      device_.copy_to_host(clocks, clocks_.address(), sizeof(clocks));
      least = std::min(least, clocks[0]);
    }
    return double(least) / steps;
  }

  double rate(const char* kernel, std::string_view cache, std::uint32_t blocks, double bytes,
              const KernelArguments& arguments) {
    const Kernel loaded = load("memories/bandwidth.cu", kernel, cache);
    const Timing timing = time_on_device(device_, [&](int) {
      device_.launch(loaded, {.grid = {blocks}, .block = {1024}}, arguments);
    });
    return bytes / (timing.median_ms() * 1e-3);
  }

  Device& device_;
  Buffer clocks_;
};

}  // namespace

std::vector<LevelCost> measure_levels(Device& device) {
  if (device.kind() != DeviceKind::cuda) {
    throw device_error(
        "latencies are measured on a GPU; {} is none. Without --device the table's figures are "
        "shown",
        device.id());
  }
  const DeviceProperties& p = device.properties();
  std::vector<LevelCost> costs = gpu::level_costs(gpu::gpu_of_device(p));
  Meter meter(device);
  const auto sms = static_cast<std::uint32_t>(p.sm_count);
  const std::size_t l2 = std::max(p.l2_bytes, 4 * MiB);
  // 1 GiB, or an eighth of the memory if that is less: several times any L2.
  const std::size_t large = std::min(GiB, p.global_bytes / 8);
  for (LevelCost& cost : costs) {
    cost.measured = true;
    cost.latency_source = "measured: one thread follows a chain of indices";
    cost.bandwidth_source = "measured: all SMs read 16 B a thread";
    const double ceiling = std::exchange(cost.bytes_per_second, 0.0);
    switch (cost.level) {
      case MemoryLevel::registers:
        cost.latency_cycles = meter.registers();
        cost.latency_source = "measured: a chain of dependent multiply-adds";
        break;
      case MemoryLevel::shared:
        cost.latency_cycles = meter.shared();
        cost.bytes_per_second = meter.read_shared(2 * sms, 2000);
        break;
      case MemoryLevel::constant_cache:
        cost.latency_cycles = meter.constants();
        break;
      case MemoryLevel::l1:
        cost.latency_cycles = meter.global(16 * KiB, "ca", false);
        cost.bytes_per_second = meter.read(2 * sms, 64 * KiB, 500, "ca");
        break;
      case MemoryLevel::l2:
        cost.latency_cycles = meter.global(2 * MiB, "cg", false);
        // A quarter of L2 in all, so that every half of a divided L2 can hold a copy.
        cost.bytes_per_second = meter.read(2 * sms, l2 / 4 / (2 * sms) / 16384 * 16384, 50, "cg");
        break;
      case MemoryLevel::dram:
        cost.latency_cycles = meter.global(std::min(4 * l2, large), "cg", true);
        cost.bytes_per_second = meter.read(2 * sms, large / (2 * sms) / 16384 * 16384, 1, "cg");
        break;
    }
    if (cost.bytes_per_second == 0.0) cost.bandwidth_source.clear();
    if (ceiling > 0.0 && cost.bytes_per_second > 1.02 * ceiling) {
      throw Error(ErrorKind::wrong_result,
                  fmt::format("{}: {:.4g} B/s measured, above the {:.4g} B/s that it can give: the "
                              "measurement is wrong",
                              gpu::name_of(cost.level), cost.bytes_per_second, ceiling));
    }
    if (p.core_clock_khz > 0) cost.latency_ns = cost.latency_cycles / (p.core_clock_khz * 1e-6);
  }
  return costs;
}

}  // namespace tilescope::measure
