#include "report/histogram_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

/// "a-d", or the lower end of a bin; of integers, its first.
std::string bin_text(const HistogramResult& result, const Bins& bins, DataType type,
                     std::size_t bin) {
  if (bins.letters) {
    const char first = static_cast<char>('a' + 4 * bin);
    return fmt::format("{}-{}", first, static_cast<char>(std::min<int>(first + 3, 'z')));
  }
  const double width = (result.upper - result.lower) / static_cast<double>(result.counts.size());
  const double lower = result.lower + width * static_cast<double>(bin);
  return is_floating(type) ? fmt::format("{:.6g}", lower) : fmt::format("{:.0f}", std::ceil(lower));
}

}  // namespace

void add_histogram(Page& page, const HistogramResult& result, const Bins& bins, DataType type) {
  constexpr std::size_t most_rows = 32;
  const std::vector<std::uint64_t>& counts = result.counts;
  std::vector<std::size_t> shown(counts.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() > most_rows) {
    std::stable_sort(shown.begin(), shown.end(),
                     [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    shown.resize(most_rows);
  }
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  Table table{.columns = {{bins.letters ? "letters" : "from", right, 12, "{from}"},
                          {"count", right, 15, "{count}"},
                          {"", left, 0, "{share:bar40}"}},
              .rows = {}};
  for (const std::size_t bin : shown) {
    const auto count = static_cast<double>(counts[bin]);
    table.rows.push_back({{"from", bin_text(result, bins, type, bin)},
                          {"count", counts[bin]},
                          {"share", most > 0.0 ? count / most : 0.0}});
  }
  page.add(std::move(table));
  if (counts.size() > most_rows) {
    page.add(Text{fmt::format("the fullest {} of {} bins; --json or -o has all", most_rows,
                              format_count(counts.size()))});
  }
}

}  // namespace tilescope::report
