// The table of the kinds of findings, and the names of a finding's parts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/format.hpp"
#include "report/words/wording.hpp"

namespace tilescope {
namespace {

/// A row has the words themselves, or the function that chooses them.
struct Row {
  FindingKind kind;
  std::string_view name;
  std::string_view message;  ///< with the names that `filled` knows, in braces
  std::string_view cure;
  report::Wording (*words)(const Finding& finding) = nullptr;
};

using K = FindingKind;

/// In the order of the enumeration, so that a kind is its own index.
constexpr std::array rows = {
    Row{K::out_of_bounds, "out-of-bounds", "", "", report::out_of_bounds_words},
    Row{K::misaligned, "misaligned",
        "{place} is {excess} beyond a multiple of {width}, and this {action} needs a multiple",
        "access float4, double and other wide types only at multiples of their size: pad the rows, "
        "or load the elements one by one"},
    Row{K::null_pointer, "null-pointer", "{action} through a null pointer (address {address:#x})",
        "pass a buffer for every pointer argument"},
    Row{K::freed_memory, "freed-memory", "{action} in '{object}', which was freed",
        "free the buffer after the last kernel that uses it"},
    Row{K::wrong_space, "wrong-space", "", "", report::wrong_space_words},
    Row{K::read_only, "read-only", "{action} to {space} memory, which cannot be written",
        "write to global or shared memory instead"},
    Row{K::uninitialised_read, "uninitialised-read", "", "", report::uninitialised_read_words},
    Row{K::race, "race", "", "", report::race_words},
    Row{K::unfinished_copy, "unfinished-copy", "", "", report::race_words},
    Row{K::missing_acquire, "missing-acquire", "", "", report::race_words},
    Row{K::barrier_unreached, "barrier-unreached", "", "", report::barrier_unreached_words},
    Row{K::endless_wait, "endless-wait", "", "", report::endless_wait_words},
    Row{K::barrier_mismatch, "barrier-mismatch", "threads of one block met at different barriers",
        "put one __syncthreads() where all threads of the block pass"},
    Row{K::bad_barrier, "bad-barrier",
        "barrier operand {operand}: numbers go to 15, counts are multiples of 32",
        "use a barrier from 0 to 15 and a thread count that is a multiple of 32"},
    Row{K::warp_mask, "warp-mask", "", "", report::warp_mask_words},
    Row{K::bad_call, "bad-call", "call of {operand:#x}, which is no function",
        "take function addresses in device code of the same module"},
    Row{K::bad_operand, "bad-operand",
        "an mbarrier for {operand} arrivals: counts go from 1 to 1,048,575",
        "initialise the barrier with the number of threads that arrive at it"},
    Row{K::cluster_memory, "cluster-memory", "", "", report::cluster_memory_words},
    Row{K::cluster_arrival, "cluster-arrival",
        "a thread arrives at the barrier of its cluster a second time without waiting in between, "
        "or waits without having arrived",
        "let every thread arrive once and then wait once, in turns (cluster.sync() does both)"},
    Row{K::bad_copy, "bad-copy", "{rule}",
        "keep to the copy engine's rules: sizes and addresses, the rank of the tensor map, and a "
        "map that the host has encoded"},
    Row{K::warpgroup_mismatch, "warpgroup-mismatch",
        "the four warps of a warpgroup do not run the same wgmma with the same descriptors",
        "let all 128 threads of the warpgroup take the same path to the same instruction"},
    Row{K::missing_proxy_fence, "missing-proxy-fence", "", "", report::async_words},
    Row{K::early_overwrite, "early-overwrite", "", "", report::async_words},
    Row{K::missing_mbarrier_fence, "missing-mbarrier-fence", "", "", report::phase_words},
    Row{K::cluster_not_started, "cluster-not-started", "", "", report::async_words},
    Row{K::expected_bytes, "expected-bytes", "", "", report::phase_words},
    Row{K::arrival_count, "arrival-count", "", "", report::phase_words},
    Row{K::phase_parity, "phase-parity", "", "", report::phase_words},
    Row{K::named_barrier_reuse, "named-barrier-reuse", "", "", report::named_barrier_words},
    Row{K::wgmma_order, "wgmma-order", "", "", report::async_words},
    Row{K::bulk_source_reuse, "bulk-source-reuse", "", "", report::async_words},
    Row{K::cluster_exit, "cluster-exit", "", "", report::cluster_memory_words},
    Row{K::local_arrive_remote, "local-arrive-remote", "", "", report::local_arrive_words},
    Row{K::register_budget, "register-budget", "", "", report::register_budget_words},
    Row{K::tile_alignment, "tile-alignment", "", "", report::tile_words},
    Row{K::tensor_map_in_use, "tensor-map-in-use", "", "", report::async_words},
    Row{K::missing_grid_wait, "missing-grid-wait",
        "{place} belongs to the grid before, which may still be running: nothing waits for it",
        "execute griddepcontrol.wait (cudaGridDependencySynchronize()) before the first access to "
        "what the grid before reads or writes"},
    Row{K::unfinished_async_work, "unfinished-async-work", "", "", report::async_words},
    Row{K::order_dependent_result, "order-dependent-result", "", "", report::schedule_words},
    Row{K::bad_texture, "bad-texture", "", "", report::texture_words},
    Row{K::outside_surface, "outside-surface", "", "", report::outside_surface_words},
    Row{K::trap, "trap", "", "", report::trap_words},
    Row{K::unfinished, "unfinished",
        "the launch was stopped after {instructions} warp instructions, its limit; {percent:.0f}% "
        "of them ran in this line",
        "make sure that the loop ends for every thread, or raise --max-instructions"},
    Row{K::wrote_nothing, "wrote-nothing",
        "the kernel wrote nothing to global memory: the launch has no result",
        "check the conditions that guard the stores, the extents of the launch (--grid, --block) "
        "and the values of its arguments"},
    Row{K::compiled_away, "compiled-away",
        "the compiler left nothing of '{object}': nobody reads what is stored there, or its value "
        "is "
        "known without it",
        "read what is stored, such as into an output array, or declare it volatile; the checks see "
        "only what the compiler left"},
    Row{K::illegal_launch, "illegal-launch", "{reason}", ""},
    Row{K::copy_bounds, "copy-bounds", "", "", report::copy_bounds_words},
    Row{K::copy_direction, "copy-direction",
        "{call} is told {given}, but its addresses ask for {right}",
        "pass {right}, or cudaMemcpyDefault, and check the order of destination and source"},
    Row{K::copy_size, "copy-size", "", "", report::copy_size_words},
    Row{K::host_pointer, "host-pointer", "", "", report::host_pointer_words},
    Row{K::use_after_free, "use-after-free", "{call} uses '{object}', which was freed",
        "free memory after its last use"},
    Row{K::double_free, "double-free", "{call} frees '{object}' a second time",
        "free memory once, and set the pointer to nullptr then"},
    Row{K::bad_free, "bad-free", "{call} frees {address:#x}, where no allocation begins",
        "free the very pointer that the allocation gave, with the function that belongs to it"},
    Row{K::leak, "leak", "'{object}' is never freed: {size} of {call}",
        "free it with the function that belongs to {call} before the program ends"},
    Row{K::unsynchronised, "unsynchronised", "", "", report::unsynchronised_words},
    Row{K::unchecked_error, "unchecked-error",
        "{call} failed with {given} ({right}), and the program never asked",
        "test the result of every call, and cudaGetLastError() after each launch"},
    Row{K::uncovered_elements, "uncovered-elements", "", "", report::uncovered_words},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].kind) != i) return false;
  }
  return rows.back().kind == FindingKind::uncovered_elements;  // the last of the enumeration
}
static_assert(in_order());

