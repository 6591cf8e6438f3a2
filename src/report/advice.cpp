#include "report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "report/advice_rules.hpp"

namespace tilescope::report {
namespace {

using emulator::AccessKind;
using emulator::Space;
using observe::LaneSample;

const LaneSample* sample_of(const std::vector<LaneSample>& samples, emulator::InstructionId id) {
  const auto at = std::lower_bound(
      samples.begin(), samples.end(), id,
      [](const LaneSample& s, emulator::InstructionId wanted) { return s.instruction < wanted; });
  return at != samples.end() && at->instruction == id ? &*at : nullptr;
}

/// Unrolled copies of one access are one.
std::vector<AccessGroup> groups_of(const AdviceInput& input) {
  std::vector<AccessGroup> groups;
  for (const observe::InstructionCount& instruction : input.counts.instructions) {
    const LaneSample* sample = sample_of(input.samples, instruction.id);
    if (sample == nullptr) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const AccessGroup& g) {
      return g.place == instruction.place && g.sample->space == sample->space &&
             g.sample->object == sample->object &&
             access_verb(g.sample->kind) == access_verb(sample->kind);
    });
    if (same == groups.end()) {
      groups.push_back({instruction.place, sample, instruction.counts});
      continue;
    }
    same->counts += instruction.counts;
    if (sample->cost > same->sample->cost) same->sample = sample;
  }
  return groups;
}

}  // namespace

std::vector<Advice> advise(const observe::LaunchCounts& counts,
                           const std::vector<LaneSample>& samples, const Dim3& block,
                           SourceTexts& sources) {
  AdviceInput input{counts, samples, block, sources, {}};
  for (const LaneSample& sample : samples) input.objects.insert(sample.object);
  std::vector<Advice> advice;
  for (const AccessGroup& group : groups_of(input)) {
    if (group.sample->space == Space::global) advise_on_sectors(input, group, advice);
    if (group.sample->space == Space::shared) advise_on_conflicts(input, group, advice);
  }
  advise_on_flow(input, advice);
  std::stable_sort(advice.begin(), advice.end(),
                   [](const Advice& a, const Advice& b) { return a.weight > b.weight; });
  return advice;
}

std::string no_advice(const observe::LaunchCounts& counts) {
  const observe::SectorCounts sectors = counts.totals.global();
  const observe::WavefrontCounts waves = counts.totals.shared();
  std::string text = "none";
  const auto add = [&](const std::string& clause) {
    text += (text == "none" ? ": " : ", ") + clause;
  };
  if (sectors.requests > 0) {
    add(fmt::format("{:.0f}% of the global sectors are needed",
                    100.0 * double(sectors.ideal_sectors) / double(sectors.sectors)));
  }
  if (waves.requests > 0) {
    add(waves.conflicts() == 0
            ? std::string("shared memory has no bank conflict")
            : fmt::format("{:.1f}% of the shared wavefronts are conflicts",
                          100.0 * double(waves.conflicts()) / double(waves.wavefronts)));
  }
  const std::uint64_t diverged = counts.totals.divergent_branches;
  add(diverged == 0 ? std::string("no warp diverges")
                    : fmt::format("{} of {} branches diverge", format_count(diverged),
                                  format_count(counts.totals.branches)));
  return text;
}

}  // namespace tilescope::report
