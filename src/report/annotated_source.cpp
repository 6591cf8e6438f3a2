#include "report/annotated_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/counts_report.hpp"

namespace tilescope::report {
namespace {

using observe::Counts;
using observe::LaunchCounts;
using observe::LineCounts;

constexpr std::size_t columns = 80;
constexpr std::size_t source_column = 38;
/// Lines without counts between counted ones that are still shown.
constexpr std::uint32_t longest_gap = 6;
/// A line is hot when it has this share of all instructions, sectors or wavefronts.
constexpr double hot_share = 0.2;

std::uint64_t sectors(const Counts& c) {
  return c.global_load.sectors + c.global_store.sectors + c.global_atomic.sectors +
         c.global_reduction.sectors + c.local_load.sectors + c.local_store.sectors;
}
std::uint64_t sector_requests(const Counts& c) {
  return c.global_load.requests + c.global_store.requests + c.global_atomic.requests +
         c.global_reduction.requests + c.local_load.requests + c.local_store.requests;
}
std::uint64_t wavefronts(const Counts& c) {
  return c.shared_load.wavefronts + c.shared_store.wavefronts + c.shared_atomic.wavefronts +
         c.shared_async.wavefronts;
}
std::uint32_t ways(const Counts& c) {
  return std::max(
      {c.shared_load.ways, c.shared_store.ways, c.shared_atomic.ways, c.shared_async.ways});
}

bool share_is_hot(std::uint64_t part, std::uint64_t all) {
  return part > 0 && static_cast<double>(part) >= hot_share * static_cast<double>(all);
}

std::string row(char mark, std::uint32_t line, const std::string& figures,
                const std::string& source) {
  std::string text = fmt::format("{}{:>4} {:<31} {}", mark, line, figures,
                                 clipped(source, columns - source_column));
  while (text.back() == ' ') text.pop_back();
  return text + '\n';
}

std::string figures_of(const Counts& c, const Counts& totals) {
  const auto or_blank = [](std::uint64_t value, std::string text) {
    return value == 0 ? std::string() : std::move(text);
  };
  const double share = totals.instructions == 0 ? 0.0
                                                : 100.0 * static_cast<double>(c.instructions) /
                                                      static_cast<double>(totals.instructions);
  const std::uint64_t requests = sector_requests(c), waves = wavefronts(c);
  return fmt::format(
      "{:>5} {:>7} {:>5} {:>6} {:>4}", or_blank(c.instructions, fmt::format("{:.1f}", share)),
      or_blank(requests, short_count(sectors(c))),
      or_blank(requests, fmt::format("{:.1f}", requests == 0 ? 0.0
                                                             : static_cast<double>(sectors(c)) /
                                                                   static_cast<double>(requests))),
      or_blank(waves, short_count(waves)), or_blank(waves, fmt::format("{}", ways(c))));
}

class Listing {
 public:
  Listing(const Counts& totals, SourceTexts& sources) : totals_(totals), sources_(sources) {}

  std::string file(const std::string& name, const std::vector<const LineCounts*>& lines) {
    std::string text = fmt::format("{}\n{}\n", name.empty() ? "(PTX without line table)" : name,
                                   " line inst% sectors /req. waves. ways  source");
    constexpr std::uint32_t before = 2;  // what leads to the first counted line, such as the head
    std::uint32_t next =
        lines.front()->place.line > before ? lines.front()->place.line - before : 1;
    for (const LineCounts* counted : lines) {
      const std::uint32_t line = counted->place.line;
      if (line > next + longest_gap) {
        text += fmt::format("{:>5}\n", "...");
        next = line - std::min(before, line - 1);
      }
      for (; next < line; ++next) text += row(' ', next, "", sources_.line(name, next));
      const Counts& c = counted->counts;
      const bool hot = share_is_hot(c.instructions, totals_.instructions) ||
                       share_is_hot(sectors(c), sectors(totals_)) ||
                       share_is_hot(wavefronts(c), wavefronts(totals_));
      text += row(hot ? '>' : ' ', line, figures_of(c, totals_), sources_.line(name, line));
      next = line + 1;
    }
    return text;
  }

 private:
  const Counts& totals_;
  SourceTexts& sources_;
};

}  // namespace

std::string annotated_source(const LaunchCounts& counts, SourceTexts& sources) {
  std::map<std::string, std::vector<const LineCounts*>> files;
  for (const LineCounts& line : counts.lines) files[line.place.file].push_back(&line);
  Listing listing(counts.totals, sources);
  std::string text;
  for (auto& [name, lines] : files) {
    std::sort(lines.begin(), lines.end(), [](const LineCounts* a, const LineCounts* b) {
      return a->place.line < b->place.line;
    });
    if (!text.empty()) text += '\n';
    text += listing.file(name, lines);
  }
  return text;
}

}  // namespace tilescope::report