const Row& row(FindingKind kind) {
  return rows[static_cast<std::size_t>(kind)];
}

std::string filled(std::string_view text, const Finding& finding) {
  using report::bytes_text, report::facts_of;
  const MemoryPlace place = report::memory_of(finding);
  const std::uint64_t width = std::max(finding.first.bytes, 1U);
  const auto limit = facts_of<LimitFacts>(finding);
  const auto host = facts_of<HostFacts>(finding);
  const std::string rule = facts_of<CopyFacts>(finding).rule;
  return fmt::format(
      fmt::runtime(text), fmt::arg("action", action(finding.first)),
      fmt::arg("place", to_string(place)), fmt::arg("object", object_name(place)),
      fmt::arg("space", to_string(place.space)), fmt::arg("address", place.address),
      fmt::arg("width", bytes_text(width)), fmt::arg("excess", bytes_text(place.address % width)),
      fmt::arg("operand", facts_of<OperandFacts>(finding).value),
      fmt::arg("instructions", format_count(limit.warp_instructions)),
      fmt::arg("percent", limit.percent),
      fmt::arg("rule", rule.empty() ? "the copy engine refuses the copy" : rule),
      fmt::arg("reason", facts_of<LaunchRefusal>(finding).reason), fmt::arg("call", host.call),
      fmt::arg("given", host.given), fmt::arg("right", host.right),
      fmt::arg("size", bytes_text(place.object_bytes)));
}

