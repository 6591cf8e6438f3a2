#include "report/transfer_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

using measure::Direction;
using measure::HostMemory;
using measure::LinkRate;
using measure::PipelineResult;

constexpr std::pair<HostMemory, Direction> rate_columns[] = {
    {HostMemory::pageable, Direction::to_device},
    {HostMemory::pageable, Direction::to_host},
    {HostMemory::pinned, Direction::to_device},
    {HostMemory::pinned, Direction::to_host},
    {HostMemory::pinned, Direction::both}};

double rate_of(const std::vector<LinkRate>& rates, std::size_t bytes,
               const std::pair<HostMemory, Direction>& column) {
  for (const LinkRate& rate : rates) {
    if (rate.bytes == bytes && rate.memory == column.first && rate.direction == column.second) {
      return rate.bytes_per_second();
    }
  }
  return 0.0;
}

}  // namespace

std::string link_table(const std::vector<LinkRate>& rates) {
  std::vector<std::size_t> sizes;
  double best = 0.0;
  for (const LinkRate& rate : rates) {
    if (sizes.empty() || sizes.back() != rate.bytes) sizes.push_back(rate.bytes);
    best = std::max(best, rate.bytes_per_second());
  }
  std::string text =
      fmt::format("{:>9}  {:^19}  {:^30}\n{:>9}  {:>9} {:>9}  {:>9} {:>9} {:>10}\n", "GB/s",
                  "pageable", "pinned", "size", "up", "down", "up", "down", "both");
  constexpr double bar_width = 16.0;
  for (const std::size_t size : sizes) {
    text += fmt::format("{:>9} ", format_bytes(size));
    for (const auto& column : rate_columns) {
      const double rate = rate_of(rates, size, column);
      text += fmt::format(" {:>9}", rate > 0.0 ? fmt::format("{:.2f}", rate * 1e-9) : "-");
    }
    const double drawn = rate_of(rates, size, rate_columns[2]);
    text += "  " + std::string(best > 0.0 ? std::lround(bar_width * drawn / best) : 0, '#') + '\n';
  }
  return text;
}

nlohmann::json link_json(const std::vector<LinkRate>& rates) {
  nlohmann::json list = nlohmann::json::array();
  for (const LinkRate& rate : rates) {
    list.push_back({{"memory", measure::name_of(rate.memory)},
                    {"direction", measure::name_of(rate.direction)},
                    {"bytes", rate.bytes},
                    {"median_ms", rate.median_ms},
                    {"bytes_per_second", rate.bytes_per_second()}});
  }
  return list;
}

std::string pipeline_table(const std::vector<PipelineResult>& results) {
  std::string text = fmt::format("{:<14} {:>10} {:>9} {:>8} {:>9}\n", "form", "time", "x longest",
                                 "overlap", "link GB/s");
  for (const PipelineResult& r : results) {
    text += fmt::format("{:<14} {:>10} {:>9.3f} {:>7.0f}% {:>9.1f}\n", transfer::name_of(r.form),
                        format_duration(r.total_ms * 1e-3), r.total_ms / r.longest_engine_ms(),
                        100.0 * r.overlap(), (r.bytes_in + r.bytes_out) / r.total_ms * 1e-6);
  }
  return text;
}

std::string timeline(const PipelineResult& result, int width) {
  std::string rows[transfer::engine_count];
  for (std::string& row : rows) row.assign(static_cast<std::size_t>(width), '.');
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    const auto column = [&](double time) {
      return static_cast<std::size_t>(
          std::clamp(std::floor(time / result.total_ms * width), 0.0, double(width)));
    };
    const std::size_t from = column(result.intervals[i].start);
    const std::size_t to = std::max(from + 1, column(result.intervals[i].end));
    std::string& row = rows[static_cast<int>(result.tasks[i].engine)];
    for (std::size_t x = from; x < std::min<std::size_t>(to, row.size()); ++x) {
      row[x] = static_cast<char>('0' + result.tasks[i].segment % 10);
    }
  }
  std::string text;
  for (int engine = 0; engine < transfer::engine_count; ++engine) {
    text += fmt::format("  {:<8} {}\n", transfer::name_of(static_cast<transfer::Engine>(engine)),
                        rows[engine]);
  }
  return text;
}

nlohmann::json pipeline_json(const std::vector<PipelineResult>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const PipelineResult& r : results) {
    nlohmann::json tasks = nlohmann::json::array();
    for (std::size_t i = 0; i < r.tasks.size(); ++i) {
      tasks.push_back({{"engine", transfer::name_of(r.tasks[i].engine)},
                       {"segment", r.tasks[i].segment},
                       {"stream", r.tasks[i].stream},
                       {"start_ms", r.intervals[i].start},
                       {"end_ms", r.intervals[i].end}});
    }
    list.push_back({{"form", transfer::name_of(r.form)},
                    {"total_ms", r.total_ms},
                    {"longest_engine_ms", r.longest_engine_ms()},
                    {"overlap", r.overlap()},
                    {"bytes_in", r.bytes_in},
                    {"bytes_out", r.bytes_out},
                    {"tasks", std::move(tasks)}});
  }
  return list;
}

}  // namespace tilescope::report
