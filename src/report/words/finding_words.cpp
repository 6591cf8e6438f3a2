// The table of the kinds of findings, and the names of what a finding consists of.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/format.hpp"
#include "report/words/wording.hpp"

namespace tilescope {
namespace {

struct Row {
  FindingKind kind;
  std::string_view name;
  report::Wording (*words)(const Finding& finding);
};

using K = FindingKind;

/// In the order of the enumeration, so that a kind is its own index.
constexpr std::array rows = {
    Row{K::out_of_bounds, "out-of-bounds", report::out_of_bounds_words},
    Row{K::misaligned, "misaligned", report::misaligned_words},
    Row{K::null_pointer, "null-pointer", report::null_pointer_words},
    Row{K::freed_memory, "freed-memory", report::freed_memory_words},
    Row{K::wrong_space, "wrong-space", report::wrong_space_words},
    Row{K::read_only, "read-only", report::read_only_words},
    Row{K::uninitialised_read, "uninitialised-read", report::uninitialised_read_words},
    Row{K::race, "race", report::race_words},
    Row{K::unfinished_copy, "unfinished-copy", report::race_words},
    Row{K::barrier_unreached, "barrier-unreached", report::barrier_unreached_words},
    Row{K::barrier_mismatch, "barrier-mismatch", report::barrier_mismatch_words},
    Row{K::bad_barrier, "bad-barrier", report::bad_barrier_words},
    Row{K::warp_mask, "warp-mask", report::warp_mask_words},
    Row{K::bad_call, "bad-call", report::bad_call_words},
    Row{K::bad_operand, "bad-operand", report::bad_operand_words},
    Row{K::trap, "trap", report::trap_words},
    Row{K::unfinished, "unfinished", report::unfinished_words},
    Row{K::wrote_nothing, "wrote-nothing", report::wrote_nothing_words},
    Row{K::illegal_launch, "illegal-launch", report::illegal_launch_words},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].kind) != i) return false;
  }
  return rows.back().kind == FindingKind::illegal_launch;  // the last of the enumeration
}
static_assert(in_order());

const Row& row(FindingKind kind) {
  return rows[static_cast<std::size_t>(kind)];
}

}  // namespace

namespace report {

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  return counted(bytes, "byte");
}

}  // namespace report

std::string_view to_string(FindingKind kind) {
  return row(kind).name;
}

std::string_view to_string(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
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
  switch (access.action) {
    case ThreadAction::none:
      return "";
    case ThreadAction::read:
      return "read of " + report::bytes_text(access.bytes);
    case ThreadAction::write:
      return "write of " + report::bytes_text(access.bytes);
    case ThreadAction::atomic:
      return "atomic operation of " + report::bytes_text(access.bytes);
    case ThreadAction::wait:
      return "waits";
    case ThreadAction::exit:
      return "had left the kernel";
  }
  return "";
}

std::string message(const Finding& finding) {
  return row(finding.kind).words(finding).message;
}

std::string cure(const Finding& finding) {
  return row(finding.kind).words(finding).cure;
}

std::string_view message(Limitation limitation) {
  return limitation == Limitation::none
             ? ""
             : "the launch touches more global memory than the check of races and uninitialised "
               "reads keeps records for; what lies beyond was not checked";
}

}  // namespace tilescope