report::Wording words_of(const Finding& finding) {
  const Row& of = row(finding.kind);
  if (of.words != nullptr) return of.words(finding);
  return {filled(of.message, finding), filled(of.cure, finding)};
}

}  // namespace

namespace report {

MemoryPlace memory_of(const Finding& finding) {
  return finding.memory.value_or(MemoryPlace{});
}

std::string counted(std::uint64_t count, std::string_view noun) {
  const std::string_view plural = noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : plural);
}

std::string bytes_text(std::uint64_t bytes) {
  return counted(bytes, "byte");
}

}  // namespace report

std::string_view to_string(FindingKind kind) {
  return row(kind).name;
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      break;
  }
  return "note";
}

std::string to_string(const ThreadName& name) {
  return fmt::format("block ({},{},{}), thread ({},{},{})", name.block.x, name.block.y,
                     name.block.z, name.thread.x, name.thread.y, name.thread.z);
}

std::string object_name(const MemoryPlace& place) {
  return place.object.empty() && place.space == MemorySpace::local ? "local memory" : place.object;
}

std::string to_string(const MemoryPlace& place) {
  const std::string name = object_name(place);
  if (name.empty()) {
    return place.space == MemorySpace::shared
               ? fmt::format("byte {} of shared memory", place.address)
               : fmt::format("{:#x}", place.address);
  }
  if (place.scalar) return name;
  const auto size = std::int64_t{std::max(place.element_bytes, 1U)};
  if (place.offset % size == 0) return fmt::format("{}[{}]", name, place.offset / size);
  return fmt::format("{} {} {} bytes", name, place.offset < 0 ? "-" : "+", std::abs(place.offset));
}

std::string action(const FindingAccess& access) {
  const std::string size = access.bytes == 0 ? "an element" : report::bytes_text(access.bytes);
  switch (access.action) {
    case ThreadAction::none:
      return "";
    case ThreadAction::read:
      return "read of " + size;
    case ThreadAction::write:
      return "write of " + size;
    case ThreadAction::atomic:
      return "atomic operation of " + size;
    case ThreadAction::wait:
      return "waits";
    case ThreadAction::exit:
      return "had left the kernel";
  }
  return "";
}

std::string message(const Finding& finding) {
  return words_of(finding).message;
}

std::string cure(const Finding& finding) {
  return words_of(finding).cure;
}

std::string_view message(Limitation limitation) {
  return limitation == Limitation::none
             ? ""
             : "the launch touches more global memory than the check of races and uninitialised "
               "reads keeps records for; the rest was not checked";
}

}  // namespace tilescope
