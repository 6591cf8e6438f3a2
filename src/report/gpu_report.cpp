#include "report/gpu_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/device_report.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

// What a lecture's machine does not state is far beyond what any GPU has.
std::string limit(std::int64_t value, std::int64_t most) {
  return value >= most ? "-" : format_count(value);
}

}  // namespace

std::string gpu_table_text(std::span<const gpu::Gpu> table) {
  std::string text =
      fmt::format("{:<8} {:>4} {:>4} {:>7} {:>6} {:>9} {:>9} {:>13} {:>10}\n", "name", "cc", "SMs",
                  "threads", "blocks", "registers", "shared", "fp32", "memory");
  for (const gpu::Gpu& gpu : table) {
    const DeviceProperties& p = gpu.properties;
    const gpu::MathRate* rate = gpu.rate("fp32");
    text += fmt::format(
        "{:<8} {:>4} {:>4} {:>7} {:>6} {:>9} {:>9} {:>13} {:>10}\n", gpu.name,
        p.compute_major == 0 ? "-" : fmt::format("{}.{}", p.compute_major, p.compute_minor),
        p.compute_major == 0 ? "-" : format_count(p.sm_count), limit(p.max_threads_per_sm, 1 << 16),
        limit(p.max_blocks_per_sm, 1 << 10), limit(p.registers_per_sm, 1 << 24),
        p.shared_bytes_per_sm >= (1U << 30U) ? "-" : format_bytes(p.shared_bytes_per_sm),
        rate ? format_rate(rate->flops_per_second, "FLOP/s") : "-",
        gpu.bandwidth() > 0.0 ? format_rate(gpu.bandwidth(), "B/s") : "-");
  }
  return text +
         "Limits are those of an SM; names in s0 to s3 are machines that lectures calculate "
         "with.\n";
}

std::string gpu_text(const gpu::Gpu& gpu) {
  std::string text = device_text(gpu.name, gpu.properties);
  const gpu::AllocationUnits& u = gpu.units;
  text += fmt::format("  {:<38} {} registers a {}, {} parts, at most {} a thread\n",
                      "Registers are handed out in", u.register_unit,
                      u.registers_for_whole_block ? "block" : "warp", u.sub_partitions,
                      u.max_registers_per_thread);
  text += fmt::format("  {:<38} {} B, {} B of a block reserved\n", "Shared memory in",
                      u.shared_unit, gpu.properties.reserved_shared_bytes_per_block);
  for (const gpu::MathRate& rate : gpu.rates) {
    text += fmt::format("  {:<38} {}\n", "Peak " + rate.name,
                        format_rate(rate.flops_per_second, "FLOP/s"));
    text += fmt::format("    {}\n", hang(rate.source, 4, 74));
  }
  for (const gpu::LevelLatency& latency : gpu.latencies) {
    text += fmt::format("  {:<38} {:g} cycles\n",
                        fmt::format("Latency of {}", name_of(latency.level)), latency.cycles);
    text += fmt::format("    {}\n", hang(latency.source, 4, 74));
  }
  text += "  Sources\n";
  for (const gpu::Source& source : gpu.sources) {
    text += fmt::format("    {}\n", hang(source.what + ": " + source.where, 6, 72));
  }
  return text;
}

nlohmann::json gpu_json(const gpu::Gpu& gpu) {
  nlohmann::json json = device_json(gpu.name, gpu.properties);
  const gpu::AllocationUnits& u = gpu.units;
  json["reserved_shared_bytes_per_block"] = gpu.properties.reserved_shared_bytes_per_block;
  json["shared_banks"] = gpu.shared_banks;
  json["allocation_units"] = {{"register_unit", u.register_unit},
                              {"registers_for_whole_block", u.registers_for_whole_block},
                              {"warp_unit", u.warp_unit},
                              {"sub_partitions", u.sub_partitions},
                              {"max_registers_per_thread", u.max_registers_per_thread},
                              {"shared_unit_bytes", u.shared_unit}};
  json["bandwidth_bytes_per_second"] =
      gpu.bandwidth() > 0.0 ? nlohmann::json(gpu.bandwidth()) : nlohmann::json();
  json["rates"] = nlohmann::json::array();
  for (const gpu::MathRate& rate : gpu.rates) {
    json["rates"].push_back({{"name", rate.name},
                             {"flops_per_second", rate.flops_per_second},
                             {"source", rate.source}});
  }
  json["latencies"] = nlohmann::json::array();
  for (const gpu::LevelLatency& latency : gpu.latencies) {
    json["latencies"].push_back({{"level", name_of(latency.level)},
                                 {"latency_cycles", latency.cycles},
                                 {"source", latency.source}});
  }
  json["sources"] = nlohmann::json::array();
  for (const gpu::Source& source : gpu.sources) {
    json["sources"].push_back({{"what", source.what}, {"where", source.where}});
  }
  return json;
}

}  // namespace tilescope::report
