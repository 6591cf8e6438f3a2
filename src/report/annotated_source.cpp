#include "report/annotated_source.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace tilescope::report {
namespace {

/// The longest run of lines without counts that is shown between counted ones.
constexpr std::uint32_t longest_gap = 6;
/// A line with this share of all instructions, sectors or wavefronts is hot.
constexpr double hot_share = 0.2;

UnitCounts units(const Counts& c) {
  UnitCounts sum = c.texture;
  sum += c.surface;
  sum += c.dshared_load;
  sum += c.dshared_store;
  sum += c.dshared_atomic;
  sum += c.dshared_async_reduction;
  return sum;
}
std::uint64_t sectors(const Counts& c) {
  return units(c).sectors + c.global_load.sectors + c.global_store.sectors +
         c.global_atomic.sectors + c.global_reduction.sectors + c.local_load.sectors +
         c.local_store.sectors + c.bulk_load.sectors + c.bulk_store.sectors +
         c.bulk_reduction.sectors;
}
std::uint64_t sector_requests(const Counts& c) {
  return units(c).requests + c.global_load.requests + c.global_store.requests +
         c.global_atomic.requests + c.global_reduction.requests + c.local_load.requests +
         c.local_store.requests + c.bulk_load.requests + c.bulk_store.requests +
         c.bulk_reduction.requests;
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

/// The columns that a launch fills.
std::vector<Column> columns_of(const LaunchCounts& launch) {
  const Counts& totals = launch.totals;
  std::vector<Column> columns{{"inst%", right, 5, "{instructions:.1f?}"}};
  if (sector_requests(totals) > 0) {
    columns.push_back({"sectors", right, 7, "{sectors:short?}"});
    columns.push_back({"/req", right, 4, "{per_request:.1f?}"});
  }
  if (wavefronts(totals) > 0) {
    columns.push_back({"waves", right, 5, "{waves:short?}"});
    columns.push_back({"ways", right, 4, "{ways?}"});
  }
  if (totals.divergent_branches > 0) {
    columns.push_back({"div%", right, 4, "{divergent:.0f?}"});
  }
  if (launch.is_estimate()) {
    for (std::size_t i = 1; i < columns.size(); ++i) {  // instructions are exact
      columns[i].title = "~" + columns[i].title;
    }
  }
  return columns;
}

/// The figures of a line; what did not happen there is left out.
Record figures_of(const Counts& c, const Counts& totals) {
  Record figures;
  const auto percent = [](std::uint64_t part, std::uint64_t all) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(all);
  };
  if (c.instructions > 0) {
    figures.set("instructions", percent(c.instructions, totals.instructions));
  }
  if (const std::uint64_t requests = sector_requests(c); requests > 0) {
    figures.set("sectors", sectors(c))
        .set("per_request", static_cast<double>(sectors(c)) / static_cast<double>(requests));
  }
  if (wavefronts(c) > 0) figures.set("waves", wavefronts(c)).set("ways", ways(c));
  if (c.divergent_branches > 0) {
    figures.set("divergent", percent(c.divergent_branches, c.branches));
  }
  return figures;
}

bool is_hot(const Counts& c, const Counts& totals) {
  return share_is_hot(c.instructions, totals.instructions) ||
         share_is_hot(sectors(c), sectors(totals)) ||
         share_is_hot(wavefronts(c), wavefronts(totals));
}

Listing listing_of(const std::string& file, const std::vector<const LineCounts*>& lines,
                   const LaunchCounts& launch, SourceTexts& sources) {
  const Counts& totals = launch.totals;
  constexpr std::uint32_t before = 2;  // lines that lead to the first counted line, such as the
                                       // head
  Listing listing{
      file.empty() ? "the PTX itself, which has no line table" : file, columns_of(launch), {}};
  std::uint32_t next = lines.front()->place.line > before ? lines.front()->place.line - before : 1;
  for (const LineCounts* counted : lines) {
    const std::uint32_t line = counted->place.line;
    if (line > next + longest_gap) {
      listing.lines.emplace_back();
      next = line - std::min(before, line - 1);
    }
    for (; next < line; ++next) {
      listing.lines.push_back({.number = next, .source = sources.line(file, next)});
    }
    listing.lines.push_back({.number = line,
                             .hot = is_hot(counted->counts, totals),
                             .figures = figures_of(counted->counts, totals),
                             .source = sources.line(file, line)});
    next = line + 1;
  }
  return listing;
}

}  // namespace

void add_annotated_source(Page& page, const LaunchCounts& counts, SourceTexts& sources) {
  // Kernels before the headers they use.
  const auto by_kind = [](const std::string& a, const std::string& b) {
    const bool header_a = is_header(a), header_b = is_header(b);
    return header_a != header_b ? header_b : a < b;
  };
  std::map<std::string, std::vector<const LineCounts*>, decltype(by_kind)> files(by_kind);
  for (const LineCounts& line : counts.lines) files[line.place.file].push_back(&line);
  for (auto& [name, lines] : files) {
    std::sort(lines.begin(), lines.end(), [](const LineCounts* a, const LineCounts* b) {
      return a->place.line < b->place.line;
    });
    if (&name != &files.begin()->first) page.gap();
    page.add(listing_of(name, lines, counts, sources));
  }
}

}  // namespace tilescope::report
