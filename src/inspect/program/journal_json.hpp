// The records of a journal as JSON. A structure is the array of its members, in the order in which
// `tied` lists them: both sides are of one version, and a launch takes little room.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <type_traits>
#include <variant>

#include "inspect/program/journal_records.hpp"

namespace tilescope::inspect::journal {

/// T or const T.
template <typename Given, typename T>
concept Is = std::same_as<std::remove_const_t<Given>, T>;

// Members that a reader of the journal does not need are left out.
auto tied(Is<Dim3> auto& v) {
  return std::tie(v.x, v.y, v.z);
}
auto tied(Is<SourcePlace> auto& v) {
  return std::tie(v.file, v.line);
}
auto tied(Is<ThreadName> auto& v) {
  return std::tie(v.block, v.thread);
}
auto tied(Is<MemoryPlace> auto& v) {
  return std::tie(v.space, v.address, v.object, v.object_bytes, v.offset, v.element_bytes,
                  v.scalar);
}
auto tied(Is<FindingAccess> auto& v) {
  return std::tie(v.place, v.ptx_line, v.action, v.bytes, v.thread, v.called_from);
}
auto tied(Is<BoundsMiss> auto& v) {
  return std::tie(v.distance, v.farthest, v.dynamic_shared, v.operand);
}
auto tied(Is<RaceFacts> auto& v) {
  return std::tie(v.relation, v.update, v.both_strong, v.block_scope, v.same_bits, v.several_warps,
                  v.fences, v.announces, v.child);
}
auto tied(Is<WaitFacts> auto& v) {
  return std::tie(v.at_barrier, v.barrier, v.exited, v.went_on, v.of_cluster, v.mixup);
}
auto tied(Is<MaskFacts> auto& v) {
  return std::tie(v.fault, v.members, v.lanes);
}
auto tied(Is<OperandFacts> auto& v) {
  return std::tie(v.value);
}
auto tied(Is<ClusterFacts> auto& v) {
  return std::tie(v.fault, v.rank);
}
auto tied(Is<CopyFacts> auto& v) {
  return std::tie(v.rule);
}
auto tied(Is<TileFacts> auto& v) {
  return std::tie(v.fault, v.bytes, v.beyond, v.span, v.copied_span, v.base_offset, v.operand);
}
auto tied(Is<AsyncFacts> auto& v) {
  return std::tie(v.engine, v.fault, v.engine_writes, v.barrier, v.phase, v.registers, v.rank);
}
auto tied(Is<PhaseFacts> auto& v) {
  return std::tie(v.fault, v.barrier, v.phase, v.expected_arrivals, v.arrivals, v.expected_bytes,
                  v.bytes);
}
auto tied(Is<BudgetFacts> auto& v) {
  return std::tie(v.fault, v.registers, v.asked, v.available);
}
auto tied(Is<ScheduleFacts> auto& v) {
  return std::tie(v.runs, v.differing, v.seed, v.elements, v.usual, v.other, v.floating_atomics,
                  v.permuted, v.clock, v.greatest);
}
auto tied(Is<TextureFacts> auto& v) {
  return std::tie(v.handle, v.surface, v.destroyed, v.other_dimensions);
}
auto tied(Is<SurfaceMiss> auto& v) {
  return std::tie(v.at, v.extent, v.dimensions);
}
auto tied(Is<TrapFacts> auto& v) {
  return std::tie(v.reason, v.what, v.needs_cooperative);
}
auto tied(Is<LimitFacts> auto& v) {
  return std::tie(v.warp_instructions, v.percent);
}
auto tied(Is<LaunchRefusal> auto& v) {
  return std::tie(v.reason);
}
auto tied(Is<HostFacts> auto& v) {
  return std::tie(v.call, v.bytes, v.given, v.right, v.argument);
}
auto tied(Is<CoverageFacts> auto& v) {
  return std::tie(v.call, v.elements, v.missing, v.first_missing);
}
auto tied(Is<Finding> auto& v) {
  return std::tie(v.kind, v.severity, v.kernel, v.launch, v.first, v.second, v.memory, v.facts,
                  v.count, v.schedules);
}
auto tied(Is<SectorCounts> auto& v) {
  return std::tie(v.requests, v.sectors, v.ideal_sectors);
}
auto tied(Is<WavefrontCounts> auto& v) {
  return std::tie(v.requests, v.wavefronts, v.ideal_wavefronts, v.ways);
}
auto tied(Is<BulkCounts> auto& v) {
  return std::tie(v.requests, v.bytes, v.sectors);
}
auto tied(Is<UnitCounts> auto& v) {
  return std::tie(v.requests, v.sectors);
}
auto tied(Is<OperationCounts> auto& v) {
  return std::tie(v.ffma, v.fadd, v.fmul, v.dfma, v.dadd, v.dmul, v.hfma, v.hadd, v.hmul, v.special,
                  v.integer, v.tensor, v.tensor_bytes, v.fp32_flops, v.fp64_flops, v.fp16_flops,
                  v.tensor_flops);
}
auto tied(Is<Counts> auto& v) {
  return std::tie(v.instructions, v.thread_instructions, v.guarded_on, v.global_load,
                  v.global_store, v.global_atomic, v.global_reduction, v.local_load, v.local_store,
                  v.shared_load, v.shared_store, v.shared_atomic, v.shared_async, v.bulk_load,
                  v.bulk_store, v.bulk_reduction, v.bulk_exchange, v.texture, v.surface,
                  v.dshared_load, v.dshared_store, v.dshared_atomic, v.dshared_async_reduction,
                  v.branches, v.divergent_branches, v.barriers, v.operations);
}
auto tied(Is<LineCounts> auto& v) {
  return std::tie(v.place, v.counts, v.spread);
}
auto tied(Is<BufferTraffic> auto& v) {
  return std::tie(v.name, v.bytes, v.read, v.written);
}
auto tied(Is<LaunchCounts> auto& v) {
  return std::tie(v.kernel, v.grid, v.block, v.totals, v.lines, v.footprint, v.complete,
                  v.blocks_counted, v.blocks, v.spread);
}
auto tied(Is<observe::DivergedWarp> auto& v) {
  return std::tie(v.block, v.warp, v.active, v.taken, v.backward, v.idle_lanes);
}
auto tied(Is<observe::InstructionCount> auto& v) {
  return std::tie(v.id, v.place, v.counts, v.diverged);
}
auto tied(Is<observe::CountedLaunch> auto& v) {
  return std::tie(v.kernel, v.grid, v.block, v.totals, v.lines, v.footprint, v.complete,
                  v.blocks_counted, v.blocks, v.spread, v.instructions);
}
auto tied(Is<observe::LaneSample> auto& v) {
  return std::tie(v.instruction, v.place, v.ptx_line, v.space, v.kind, v.bytes, v.mask, v.addresses,
                  v.block, v.block_index, v.warp, v.object, v.object_base, v.cost, v.ideal, v.ways,
                  v.use);
}
auto tied(Is<observe::WarpSpan> auto& v) {
  return std::tie(v.begin, v.end, v.state, v.place);
}
auto tied(Is<observe::CourseOfBlock> auto& v) {
  return std::tie(v.linear, v.index, v.complete, v.warps);
}
auto tied(Is<observe::CodeLine> auto& v) {
  return std::tie(v.place, v.ptx_line, v.text);
}
auto tied(Is<PipelinePhase> auto& v) {
  return std::tie(v.stage, v.bytes, v.ahead, v.under_way, v.ready, v.producer_waited,
                  v.consumer_waited);
}
auto tied(Is<Pipeline> auto& v) {
  return std::tie(v.kernel, v.barrier, v.issue, v.wait, v.stages, v.phases);
}
auto tied(Is<ExplainDetails::OfLaunch> auto& v) {
  return std::tie(v.counted, v.samples, v.pipelines, v.rounds, v.blocks, v.code);
}
auto tied(Is<RunSummary> auto& v) {
  return std::tie(v.launches, v.blocks, v.warp_instructions, v.faults, v.deadlocked_blocks,
                  v.ending, v.message);
}
auto tied(Is<HostAddress> auto& v) {
  return std::tie(v.object, v.address);
}
auto tied(Is<HostStack> auto& v) {
  return std::tie(v.call, v.frames);
}
auto tied(Is<JournalLaunch> auto& v) {
  return std::tie(v.kernel, v.grid, v.block, v.ran, v.totals, v.stack, v.is_watched,
                  v.blocks_counted, v.spread);
}
auto tied(Is<JournalRun> auto& v) {
  return std::tie(v.key, v.first);
}
auto tied(Is<JournalFinding> auto& v) {
  return std::tie(v.finding, v.first, v.second);
}
auto tied(Is<JournalAllocation> auto& v) {
  return std::tie(v.name, v.stack);
}
auto tied(Is<JournalCounts> auto& v) {
  return std::tie(v.sum, v.kernels);
}

template <typename T>
concept Structure = requires(T& v) {
  tied(v);
};

}  // namespace tilescope::inspect::journal

