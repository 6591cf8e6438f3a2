#include "report/counts_report.hpp"

#include <fmt/format.h>

namespace tilescope::report {
namespace {

/// Rows of a name and a value; what is zero is left out.
Table value_table() {
  return {.columns = {{"", left, 38, "{name}"}, {"", right, 20, "{value}"}},
          .rows = {},
          .indent = 2,
          .has_head = false};
}

void add_value(Table& table, std::string_view name, std::uint64_t value) {
  if (value != 0) table.rows.push_back({{"name", name}, {"value", value}});
}

void add_operations(Table& table, const OperationCounts& o) {
  add_value(table, "FFMA (32-bit), threads", o.ffma);
  add_value(table, "FADD and FMUL (32-bit), threads", o.fadd + o.fmul);
  add_value(table, "DFMA (64-bit), threads", o.dfma);
  add_value(table, "DADD and DMUL (64-bit), threads", o.dadd + o.dmul);
  add_value(table, "HFMA (16-bit), threads", o.hfma);
  add_value(table, "HADD and HMUL (16-bit), threads", o.hadd + o.hmul);
  add_value(table, "special functions, threads", o.special);
  add_value(table, "integer operations, threads", o.integer);
  add_value(table, "tensor cores (mma, wgmma), warps", o.tensor);
  add_value(table, "bytes that wgmma reads, shared", o.tensor_bytes);
  add_value(table, "floating-point operations", o.flops());
}

/// One row for each kind of access that there was.
Table traffic_table(const char* unit, const char* fourth, const char* fifth) {
  return {.columns = {{"", left, 17, "{name}"},
                      {"requests", right, 13, "{requests}"},
                      {unit, right, 13, "{units}"},
                      {"per req.", right, 9, "{per_request:.2f}"},
                      {fourth, right, 12, "{fourth}"},
                      {fifth, right, 9, "{fifth}"}},
          .rows = {},
          .indent = 2};
}

void add_sectors(Table& table, std::string_view name, const SectorCounts& c) {
  if (c.requests == 0) return;
  table.rows.push_back(
      {{"name", name},
       {"requests", c.requests},
       {"units", c.sectors},
       {"per_request", c.per_request()},
       {"fourth", c.ideal_sectors},
       {"fifth", fmt::format("{:.0f}%", 100.0 * double(c.ideal_sectors) / double(c.sectors))}});
}

void add_wavefronts(Table& table, std::string_view name, const WavefrontCounts& c) {
  if (c.requests == 0) return;
  table.rows.push_back({{"name", name},
                        {"requests", c.requests},
                        {"units", c.wavefronts},
                        {"per_request", double(c.wavefronts) / double(c.requests)},
                        {"fourth", c.conflicts()},
                        {"fifth", c.ways}});
}

void add_bulk(Table& table, std::string_view name, const BulkCounts& c) {
  if (c.requests == 0) return;
  table.rows.push_back(
      {{"name", name}, {"requests", c.requests}, {"bytes", c.bytes}, {"sectors", c.sectors}});
}

/// Bulk and tensor copies.
Table bulk_table(const Counts& t) {
  Table table{.columns = {{"", left, 17, "{name}"},
                          {"requests", right, 13, "{requests}"},
                          {"bytes", right, 17, "{bytes}"},
                          {"sectors", right, 13, "{sectors}"}},
              .rows = {},
              .indent = 2};
  add_bulk(table, "bulk loads", t.bulk_load);
  add_bulk(table, "bulk stores", t.bulk_store);
  add_bulk(table, "bulk reductions", t.bulk_reduction);
  add_bulk(table, "between blocks", t.bulk_exchange);
  return table;
}

void add_unit(Table& table, std::string_view name, const UnitCounts& c) {
  if (c.requests == 0) return;
  table.rows.push_back({{"name", name},
                        {"requests", c.requests},
                        {"sectors", c.sectors},
                        {"per_request", double(c.sectors) / double(c.requests)}});
}

/// Textures, surfaces, and shared memory of other blocks of the cluster.
Table unit_table(const Counts& t) {
  Table table{.columns = {{"", left, 17, "{name}"},
                          {"requests", right, 13, "{requests}"},
                          {"sectors", right, 13, "{sectors}"},
                          {"per req.", right, 9, "{per_request:.2f}"}},
              .rows = {},
              .indent = 2};
  add_unit(table, "textures", t.texture);
  add_unit(table, "surfaces", t.surface);
  add_unit(table, "cluster loads", t.dshared_load);
  add_unit(table, "cluster stores", t.dshared_store);
  add_unit(table, "cluster atomics", t.dshared_atomic);
  add_unit(table, "cluster red.async", t.dshared_async_reduction);
  return table;
}

void add_traffic(Page& page, Table table) {
  if (table.rows.empty()) return;
  page.gap();
  page.add(std::move(table));
}

}  // namespace

void add_totals(Page& page, const LaunchCounts& counts) {
  const Counts& t = counts.totals;
  Table values = value_table();
  add_value(values, "warp instructions (of the PTX)", t.instructions);
  if (t.instructions > 0) {
    values.rows.push_back(
        {{"name", "threads per instruction"},
         {"value", fmt::format("{:.2f}", double(t.thread_instructions) / double(t.instructions))}});
  }
  add_operations(values, t.operations);
  add_value(values, "barriers, warps", t.barriers);
  if (t.branches > 0) {
    const Record branches{{"divergent", t.divergent_branches},
                          {"all", t.branches},
                          {"share", double(t.divergent_branches) / double(t.branches)}};
    values.rows.push_back({{"name", "branches, divergent"},
                           {"value", branches.fill("{divergent} of {all} ({share:percent})")}});
  }
  page.add(std::move(values));
  Table sectors = traffic_table("sectors", "ideal", "efficient");
  add_sectors(sectors, "global loads", t.global_load);
  add_sectors(sectors, "global stores", t.global_store);
  add_sectors(sectors, "global atomics", t.global_atomic);
  add_sectors(sectors, "global reductions", t.global_reduction);
  add_sectors(sectors, "local loads", t.local_load);
  add_sectors(sectors, "local stores", t.local_store);
  add_traffic(page, std::move(sectors));
  add_traffic(page, bulk_table(t));
  add_traffic(page, unit_table(t));
  Table waves = traffic_table("wavefronts", "conflicts", "worst way");
  add_wavefronts(waves, "shared loads", t.shared_load);
  add_wavefronts(waves, "shared stores", t.shared_store);
  add_wavefronts(waves, "shared atomics", t.shared_atomic);
  add_wavefronts(waves, "cp.async writes", t.shared_async);
  add_traffic(page, std::move(waves));
  if (counts.footprint.empty()) return;
  const Record bytes{{"read", counts.unique_bytes_read()},
                     {"written", counts.unique_bytes_written()},
                     {"compulsory", counts.compulsory_intensity()},
                     {"requested", t.requested_intensity()}};
  page.gap();
  page.add(Text{bytes.fill("different bytes read {read}, written {written}") +
                    (t.operations.flops() > 0
                         ? bytes.fill("; FLOP/B {compulsory:.2f} (sectors: {requested:.2f})")
                         : ""),
                2, 2});
}

Record counts_record(const Counts& counts) {
  Record record;
  for (const NamedCount& count : named_counts())
    record.set(std::string(count.name), count.of(counts));
  record.set("sectors_per_request", counts.global().per_request());
  return record;
}

}  // namespace tilescope::report
