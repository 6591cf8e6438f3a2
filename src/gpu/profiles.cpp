// Sources. Limits of an architecture (threads, blocks, registers and shared memory of an SM):
// CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability". SMs, boost
// clocks, memory clocks, bus widths, L2 and memory sizes: NVIDIA's architecture white papers and
// data sheets (Volta V100, Turing T4, Ampere A100, Ada RTX 4090 and L4, Hopper H100 and H200;
// Blackwell B200); the SXM form where there are several. The H200's as its device query prints
// them, its bus width included.
#include "gpu/profiles.hpp"

#include <fmt/ranges.h>

#include <string>

#include "base/byte_units.hpp"
#include "base/text.hpp"
#include "gpu/architecture.hpp"

namespace tilescope::gpu {
namespace {

/// The common properties of GPUs of one compute capability.
struct Architecture {
  int major, minor;
  int threads_per_sm, blocks_per_sm;
  std::size_t shared_per_sm, shared_optin, shared_reserved;
};
constexpr Architecture volta{7, 0, 2048, 32, 96 * KiB, 96 * KiB, 0};
constexpr Architecture turing{7, 5, 1024, 16, 64 * KiB, 64 * KiB, 0};
constexpr Architecture ampere{8, 0, 2048, 32, 164 * KiB, 163 * KiB, KiB};
constexpr Architecture ada{8, 9, 1536, 24, 100 * KiB, 99 * KiB, KiB};
constexpr Architecture hopper{9, 0, 2048, 32, 228 * KiB, 227 * KiB, KiB};
constexpr Architecture blackwell{10, 0, 2048, 32, 228 * KiB, 227 * KiB, KiB};

/// The properties that differ between GPUs of one architecture.
struct Chip {
  std::string_view name;
  std::string_view full_name;
  std::span<const std::string_view> device_names;
  const Architecture& architecture;
  int sm_count;
  int core_mhz, memory_mhz, bus_bits;
  std::size_t l2_bytes, global_bytes;
  int copy_engines;
};

// The names that the driver reports; a Laptop or D model, a MIG slice or a PCIe card with other
// clocks is another GPU. Drivers before 470 leave out "NVIDIA ". An A100 of 80 GB has the same SMs
// and clock as one of 40 GB.
constexpr std::string_view h200[] = {"NVIDIA H200"};
constexpr std::string_view h100[] = {"NVIDIA H100 80GB HBM3"};
constexpr std::string_view a100[] = {"NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB",
                                     "NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"};
constexpr std::string_view l4[] = {"NVIDIA L4"};
constexpr std::string_view t4[] = {"Tesla T4"};
constexpr std::string_view v100[] = {"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"};
constexpr std::string_view rtx4090[] = {"NVIDIA GeForce RTX 4090"};
constexpr std::string_view b200[] = {"NVIDIA B200"};

Profile profile_of(const Chip& chip) {
  const Architecture& a = chip.architecture;
  DeviceProperties p;
  p.name = chip.full_name;
  p.compute_major = a.major;
  p.compute_minor = a.minor;
  p.sm_count = chip.sm_count;
  p.warp_size = 32;
  p.max_threads_per_block = 1024;
  p.max_block = {1024, 1024, 64};
  p.max_grid = {0x7fffffff, 65535, 65535};
  p.max_threads_per_sm = a.threads_per_sm;
  p.max_blocks_per_sm = a.blocks_per_sm;
  p.registers_per_block = 65536;
  p.registers_per_sm = 65536;
  p.shared_bytes_per_block = 48 * KiB;
  p.shared_bytes_per_block_optin = a.shared_optin;
  p.shared_bytes_per_sm = a.shared_per_sm;
  p.reserved_shared_bytes_per_block = a.shared_reserved;
  p.constant_bytes = 64 * KiB;
  p.l2_bytes = chip.l2_bytes;
  p.global_bytes = chip.global_bytes;
  p.core_clock_khz = chip.core_mhz * 1000;
  p.memory_clock_khz = chip.memory_mhz * 1000;
  p.memory_bus_bits = chip.bus_bits;
  p.fp32_lanes_per_sm = fp32_lanes_per_sm(a.major, a.minor);
  p.copy_engines = chip.copy_engines;
  p.concurrent_kernels = true;
  return {chip.name, chip.device_names, std::move(p)};
}

std::vector<Profile> make_profiles() {
  const Chip chips[] = {
      {"h200", "NVIDIA H200", h200, hopper, 132, 1980, 3201, 6016, 60 * MiB, 139 * GiB, 3},
      {"h100", "NVIDIA H100 SXM", h100, hopper, 132, 1980, 2619, 5120, 50 * MiB, 79 * GiB, 3},
      {"a100", "NVIDIA A100 SXM 40 GB", a100, ampere, 108, 1410, 1215, 5120, 40 * MiB, 39 * GiB, 3},
      {"l4", "NVIDIA L4", l4, ada, 58, 2040, 6251, 192, 48 * MiB, 22 * GiB, 2},
      {"t4", "NVIDIA T4", t4, turing, 40, 1590, 5001, 256, 4 * MiB, 14 * GiB, 3},
      {"v100", "NVIDIA V100 SXM 16 GB", v100, volta, 80, 1530, 877, 4096, 6 * MiB, 15 * GiB, 3},
      {"rtx4090", "NVIDIA GeForce RTX 4090", rtx4090, ada, 128, 2520, 10501, 384, 72 * MiB,
       23 * GiB, 2},
      // 75 TFLOP/s and 8 TB/s of the HGX B200 data sheet; copy engines as on its predecessors.
      {"b200", "NVIDIA B200", b200, blackwell, 148, 1965, 3906, 8192, 126 * MiB, 178 * GiB, 3},
  };
  std::vector<Profile> made;
  for (const Chip& chip : chips) made.push_back(profile_of(chip));
  return made;
}

}  // namespace

std::span<const Profile> profiles() {
  static const std::vector<Profile> made = make_profiles();
  return made;
}

const DeviceProperties* find_profile(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const Profile& profile : profiles()) {
    if (profile.name == lower) return &profile.properties;
  }
  return nullptr;
}

const DeviceProperties& require_profile(std::string_view name) {
  if (const DeviceProperties* found = find_profile(name)) return *found;
  std::vector<std::string_view> names;
  for (const Profile& profile : profiles()) names.push_back(profile.name);
  throw unknown_gpu(name, names);
}

Error unknown_gpu(std::string_view name, const std::vector<std::string_view>& names,
                  std::string_view or_else) {
  const std::string_view near = nearest(lower_case(name), names);
  return {ErrorKind::usage,
          fmt::format("no GPU is known as \"{}\"{}; known are {}{}", printable(name, 60),
                      near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                      fmt::join(names, ", "), or_else)};
}

}  // namespace tilescope::gpu
