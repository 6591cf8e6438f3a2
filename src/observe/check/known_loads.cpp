#include "observe/check/known_loads.hpp"

#include <algorithm>
#include <utility>

#include "observe/check/cell_records.hpp"

namespace tilescope::observe {
namespace {

/// Intervals in ascending order; those that touch or overlap, or have so few bytes between them,
/// become one.
std::vector<Run> joined(std::vector<Run> runs, std::uint32_t between) {
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  std::vector<Run> all;
  for (const Run& run : runs) {
    const std::int64_t end = run.offset + run.bytes;
    if (all.empty() || all.back().offset + all.back().bytes + between < run.offset) {
      all.push_back(run);
    } else if (Run& last = all.back(); last.offset + last.bytes < end) {
      last.bytes = static_cast<std::uint32_t>(end - last.offset);
    }
  }
  return all;
}

}  // namespace

KnownPlan::KnownPlan(const emulator::KnownGroup& group, std::vector<const LaneCells*> cells,
                     const std::vector<AccessRole>& roles, std::uint64_t& number)
    : cells_(std::move(cells)), is_load_(cells_.size()), is_plain_load_(cells_.size()) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const emulator::KnownAccess& access = group.accesses[i];
    if (access.kind != emulator::AccessKind::load || roles[access.instruction].is_special()) {
      continue;
    }
    is_load_[i] = access.space == emulator::Space::shared && cells_[i]->unit == 4;
    is_plain_load_[i] = access.space == emulator::Space::global;
  }
  find_stretches(group, number);
}

void KnownPlan::find_stretches(const emulator::KnownGroup& group, std::uint64_t& number) {
  std::vector<std::uint32_t> stretch_of(group.bases.size());
  std::vector<std::int64_t> begins(group.bases.size());
  const auto offset = [&](std::size_t i) {
    return static_cast<std::int64_t>(group.accesses[i].offset);
  };
  for (std::uint32_t base = 0; base < group.bases.size(); ++base) {
    KnownLoads::Stretch stretch{};
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (!is_load(i) || group.accesses[i].base != base) continue;
      for (const Run& run : cells_[i]->runs) {
        stretch.runs.push_back({run.offset + offset(i), run.bytes});
      }
      stretch.access = static_cast<std::uint32_t>(i);
    }
    if (stretch.runs.empty()) continue;
    stretch.runs = joined(std::move(stretch.runs), 0);
    const std::int64_t begin = stretch.runs.front().offset;
    for (Run& run : stretch.runs) run.offset -= begin;
    stretch.near = joined(stretch.runs, kPageBytes - 1);
    const Run& last = stretch.runs.back();
    stretch.extent = static_cast<std::uint32_t>(last.offset + last.bytes);
    stretch.offset = offset(stretch.access) - begin;
    stretch.number = ++number;
    stretch_of[base] = static_cast<std::uint32_t>(loads_.stretches.size());
    begins[base] = begin;
    loads_.stretches.push_back(std::move(stretch));
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!is_load(i)) continue;
    const emulator::KnownAccess& access = group.accesses[i];
    loads_.loads.push_back(
        {access.instruction, cells_[i], stretch_of[access.base], offset(i) - begins[access.base]});
  }
}

}  // namespace tilescope::observe
