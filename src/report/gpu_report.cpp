#include "report/gpu_report.hpp"

#include <fmt/format.h>

#include "report/device_report.hpp"

namespace tilescope::report {
namespace {

// Limits that a lecture's machine does not state are far beyond any GPU's.
template <typename Number>
Value limit(Number value, Number most) {
  return value >= most ? Value() : Value(value);
}

Record table_row(const gpu::Gpu& gpu) {
  const DeviceProperties& p = gpu.properties;
  const bool is_real = p.compute_major != 0;
  const gpu::MathRate* rate = gpu.rate("fp32");
  return {{"name", gpu.name},
          {"cc", is_real ? Value(fmt::format("{}.{}", p.compute_major, p.compute_minor)) : Value()},
          {"sms", is_real ? Value(p.sm_count) : Value()},
          {"threads", limit(p.max_threads_per_sm, 1 << 16)},
          {"blocks", limit(p.max_blocks_per_sm, 1 << 10)},
          {"registers", limit<std::int64_t>(p.registers_per_sm, 1 << 24)},
          {"shared", limit<std::size_t>(p.shared_bytes_per_sm, std::size_t{1} << 30U)},
          {"fp32", rate ? Value(rate->flops_per_second) : Value()},
          {"memory", known(gpu.bandwidth())}};
}

}  // namespace

Record gpu_record(const gpu::Gpu& gpu) {
  const gpu::AllocationUnits& u = gpu.units;
  List rates, latencies, sources;
  for (const gpu::MathRate& rate : gpu.rates) {
    rates.push_back(Record{
        {"name", rate.name}, {"flops_per_second", rate.flops_per_second}, {"source", rate.source}});
  }
  for (const gpu::LevelLatency& latency : gpu.latencies) {
    latencies.push_back(Record{{"level", name_of(latency.level)},
                               {"latency_cycles", latency.cycles},
                               {"source", latency.source}});
  }
  for (const gpu::Source& source : gpu.sources) {
    sources.push_back(Record{{"what", source.what}, {"where", source.where}});
  }
  Record record = device_record(gpu.name, gpu.properties);
  record.set_all(
      {{"reserved_shared_bytes_per_block", gpu.properties.reserved_shared_bytes_per_block},
       {"shared_banks", gpu.shared_banks},
       {"allocation_units", Record{{"register_unit", u.register_unit},
                                   {"registers_for_whole_block", u.registers_for_whole_block},
                                   {"warp_unit", u.warp_unit},
                                   {"sub_partitions", u.sub_partitions},
                                   {"max_registers_per_thread", u.max_registers_per_thread},
                                   {"shared_unit_bytes", u.shared_unit}}},
       {"bandwidth_bytes_per_second", known(gpu.bandwidth())},
       {"rates", std::move(rates)},
       {"latencies", std::move(latencies)},
       {"sources", std::move(sources)}});
  return record;
}

Page gpu_page(const gpu::Gpu& gpu) {
  Page page("devices");
  const Record r = gpu_record(gpu);
  page.data.set("gpus", List{r});
  add_device(page, gpu.name, gpu.properties);
  page.fact("Registers are handed out in",
            fmt::format("{{allocation_units.register_unit}} registers a {}, "
                        "{{allocation_units.sub_partitions}} parts, at most "
                        "{{allocation_units.max_registers_per_thread}} a thread",
                        gpu.units.registers_for_whole_block ? "block" : "warp"),
            r);
  page.fact(
      "Shared memory in",
      "{allocation_units.shared_unit_bytes:count} B, {reserved_shared_bytes_per_block:plain} B of "
      "a block reserved",
      r);
  for (const gpu::MathRate& rate : gpu.rates) {
    page.fact("Peak " + rate.name, "{rate:flops}", {{"rate", rate.flops_per_second}});
    page.add(Text{rate.source, 4});
  }
  for (const gpu::LevelLatency& latency : gpu.latencies) {
    page.fact(fmt::format("Latency of {}", name_of(latency.level)), "{cycles:g} cycles",
              {{"cycles", latency.cycles}});
    page.add(Text{latency.source, 4});
  }
  page.add(Text{"Sources", 2});
  for (const gpu::Source& source : gpu.sources) {
    page.add(Text{source.what + ": " + source.where, 4, 2});
  }
  return page;
}

Page gpu_table_page(std::span<const gpu::Gpu> table) {
  Page page("devices");
  List gpus;
  Table rows{.columns = {{"name", left, 8, "{name}"},
                         {"cc", right, 4, "{cc}"},
                         {"SMs", right, 4, "{sms}"},
                         {"threads", right, 7, "{threads}"},
                         {"blocks", right, 6, "{blocks}"},
                         {"registers", right, 9, "{registers}"},
                         {"shared", right, 9, "{shared:bytes}"},
                         {"fp32", right, 13, "{fp32:flops}"},
                         {"memory", right, 10, "{memory:rate}"}},
             .rows = {}};
  for (const gpu::Gpu& gpu : table) {
    gpus.push_back(gpu_record(gpu));
    rows.rows.push_back(table_row(gpu));
  }
  page.data.set("gpus", std::move(gpus));
  page.add(std::move(rows));
  page.say(
      "Limits are those of an SM; names in s0 to s3 are machines that lectures calculate with.");
  return page;
}

}  // namespace tilescope::report
