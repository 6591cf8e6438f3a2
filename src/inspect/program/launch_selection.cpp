#include "inspect/program/launch_selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/parse_number.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

/// "3", "1-3" or "5-"; false if it is none of these.
bool read_numbers(std::string_view text, LaunchRange& range) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number<std::uint64_t>(text.substr(0, dash));
  if (!first) return false;
  range.first = range.last = *first;
  if (dash == std::string_view::npos) return true;
  range.last = UINT64_MAX;
  if (dash + 1 == text.size()) return true;
  const auto last = parse_number<std::uint64_t>(text.substr(dash + 1));
  if (!last || *last < *first) return false;
  range.last = *last;
  return true;
}

LaunchRange parse_range(std::string_view text) {
  LaunchRange range;
  const char begin = text.empty() ? '\0' : text.front();
  if (begin >= '0' && begin <= '9') {
    if (read_numbers(text, range)) return range;
  } else if (!text.empty() && begin != '-' && begin != ':') {
    const std::size_t colon = text.rfind(':');
    if (colon != std::string_view::npos && read_numbers(text.substr(colon + 1), range)) {
      range.kernel = text.substr(0, colon);
    } else {
      range.kernel = text;
    }
    if (!range.kernel.ends_with(':')) return range;
  }
  throw usage_error(
      "launches {}: expected numbers from 0, kernels, or both, such as 0, 2-5, 7-, scale, scale:2",
      quoted(std::string(text)));
}

/// The name of a kernel's source without namespaces and template arguments.
std::string_view plain_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  const std::size_t colons = kernel.rfind("::");
  return colons == std::string_view::npos ? kernel : kernel.substr(colons + 2);
}

bool is_called(std::string_view kernel, std::string_view name) {
  return kernel == name || kernel.substr(0, kernel.find('<')) == name || plain_name(kernel) == name;
}

bool contains(const LaunchRange& range, std::uint64_t number, std::string_view kernel,
              std::uint64_t of_kernel) {
  if (!range.kernel.empty() && !is_called(kernel, range.kernel)) return false;
  const std::uint64_t counted = range.kernel.empty() ? number : of_kernel;
  return counted >= range.first && counted <= range.last;
}

}  // namespace

std::vector<LaunchRange> parse_launch_ranges(std::string_view text) {
  std::vector<LaunchRange> ranges;
  for (const std::string_view piece : split_outside_brackets(text)) {
    ranges.push_back(parse_range(piece));
  }
  return ranges;
}

std::string to_string(const LaunchRange& range) {
  const bool all = range.first == 0 && range.last == UINT64_MAX;
  if (all && !range.kernel.empty()) return range.kernel;
  std::string numbers = fmt::format("{}", range.first);
  if (range.last == UINT64_MAX) {
    numbers += '-';
  } else if (range.last != range.first) {
    numbers += fmt::format("-{}", range.last);
  }
  return range.kernel.empty() ? numbers : range.kernel + ":" + numbers;
}

namespace inspect {

bool selects(const std::vector<LaunchRange>& ranges, std::uint64_t number, std::string_view kernel,
             std::uint64_t of_kernel) {
  return ranges.empty() || std::ranges::any_of(ranges, [&](const LaunchRange& range) {
           return contains(range, number, kernel, of_kernel);
         });
}

std::string absent_launches(const std::vector<LaunchRange>& ranges,
                            const std::vector<ProgramLaunch>& launches) {
  for (const LaunchRange& range : ranges) {
    std::map<std::string, std::uint64_t> of_kernel;
    std::uint64_t number = 0;
    const bool any = std::ranges::any_of(launches, [&](const ProgramLaunch& launch) {
      return contains(range, number++, launch.kernel, of_kernel[launch.kernel]++);
    });
    if (any) continue;
    std::string kernels;
    for (const auto& [kernel, count] : of_kernel) {
      kernels += fmt::format("{}{} ({})", kernels.empty() ? "" : ", ", kernel, count);
    }
    return fmt::format("no launch {}: the program has {} launches, numbered from 0{}",
                       to_string(range), launches.size(),
                       kernels.empty() ? "" : "; of its kernels: " + kernels);
  }
  return {};
}

void require_selected(const Inspection& result) {
  if (result.program && !result.program->absent.empty()) {
    throw Error(ErrorKind::usage, result.program->absent);
  }
}

}  // namespace inspect
}  // namespace tilescope
