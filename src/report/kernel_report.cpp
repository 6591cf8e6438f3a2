#include "report/kernel_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tilescope/gpu/occupancy.hpp>

#include "base/symbol_names.hpp"
#include "report/counts_report.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

gpu::Occupancy occupancy_of(const LaunchResources& launch, const DeviceProperties& gpu) {
  return gpu::occupancy({.threads = static_cast<std::int64_t>(launch.threads_per_block),
                         .registers_per_thread = launch.registers_per_thread,
                         .shared_bytes = static_cast<std::int64_t>(launch.static_shared_bytes +
                                                                   launch.dynamic_shared_bytes)},
                        gpu, gpu::allocation_units(gpu.compute_major, gpu.compute_minor));
}

Record resources_record(const LaunchResources& launch, const DeviceProperties& gpu) {
  Record record{{"static_shared_bytes", launch.static_shared_bytes},
                {"dynamic_shared_bytes", launch.dynamic_shared_bytes}};
  if (launch.registers_per_thread == 0) return record;  // PTX
  const gpu::Occupancy occupancy = occupancy_of(launch, gpu);
  record.set_all({{"registers_per_thread", launch.registers_per_thread},
                  {"local_bytes_per_thread", launch.local_bytes_per_thread},
                  {"blocks_per_sm", occupancy.blocks_per_sm},
                  {"warps_per_sm", occupancy.warps_per_sm},
                  {"occupancy_share", occupancy.share()}});
  return record;
}

std::string resources_text(const LaunchResources& launch, const DeviceProperties& gpu) {
  const std::string shared =
      bytes_text(launch.static_shared_bytes + launch.dynamic_shared_bytes) + " of shared memory";
  if (launch.registers_per_thread == 0) {
    return fmt::format("{}: {} a block; of PTX the registers are not known", launch.kernel, shared);
  }
  const std::string local = launch.local_bytes_per_thread == 0
                                ? "no local memory"
                                : bytes_text(launch.local_bytes_per_thread) +
                                      " of local memory (arrays, spilled registers)";
  const gpu::Occupancy occupancy = occupancy_of(launch, gpu);
  std::vector<std::string> limiters;
  for (const gpu::Limiter limiter : occupancy.limiters) {
    limiters.emplace_back(limiter == gpu::Limiter::shared_memory ? "shared memory"
                                                                 : gpu::name_of(limiter));
  }
  return fmt::format(
      "{}: {} registers and {} a thread, {} a block; an SM has room for {} of {} threads, {} of {} "
      "warps (limit: {})",
      launch.kernel, launch.registers_per_thread, local, shared,
      counted(static_cast<std::uint64_t>(occupancy.blocks_per_sm), "block"),
      launch.threads_per_block, occupancy.warps_per_sm, occupancy.max_warps_per_sm,
      fmt::join(limiters, ", "));
}

}  // namespace

List kernel_list(const ExplainResult& result) {
  std::map<std::string, Counts> totals;
  std::map<std::string, std::uint64_t> launches;
  for (const LaunchCounts& launch : result.launches) {
    const std::string name = function_name(launch.kernel);
    totals[name] += launch.totals;
    ++launches[name];
  }
  List list;
  for (const auto& [name, counts] : totals) {
    Record record{{"kernel", name}, {"launches", launches[name]}};
    for (const LaunchResources& launch : result.resources) {
      if (launch.kernel == name) record.set_all(resources_record(launch, result.properties));
    }
    record.set("totals", counts_record(counts));
    list.push_back(std::move(record));
  }
  return list;
}

std::uint64_t blocks_per_sm(const ExplainResult& result, const std::string& kernel) {
  for (const LaunchResources& launch : result.resources) {
    if (launch.kernel != function_name(kernel) || launch.registers_per_thread == 0) continue;
    return static_cast<std::uint64_t>(occupancy_of(launch, result.properties).blocks_per_sm);
  }
  return 0;
}

void add_resources(Page& page, const ExplainResult& result) {
  if (result.resources.empty()) return;
  page.gap();
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(result.resources.size(), most); ++i) {
    page.add(Text{resources_text(result.resources[i], result.properties), 2, 2});
  }
  if (result.resources.size() > most) page.add(Text{"(--json has all)", 2});
}

}  // namespace tilescope::report
