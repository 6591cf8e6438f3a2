// The counts under their names in reports.
#include <tilescope/counts.hpp>

namespace tilescope {
namespace {

constexpr std::uint64_t kWavefrontBytes = 128;  // wgmma reads its operands without conflicts

constexpr NamedCount counts_by_name[] = {
    {"instructions", [](const Counts& c) { return c.instructions; }},
    {"thread_instructions", [](const Counts& c) { return c.thread_instructions; }},
    {"global_load_requests", [](const Counts& c) { return c.global_load.requests; }},
    {"global_load_sectors", [](const Counts& c) { return c.global_load.sectors; }},
    {"global_load_ideal_sectors", [](const Counts& c) { return c.global_load.ideal_sectors; }},
    {"global_store_requests", [](const Counts& c) { return c.global_store.requests; }},
    {"global_store_sectors", [](const Counts& c) { return c.global_store.sectors; }},
    {"global_store_ideal_sectors", [](const Counts& c) { return c.global_store.ideal_sectors; }},
    {"global_atomic_requests", [](const Counts& c) { return c.global_atomic.requests; }},
    {"global_atomic_sectors", [](const Counts& c) { return c.global_atomic.sectors; }},
    {"global_reduction_requests", [](const Counts& c) { return c.global_reduction.requests; }},
    {"global_reduction_sectors", [](const Counts& c) { return c.global_reduction.sectors; }},
    {"local_load_requests", [](const Counts& c) { return c.local_load.requests; }},
    {"local_load_sectors", [](const Counts& c) { return c.local_load.sectors; }},
    {"local_store_requests", [](const Counts& c) { return c.local_store.requests; }},
    {"local_store_sectors", [](const Counts& c) { return c.local_store.sectors; }},
    {"shared_load_requests", [](const Counts& c) { return c.shared_load.requests; }},
    {"shared_load_wavefronts", [](const Counts& c) { return c.shared_load.wavefronts; }},
    {"shared_load_conflicts", [](const Counts& c) { return c.shared_load.conflicts(); }},
    {"shared_load_ways", [](const Counts& c) { return std::uint64_t{c.shared_load.ways}; }},
    {"shared_store_requests", [](const Counts& c) { return c.shared_store.requests; }},
    {"shared_store_wavefronts", [](const Counts& c) { return c.shared_store.wavefronts; }},
    {"shared_store_conflicts", [](const Counts& c) { return c.shared_store.conflicts(); }},
    {"shared_store_ways", [](const Counts& c) { return std::uint64_t{c.shared_store.ways}; }},
    {"shared_atomic_requests", [](const Counts& c) { return c.shared_atomic.requests; }},
    {"shared_atomic_wavefronts", [](const Counts& c) { return c.shared_atomic.wavefronts; }},
    {"shared_atomic_conflicts", [](const Counts& c) { return c.shared_atomic.conflicts(); }},
    {"shared_async_wavefronts", [](const Counts& c) { return c.shared_async.wavefronts; }},
    {"bulk_load_requests", [](const Counts& c) { return c.bulk_load.requests; }},
    {"bulk_load_bytes", [](const Counts& c) { return c.bulk_load.bytes; }},
    {"bulk_load_sectors", [](const Counts& c) { return c.bulk_load.sectors; }},
    {"bulk_store_requests", [](const Counts& c) { return c.bulk_store.requests; }},
    {"bulk_store_bytes", [](const Counts& c) { return c.bulk_store.bytes; }},
    {"bulk_store_sectors", [](const Counts& c) { return c.bulk_store.sectors; }},
    {"bulk_reduction_requests", [](const Counts& c) { return c.bulk_reduction.requests; }},
    {"bulk_reduction_bytes", [](const Counts& c) { return c.bulk_reduction.bytes; }},
    {"bulk_reduction_sectors", [](const Counts& c) { return c.bulk_reduction.sectors; }},
    {"bulk_exchange_requests", [](const Counts& c) { return c.bulk_exchange.requests; }},
    {"bulk_exchange_bytes", [](const Counts& c) { return c.bulk_exchange.bytes; }},
    {"texture_requests", [](const Counts& c) { return c.texture.requests; }},
    {"texture_sectors", [](const Counts& c) { return c.texture.sectors; }},
    {"surface_requests", [](const Counts& c) { return c.surface.requests; }},
    {"surface_sectors", [](const Counts& c) { return c.surface.sectors; }},
    {"dshared_load_requests", [](const Counts& c) { return c.dshared_load.requests; }},
    {"dshared_load_sectors", [](const Counts& c) { return c.dshared_load.sectors; }},
    {"dshared_store_requests", [](const Counts& c) { return c.dshared_store.requests; }},
    {"dshared_store_sectors", [](const Counts& c) { return c.dshared_store.sectors; }},
    {"dshared_atomic_requests", [](const Counts& c) { return c.dshared_atomic.requests; }},
    {"dshared_atomic_sectors", [](const Counts& c) { return c.dshared_atomic.sectors; }},
    {"dshared_async_reduction_requests",
     [](const Counts& c) { return c.dshared_async_reduction.requests; }},
    {"dshared_async_reduction_sectors",
     [](const Counts& c) { return c.dshared_async_reduction.sectors; }},
    {"branches", [](const Counts& c) { return c.branches; }},
    {"divergent_branches", [](const Counts& c) { return c.divergent_branches; }},
    {"barriers", [](const Counts& c) { return c.barriers; }},
    {"ffma", [](const Counts& c) { return c.operations.ffma; }},
    {"fadd", [](const Counts& c) { return c.operations.fadd; }},
    {"fmul", [](const Counts& c) { return c.operations.fmul; }},
    {"dfma", [](const Counts& c) { return c.operations.dfma; }},
    {"dadd", [](const Counts& c) { return c.operations.dadd; }},
    {"dmul", [](const Counts& c) { return c.operations.dmul; }},
    {"hfma", [](const Counts& c) { return c.operations.hfma; }},
    {"hadd", [](const Counts& c) { return c.operations.hadd; }},
    {"hmul", [](const Counts& c) { return c.operations.hmul; }},
    {"special", [](const Counts& c) { return c.operations.special; }},
    {"integer", [](const Counts& c) { return c.operations.integer; }},
    {"tensor_instructions", [](const Counts& c) { return c.operations.tensor; }},
    {"tensor_flops", [](const Counts& c) { return c.operations.tensor_flops; }},
    {"tensor_shared_wavefronts",
     [](const Counts& c) { return c.operations.tensor_bytes / kWavefrontBytes; }},
    {"tensor_shared_bytes", [](const Counts& c) { return c.operations.tensor_bytes; }},
    {"flops", [](const Counts& c) { return c.operations.flops(); }},
};

}  // namespace

std::span<const NamedCount> named_counts() {
  return counts_by_name;
}

}  // namespace tilescope