namespace nlohmann {

template <tilescope::inspect::journal::Structure T>
struct adl_serializer<T> {
  static void to_json(json& j, const T& value) {
    j = json::array();
    std::apply([&](const auto&... member) { (j.push_back(member), ...); },
               tilescope::inspect::journal::tied(value));
  }
  static void from_json(const json& j, T& value) {
    std::size_t at = 0;
    std::apply([&](auto&... member) { (j.at(at++).get_to(member), ...); },
               tilescope::inspect::journal::tied(value));
  }
};

template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& j, const std::optional<T>& value) {
    if (value) j = *value;
  }
  static void from_json(const json& j, std::optional<T>& value) {
    if (!j.is_null()) j.get_to(value.emplace());
  }
};

/// [index of the alternative, its value]
template <>
struct adl_serializer<tilescope::FindingFacts> {
  using Facts = tilescope::FindingFacts;
  static void to_json(json& j, const Facts& facts) {
    j = {facts.index(), nullptr};
    std::visit(
        [&]<typename T>(const T& value) {
          if constexpr (!std::is_same_v<T, std::monostate>) j[1] = value;
        },
        facts);
  }
  static void from_json(const json& j, Facts& facts) {
    read(j, j.at(0).get<std::size_t>(), facts,
         std::make_index_sequence<std::variant_size_v<Facts>>());
  }

 private:
  template <std::size_t... I>
  static void read(const json& j, std::size_t index, Facts& facts, std::index_sequence<I...>) {
    (read_if<I>(j, index, facts), ...);
  }
  template <std::size_t I>
  static void read_if(const json& j, std::size_t index, Facts& facts) {
    if (I != index) return;
    auto& value = facts.emplace<I>();
    if constexpr (I != 0) j.at(1).get_to(value);
  }
};

}  // namespace nlohmann
