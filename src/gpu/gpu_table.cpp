#include <fmt/format.h>

#include <algorithm>
#include <tilescope/error.hpp>
#include <tilescope/gpu/gpu_table.hpp>

#include "base/byte_units.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "gpu/gpu_facts.hpp"
#include "gpu/profiles.hpp"

namespace tilescope::gpu {
namespace {

Gpu modern(const Profile& profile) {
  Gpu gpu;
  gpu.name = profile.name;
  gpu.device_names.assign(profile.device_names.begin(), profile.device_names.end());
  gpu.properties = profile.properties;
  gpu.units = allocation_units(gpu.properties.compute_major, gpu.properties.compute_minor);
  gpu.rates.push_back({"fp32", gpu.properties.peak_fp32(), "SMs x FP32 units x 2 x boost clock"});
  gpu.sources = {
      {"limits of block and SM",
       "CUDA C++ Programming Guide, Technical Specifications per Compute Capability"},
      {"allocation units, reserved shared memory", "cuda_occupancy.h of the CUDA toolkit"},
      {"SMs, clocks, bus, L2", "NVIDIA's white paper or data sheet of this GPU"},
      {"FP32 units of an SM", "CUDA C++ Programming Guide, Arithmetic Instructions"}};
  add_facts(gpu);
  return gpu;
}

// A machine for which a lecture states a few limits. The others do not limit.
Gpu lecture(std::string name, std::string title, std::string where) {
  Gpu gpu;
  gpu.name = std::move(name);
  DeviceProperties& p = gpu.properties;
  p.name = std::move(title);
  p.max_threads_per_block = 1024;
  p.max_block = {1024, 1024, 64};
  p.max_grid = {0x7fffffff, 65535, 65535};
  p.max_threads_per_sm = 1 << 16;
  p.max_blocks_per_sm = 1 << 10;
  p.registers_per_block = p.registers_per_sm = 1 << 24;
  p.shared_bytes_per_block = p.shared_bytes_per_block_optin = p.shared_bytes_per_sm = 1U << 30U;
  p.sm_count = 1;
  gpu.sources = {{"the limits that it has; no rounding", std::move(where)}};
  return gpu;
}

void set_shared(Gpu& gpu, std::size_t bytes) {
  DeviceProperties& p = gpu.properties;
  p.shared_bytes_per_block = p.shared_bytes_per_block_optin = p.shared_bytes_per_sm = bytes;
}

Gpu s0() {
  Gpu gpu = lecture("s0", "lecture SM: 16,384 registers, 1,536 threads, 8 blocks, 16 KB",
                    "lecture CUDA Memory Model 3, memory as a limit to parallelism");
  gpu.properties.max_threads_per_sm = 1536;
  gpu.properties.max_blocks_per_sm = 8;
  gpu.properties.registers_per_block = gpu.properties.registers_per_sm = 16384;
  set_shared(gpu, 16 * KiB);
  const std::string where = "lecture CUDA Memory Model 3, memory hierarchy";
  gpu.latencies = {{MemoryLevel::registers, 1, where},
                   {MemoryLevel::shared, 5, where},
                   {MemoryLevel::constant_cache, 5, where},
                   {MemoryLevel::dram, 500, where}};
  return gpu;
}

Gpu s0_48k() {
  Gpu gpu = lecture("s0-48k", "lecture SM: 48 KB of shared memory, nothing else limits",
                    "lecture CUDA Memory Model 3, block size considerations");
  set_shared(gpu, 48 * KiB);
  return gpu;
}

Gpu s3() {
  Gpu gpu = lecture("s3", "lecture GPU: 16 KB an SM; 1,500 GFLOP/s, 200 GB/s",
                    "GPU Teaching Kit, modules 4.1 and 4.4");
  set_shared(gpu, 16 * KiB);
  gpu.stated_bandwidth = 200e9;
  gpu.rates.push_back({"fp32", 1500e9, "GPU Teaching Kit, module 4.1"});
  return gpu;
}

Gpu s3_1536() {
  Gpu gpu = s3();
  gpu.name = "s3-1536";
  gpu.properties.name = "lecture GPU: 16 KB and 1,536 threads an SM";
  gpu.properties.max_threads_per_sm = 1536;
  return gpu;
}

Gpu fermi() {
  Gpu gpu;
  gpu.name = "c2050";
  gpu.device_names = {"Tesla C2050"};
  gpu.properties = {.name = "NVIDIA Tesla C2050 (Fermi)",
                    .compute_major = 2,
                    .compute_minor = 0,
                    .sm_count = 14,
                    .max_threads_per_block = 1024,
                    .max_block = {1024, 1024, 64},
                    .max_grid = {65535, 65535, 65535},
                    .max_threads_per_sm = 1536,
                    .max_blocks_per_sm = 8,
                    .registers_per_block = 32768,
                    .registers_per_sm = 32768,
                    .shared_bytes_per_block = 48 * KiB,
                    .shared_bytes_per_block_optin = 48 * KiB,
                    .shared_bytes_per_sm = 48 * KiB,
                    .constant_bytes = 64 * KiB,
                    .l2_bytes = 768 * KiB,
                    .global_bytes = 3 * KiB * KiB * KiB,
                    .core_clock_khz = 1'150'000,
                    .memory_clock_khz = 1'500'000,
                    .memory_bus_bits = 384,
                    .fp32_lanes_per_sm = 32,
                    .copy_engines = 2,
                    .concurrent_kernels = true};
  gpu.units = allocation_units(2, 0);
  gpu.sector_bytes = 128;  // one line of the L1 cache, on by default
  gpu.rates.push_back({"fp32", gpu.properties.peak_fp32(), "SMs x FP32 units x 2 x clock"});
  gpu.latencies = {
      {MemoryLevel::dram, 600, "CUDA C Programming Guide 4.0: 400 to 800 cycles; the middle"}};
  gpu.sources = {{"limits", "CUDA C Programming Guide 4.0, compute capability 2.0"},
                 {"allocation units", "CUDA Occupancy Calculator spreadsheet, 2.0"},
                 {"SMs, clocks, bus", "Tesla C2050 board specification; 1.03 TFLOP/s, 144 GB/s"}};
  return gpu;
}

Gpu gtx280() {
  Gpu gpu;
  gpu.name = "gtx280";
  gpu.device_names = {"GeForce GTX 280"};
  gpu.properties = {.name = "NVIDIA GeForce GTX 280",
                    .compute_major = 1,
                    .compute_minor = 3,
                    .sm_count = 30,
                    .max_threads_per_block = 512,
                    .max_block = {512, 512, 64},
                    .max_grid = {65535, 65535, 1},
                    .max_threads_per_sm = 1024,
                    .max_blocks_per_sm = 8,
                    .registers_per_block = 16384,
                    .registers_per_sm = 16384,
                    .shared_bytes_per_block = 16 * KiB,
                    .shared_bytes_per_block_optin = 16 * KiB,
                    .shared_bytes_per_sm = 16 * KiB,
                    .constant_bytes = 64 * KiB,
                    .global_bytes = KiB * KiB * KiB,
                    .core_clock_khz = 1'296'000,
                    .memory_clock_khz = 1'107'000,
                    .memory_bus_bits = 512,
                    .fp32_lanes_per_sm = 8,
                    .copy_engines = 1};
  gpu.units = allocation_units(1, 3);
  gpu.shared_banks = 16;
  gpu.rates.push_back({"fp32", gpu.properties.peak_fp32(),
                       "SMs x 8 x 2 x shader clock; the advertised 933 GFLOP/s count a third "
                       "operation"});
  const std::string wong =
      "Wong et al., Demystifying GPU Microarchitecture through Microbenchmarking, ISPASS 2010";
  gpu.latencies = {{MemoryLevel::shared, 38, wong}, {MemoryLevel::dram, 440, wong}};
  gpu.sources = {{"limits", "CUDA C Programming Guide 4.0, compute capability 1.3"},
                 {"allocation units", "CUDA Occupancy Calculator spreadsheet, 1.3"},
                 {"SMs, clocks, bus",
                  "GeForce GTX 280 specification; 141.7 GB/s (module 6.1 of "
                  "the GPU Teaching Kit rounds the clock to 1.1 GHz)"}};
  return gpu;
}

}  // namespace

std::string_view name_of(MemoryLevel level) {
  constexpr std::string_view names[] = {"registers", "shared", "constant_cache",
                                        "l1",        "l2",     "dram"};
  return names[static_cast<std::size_t>(level)];
}

std::optional<MemoryLevel> memory_level(std::string_view name) {
  for (const MemoryLevel level :
       {MemoryLevel::registers, MemoryLevel::shared, MemoryLevel::constant_cache, MemoryLevel::l1,
        MemoryLevel::l2, MemoryLevel::dram}) {
    if (name_of(level) == name) return level;
  }
  return std::nullopt;
}

const MathRate* Gpu::rate(std::string_view rate_name) const {
  for (const MathRate& known : rates) {
    if (known.name == rate_name) return &known;
  }
  return nullptr;
}

const LevelLatency* Gpu::latency(MemoryLevel level) const {
  for (const LevelLatency& known : latencies) {
    if (known.level == level) return &known;
  }
  return nullptr;
}

Roofline Gpu::roofline(std::string_view rate_name) const {
  const MathRate* found = rate(rate_name);
  if (found == nullptr || !(found->flops_per_second > 0.0) || !(bandwidth() > 0.0)) {
    std::string list;
    for (const MathRate& known : rates) list += (list.empty() ? "" : ", ") + known.name;
    throw Error(ErrorKind::usage,
                found != nullptr && bandwidth() <= 0.0
                    ? fmt::format("the bandwidth of {} is not known; give it", name)
                    : fmt::format("no rate \"{}\" is known for {}; known: {}", printable(rate_name),
                                  name, list.empty() ? "none" : list));
  }
  return make_roofline(bandwidth(), found->flops_per_second);
}

std::span<const Gpu> gpu_table() {
  static const std::vector<Gpu> table = [] {
    std::vector<Gpu> made;
    for (const Profile& profile : profiles()) made.push_back(modern(profile));
    for (Gpu (*make)() : {fermi, gtx280, s0, s0_48k, s3, s3_1536}) made.push_back(make());
    return made;
  }();
  return table;
}

Gpu find_gpu(const std::string& name) {
  if (name.ends_with(".json")) return parse_gpu(read_text_file(name), name);
  std::vector<std::string_view> names;
  for (const Gpu& gpu : gpu_table()) {
    if (gpu.name == lower_case(name)) return gpu;
    names.push_back(gpu.name);
  }
  throw unknown_gpu(name, names, ", or a FILE.json");
}

Gpu gpu_of_device(const DeviceProperties& device) {
  for (const Gpu& known : gpu_table()) {
    if (std::find(known.device_names.begin(), known.device_names.end(), device.name) ==
        known.device_names.end()) {
      continue;
    }
    Gpu gpu = known;
    gpu.properties = device;
    return gpu;
  }
  Gpu gpu;
  gpu.name = device.name;
  gpu.properties = device;
  gpu.units = allocation_units(device.compute_major, device.compute_minor);
  if (device.peak_fp32() > 0.0) {
    gpu.rates.push_back({"fp32", device.peak_fp32(), "SMs x FP32 units x 2 x clock"});
  }
  gpu.sources = {{"limits, clocks, bus", "the device's own answers"}};
  return gpu;
}

}  // namespace tilescope::gpu
