#include "report/annotated_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "report/counts_report.hpp"

namespace tilescope::report {
namespace {

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

constexpr std::string_view bold = "\033[1m", faint = "\033[2m", plain = "\033[0m";

/// The columns that a launch fills.
struct Columns {
  explicit Columns(const Counts& totals)
      : memory(sector_requests(totals) > 0),
        shared(wavefronts(totals) > 0),
        divergence(totals.divergent_branches > 0) {}

  std::string head() const {
    return std::string(" line inst%") + (memory ? " sectors /req" : "") +
           (shared ? " waves ways" : "") + (divergence ? " div%" : "");
  }
  std::string figures(const Counts& c, const Counts& totals) const {
    std::string text = c.instructions == 0
                           ? fmt::format(" {:>5}", "")
                           : fmt::format(" {:>5.1f}", 100.0 * static_cast<double>(c.instructions) /
                                                          static_cast<double>(totals.instructions));
    if (memory) {
      const std::uint64_t requests = sector_requests(c);
      text += requests == 0
                  ? fmt::format(" {:>7} {:>4}", "", "")
                  : fmt::format(" {:>7} {:>4.1f}", short_count(sectors(c)),
                                static_cast<double>(sectors(c)) / static_cast<double>(requests));
    }
    if (shared) {
      text += wavefronts(c) == 0 ? fmt::format(" {:>5} {:>4}", "", "")
                                 : fmt::format(" {:>5} {:>4}", short_count(wavefronts(c)), ways(c));
    }
    if (divergence) {
      text += c.divergent_branches == 0
                  ? fmt::format(" {:>4}", "")
                  : fmt::format(" {:>4.0f}", 100.0 * static_cast<double>(c.divergent_branches) /
                                                 static_cast<double>(c.branches));
    }
    return text;
  }
  bool memory, shared, divergence;
};

class Listing {
 public:
  Listing(const Counts& totals, SourceTexts& sources, const PageStyle& style)
      : totals_(totals), sources_(sources), style_(style), columns_(totals) {}

  std::string file(const std::string& name, const std::vector<const LineCounts*>& lines) {
    const std::string head = columns_.head();
    std::string text =
        fmt::format("{}\n{}\n", name.empty() ? "the PTX itself, which has no line table" : name,
                    coloured(faint, head + "  source"));
    blank_ = std::string(head.size() - 5, ' ');
    constexpr std::uint32_t before = 2;  // what leads to the first counted line, such as the head
    std::uint32_t next =
        lines.front()->place.line > before ? lines.front()->place.line - before : 1;
    for (const LineCounts* counted : lines) {
      const std::uint32_t line = counted->place.line;
      if (line > next + longest_gap) {
        text += fmt::format("{:>5}\n", "...");
        next = line - std::min(before, line - 1);
      }
      for (; next < line; ++next) text += row(' ', next, blank_, sources_.line(name, next));
      const Counts& c = counted->counts;
      const bool hot = share_is_hot(c.instructions, totals_.instructions) ||
                       share_is_hot(sectors(c), sectors(totals_)) ||
                       share_is_hot(wavefronts(c), wavefronts(totals_));
      text += row(hot ? '>' : ' ', line, columns_.figures(c, totals_), sources_.line(name, line));
      next = line + 1;
    }
    return text;
  }

 private:
  std::string coloured(std::string_view colour, const std::string& text) const {
    return style_.colour ? fmt::format("{}{}{}", colour, text, plain) : text;
  }
  std::string row(char mark, std::uint32_t line, const std::string& figures,
                  const std::string& source) const {
    const std::string left = fmt::format("{}{:>4}{}  ", mark, line, figures);
    std::string text = left + clipped(source, style_.columns - left.size());
    while (text.back() == ' ') text.pop_back();
    return (mark == '>' ? coloured(bold, text) : text) + '\n';
  }

  const Counts& totals_;
  SourceTexts& sources_;
  PageStyle style_;
  Columns columns_;
  std::string blank_;
};

bool is_header(std::string_view name) {
  return name.ends_with(".cuh") || name.ends_with(".h") || name.ends_with(".hpp");
}

}  // namespace

std::string annotated_source(const LaunchCounts& counts, SourceTexts& sources,
                             const PageStyle& style) {
  // Kernels before the headers they use.
  const auto by_kind = [](const std::string& a, const std::string& b) {
    const bool header_a = is_header(a), header_b = is_header(b);
    return header_a != header_b ? header_b : a < b;
  };
  std::map<std::string, std::vector<const LineCounts*>, decltype(by_kind)> files(by_kind);
  for (const LineCounts& line : counts.lines) files[line.place.file].push_back(&line);
  Listing listing(counts.totals, sources, style);
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
