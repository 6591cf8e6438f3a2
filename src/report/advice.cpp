#include "report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "inspect/results/explain_details.hpp"
#include "report/advice_rules.hpp"
#include "report/pipeline_report.hpp"

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
  for (const observe::InstructionCount& instruction : input.instructions) {
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

std::vector<Advice> advise_on_launch(const inspect::ExplainDetails::OfLaunch& details,
                                     SourceTexts& sources) {
  const observe::CountedLaunch& counted = details.counted;
  AdviceInput input{counted, counted.instructions, details.samples, sources, {}};
  for (const LaneSample& sample : details.samples) input.objects.insert(sample.object);
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

}  // namespace

std::string no_advice(const LaunchCounts& counts) {
  if (counts.totals.instructions == 0) return "none: no kernel was launched";
  const SectorCounts sectors = counts.totals.global();
  const WavefrontCounts waves = counts.totals.shared();
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

namespace tilescope {

// Advice that several launches give about a line appears once, with the figures of the first;
// launches that are a small part of the run are ignored.
std::vector<Advice> advise(const ExplainResult& result) {
  report::SourceTexts sources(result.sources);
  const auto total = static_cast<double>(result.counts.totals.instructions);
  std::vector<Advice> all;
  for (const inspect::ExplainDetails::OfLaunch& launch : result.details->launches) {
    const auto share = static_cast<double>(launch.counted.totals.instructions);
    if (share < report::least_share * total) continue;
    const std::size_t known = all.size();
    for (Advice& advice : report::advise_on_launch(launch, sources)) {
      const bool is_known = std::any_of(
          all.begin(), all.begin() + static_cast<std::ptrdiff_t>(known),
          [&](const auto& k) { return k.kind == advice.kind && k.place == advice.place; });
      if (!is_known) all.push_back(std::move(advice));
    }
  }
  report::advise_on_pipelines(result, all);
  return all;
}

}  // namespace tilescope
