#include "report/access_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gpu/coalescing.hpp"
#include "report/lane_pattern.hpp"
#include "report/lanes_report.hpp"

namespace tilescope::report {
namespace {

using emulator::Space;
using observe::LaneSample;
using OfLaunch = inspect::ExplainDetails::OfLaunch;

constexpr std::size_t most_figures = 6, most_calm_figures = 2, most_frames = 8;

struct Candidate {
  const OfLaunch* launch = nullptr;
  const LaneSample* sample = nullptr;
  std::uint32_t waste() const { return sample->cost - sample->ideal; }
};

bool is_same_access(const LaneSample& a, const LaneSample& b) {
  return a.place == b.place && a.object == b.object && a.kind == b.kind && a.space == b.space;
}

/// One for each access in the source; unrolled copies of one are one.
std::vector<Candidate> candidates_of(const inspect::ExplainDetails& details, std::uint32_t line) {
  std::vector<Candidate> all;
  for (const OfLaunch& launch : details.launches) {
    for (const LaneSample& sample : launch.samples) {
      if (line != 0 && sample.place.line != line) continue;
      const auto same = std::find_if(all.begin(), all.end(), [&](const Candidate& c) {
        return is_same_access(*c.sample, sample);
      });
      if (same == all.end()) {
        all.push_back({&launch, &sample});
      } else if (sample.cost - sample.ideal > same->waste()) {
        *same = {&launch, &sample};
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.waste() != b.waste() ? a.waste() > b.waste() : a.sample->cost > b.sample->cost;
  });
  const bool is_calm = all.empty() || all.front().waste() == 0;
  if (!is_calm && line == 0) {
    std::erase_if(all, [](const Candidate& c) { return c.waste() == 0; });
  }
  all.resize(std::min(all.size(), is_calm && line == 0 ? most_calm_figures : most_figures));
  return all;
}

std::string cost_words(const LaneSample& sample) {
  const Record record{{"cost", sample.cost}, {"ideal", sample.ideal}, {"ways", sample.ways}};
  if (sample.space != Space::shared) return record.fill("{cost} sector{cost:s}, ideal {ideal}");
  return record.fill(
      sample.cost > sample.ideal
          ? "{cost} turns of shared memory instead of {ideal}: {ways}-way bank conflict"
          : "{cost} turn{cost:s} of shared memory, no conflict");
}

WarpAccess::Frame frame_of(const LaneSample& sample, std::string_view which) {
  const Dim3& b = sample.block_index;
  WarpAccess::Frame frame{.caption = fmt::format("{}warp {} of block ({},{},{}): {}", which,
                                                 sample.warp, b.x, b.y, b.z, cost_words(sample)),
                          .mask = sample.mask,
                          .cost = sample.cost,
                          .ideal = sample.ideal};
  const bool from_object = sample.space == Space::global && !sample.object.empty();
  for (int lane = 0; lane < static_cast<int>(emulator::kWarpSize); ++lane) {
    const std::uint64_t address = sample.addresses[static_cast<std::size_t>(lane)];
    frame.bytes[static_cast<std::size_t>(lane)] =
        static_cast<std::int64_t>(sample.space == Space::local ? gpu::local_address(address, lane)
                                  : from_object                ? address - sample.object_base
                                                               : address);
  }
  return frame;
}

/// Whether the lanes of both form the same picture: in shared memory their banks count, elsewhere
/// their sectors.
bool looks_the_same(const LaneSample& a, const LaneSample& b) {
  if (a.mask != b.mask || a.cost != b.cost || a.bytes != b.bytes) return false;
  const std::uint64_t period = a.space == Space::shared ? 128 : gpu::kSectorBytes;
  const auto first = static_cast<std::size_t>(std::countr_zero(a.mask));
  if (a.addresses[first] % period != b.addresses[first] % period) return false;
  for (std::size_t lane = first; lane < a.addresses.size(); ++lane) {
    if ((a.mask >> lane & 1U) == 0) continue;
    if (a.addresses[lane] - a.addresses[first] != b.addresses[lane] - b.addresses[first]) {
      return false;
    }
  }
  return true;
}

/// The rounds of the sample's access, unrolled copies included; neighbours that look the same are
/// one frame.
void add_rounds(WarpAccess& access, const std::vector<LaneSample>& rounds, const LaneSample& of) {
  std::vector<const LaneSample*> own;
  for (const LaneSample& round : rounds) {
    if (is_same_access(round, of)) own.push_back(&round);
  }
  for (std::size_t i = 0; i < own.size() && access.frames.size() < most_frames;) {
    std::size_t end = i + 1;
    while (end < own.size() && looks_the_same(*own[i], *own[end])) ++end;
    const bool is_known = own.size() == end - i && looks_the_same(*own[i], of);
    const std::string which = end - i == 1 ? fmt::format("round {}, ", i + 1)
                                           : fmt::format("rounds {} to {}, ", i + 1, end);
    if (!is_known) access.frames.push_back(frame_of(*own[i], which));
    i = end;
  }
}

/// The access after the cure: rows padded, or neighbouring lanes at neighbouring elements.
std::optional<LaneSample> cured(const LaneSample& sample, const Dim3& block) {
  LaneSample better = sample;
  if (sample.space == Space::shared) {
    const auto pattern = lane_pattern(sample, block);
    const auto padding = pattern ? curing_padding(sample, block, *pattern) : std::nullopt;
    if (!padding) return std::nullopt;
    better.addresses = padding->addresses;
    better.cost = better.ideal;
    better.ways = 1;
    return better;
  }
  if (sample.space != Space::global) return std::nullopt;
  std::uint64_t next = sample.object_base / gpu::kSectorBytes * gpu::kSectorBytes;
  for (std::size_t lane = 0; lane < better.addresses.size(); ++lane) {
    if ((sample.mask >> lane & 1U) == 0) continue;
    better.addresses[lane] = next;
    next += sample.bytes;
  }
  const gpu::Sectors sectors =
      gpu::coalesce(better.addresses.data(), better.mask, static_cast<int>(better.bytes));
  better.cost = sectors.sectors;
  if (better.cost >= sample.cost) return std::nullopt;
  return better;
}

WarpAccess warp_access(const Candidate& candidate, const std::vector<Advice>& advice,
                       SourceTexts& sources) {
  const LaneSample& sample = *candidate.sample;
  const SourcePlace& place = sample.place;
  WarpAccess access{
      .place = fmt::format("{}:{}", place.file.empty() ? "PTX" : file_name(place.file), place.line),
      .source = sources.line(place.file, place.line),
      .what = fmt::format("{} {} of {} byte{} a lane{}{}", to_string(sample.space),
                          kind_words(sample.kind), sample.bytes, sample.bytes == 1 ? "" : "s",
                          sample.object.empty() ? "" : " in ", sample.object),
      .shared = sample.space == Space::shared,
      .each_lane = sample.use == gpu::SharedUse::atomic,
      .width = sample.bytes,
      .frames = {frame_of(sample, "")}};
  add_rounds(access, candidate.launch->rounds, sample);
  if (candidate.waste() == 0) return access;
  for (const Advice& piece : advice) {
    const bool fits = access.shared == (piece.kind == AdviceKind::bank_conflict);
    if (piece.place == place && fits) access.cure = piece.message;
  }
  if (const auto better = cured(sample, candidate.launch->counted.block)) {
    access.cured.push_back(frame_of(*better, "Cured, "));
  }
  return access;
}

}  // namespace

void add_access_figures(Page& page, const inspect::ExplainDetails& details,
                        const std::vector<Advice>& advice, std::uint32_t line,
                        SourceTexts& sources) {
  for (const Candidate& candidate : candidates_of(details, line)) {
    page.figures.emplace_back(warp_access(candidate, advice, sources));
  }
}

}  // namespace tilescope::report
