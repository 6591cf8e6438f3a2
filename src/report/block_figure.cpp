#include "report/block_figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/symbol_names.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {
namespace {

using observe::WarpSpan;
using observe::WarpState;

constexpr std::size_t most_tracks = 32, most_block_figures = 3;

TimeLine::Kind kind_of(WarpState state) {
  switch (state) {
    case WarpState::working:
      return TimeLine::Kind::busy;
    case WarpState::partly_idle:
      return TimeLine::Kind::diverged;
    case WarpState::waiting:
      return TimeLine::Kind::waiting;
    case WarpState::stuck:
      return TimeLine::Kind::stuck;
  }
  return TimeLine::Kind::busy;
}

/// Says what a span is, with the line of its barrier.
std::string words_of(const WarpSpan& span) {
  if (span.place.line == 0) return {};
  return fmt::format("waits at {}:{}", file_name(span.place.file), span.place.line);
}

bool is_smooth(const std::vector<std::vector<WarpSpan>>& warps) {
  return std::all_of(warps.begin(), warps.end(), [](const std::vector<WarpSpan>& warp) {
    return std::all_of(warp.begin(), warp.end(),
                       [](const WarpSpan& span) { return span.state == WarpState::working; });
  });
}

TimeLine block_figure(const std::string& kernel, const std::vector<std::vector<WarpSpan>>& warps) {
  TimeLine line{.title = fmt::format("Block (0,0,0) of {}: its warps between barriers",
                                     function_name(kernel)),
                .unit = "memory accesses and branches of a warp, as the emulator has no clock"};
  for (std::size_t warp = 0; warp < std::min(warps.size(), most_tracks); ++warp) {
    TimeLine::Track& track = line.tracks.emplace_back();
    track.name = fmt::format("warp {}", warp);
    for (const WarpSpan& span : warps[warp]) {
      track.spans.push_back({.begin = static_cast<double>(span.begin),
                             .end = static_cast<double>(span.end),
                             .kind = kind_of(span.state),
                             .words = words_of(span)});
      line.end = std::max(line.end, track.spans.back().end);
    }
  }
  return line;
}

}  // namespace

void add_block_figures(Page& page, const inspect::ExplainDetails& details) {
  std::size_t added = 0;
  for (const inspect::ExplainDetails::OfLaunch& launch : details.launches) {
    if (launch.blocks.empty() || added == most_block_figures) continue;
    const auto& warps = launch.blocks.front().warps;
    if (launch.blocks.front().linear != 0 || warps.empty() || is_smooth(warps)) continue;
    page.figures.emplace_back(block_figure(launch.counted.kernel, warps));
    ++added;
  }
}

}  // namespace tilescope::report
