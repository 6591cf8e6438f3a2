#include "cli/distributed_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tilescope/error.hpp>
#include <tilescope/matmul.hpp>

#include "base/errors.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/show.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/problem_options.hpp"
#include "ranks/agreement.hpp"
#include "ranks/ladder/measured_ladder.hpp"
#include "ranks/ladder/program_run.hpp"
#include "report/distributed_report.hpp"

namespace tilescope::cli {
namespace {

using ranks::DistributedRung;
using ranks::DistributedRungInfo;

constexpr int most_ranks = 1024;

std::vector<DistributedRungInfo> rungs_named(const std::vector<std::string>& variants) {
  const auto all = ranks::distributed_rungs();
  std::vector<std::string_view> names;
  for (const DistributedRungInfo& rung : all) names.push_back(rung.name);
  for (const std::string& variant : variants) {
    if (std::find(names.begin(), names.end(), variant) != names.end()) continue;
    const std::string_view near = nearest(variant, names);
    throw usage_error("--variant {}: distributed has no such rung{}", printable(variant, 40),
                      near.empty() ? "; tilescope ladder distributed --list shows them"
                                   : fmt::format(", did you mean {}?", near));
  }
  std::vector<DistributedRungInfo> chosen;
  for (const DistributedRungInfo& rung : all) {
    if (variants.empty() ||
        std::find(variants.begin(), variants.end(), rung.name) != variants.end()) {
      chosen.push_back(rung);
    }
  }
  return chosen;
}

MatmulShape shape_of(const ProblemOptions& problem, std::int64_t by_default) {
  constexpr std::int64_t most = std::int64_t{1} << 24U;
  const std::int64_t side =
      operations::option_in_range("--size", problem.size, by_default, 0, most);
  return {operations::option_in_range("--rows", problem.rows, side, 0, most),
          operations::option_in_range("--columns", problem.columns, side, 0, most),
          operations::option_in_range("--inner", problem.inner, side, 0, most)};
}

/// All ranks of the launcher climb; the first one shows the page.
int measure(const ranks::Launcher& launcher, const ProblemOptions& problem,
            const std::vector<std::string>& variants, int samples, const Outputs& outputs) {
  const ranks::Session session(launcher);
  const ranks::Group all = session.all();
  const bool is_first = all.rank() == 0;
  try {
    std::vector<DistributedRungInfo> rungs;
    MatmulShape shape;
    ranks::together(session, [&] {
      rungs = rungs_named(variants);
      constexpr std::int64_t by_default = 2048;
      shape = shape_of(problem, by_default);
      for (const auto& [rows, columns] :
           {std::pair{shape.m, shape.k}, {shape.k, shape.n}, {shape.m, shape.n}}) {
        operations::require_elements(rows, columns);
      }
      if (problem.precision && *problem.precision != "fp32") {
        throw usage_error("--precision {}: ranks climb this ladder in fp32",
                          printable(*problem.precision, 20));
      }
      if (all.size() > most_ranks) {
        throw usage_error("{} ranks: at most {}", all.size(), most_ranks);
      }
    });
    std::vector<DistributedRung> wanted;
    for (const DistributedRungInfo& rung : rungs) wanted.push_back(rung.rung);
    const auto measured = ranks::measure_rungs(session, shape, wanted, samples, problem.seed);
    const std::vector<char> leads = all.gather(static_cast<char>(all.split_by_host().rank() == 0));
    if (!is_first) return 0;
    const auto hosts = static_cast<int>(std::count(leads.begin(), leads.end(), 1));
    std::vector<report::DistributedResult> results;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      results.push_back({.info = rungs[i],
                         .layout = measured[i].layout,
                         .model = measured[i].model,
                         .played = measured[i].predicted,
                         .measured = measured[i],
                         .is_right = measured[i].is_right});
    }
    const ranks::NetworkModel& links = measured.front().model;
    show(report::distributed_page(
             {.shape = shape,
              .ranks = all.size(),
              .hosts = hosts,
              .precision = "fp32",
              .where = fmt::format("CPUs of {} host{} by {};\nlinks measured: {:.3g} us and {:.3g} "
                                   "GB/s a message",
                                   hosts, hosts == 1 ? "" : "s", session.library(),
                                   links.latency_s * 1e6, links.bytes_per_second * 1e-9),
              .samples = samples},
             results, {}),
         outputs);
    const bool wrong = std::any_of(results.begin(), results.end(),
                                   [](const auto& result) { return !result.is_right; });
    return wrong ? static_cast<int>(ErrorKind::wrong_result) : 0;
  } catch (const ranks::AgreedError&) {
    if (is_first) throw;
    return 0;  // the first has yet to say why
  }
}

/// The same on a model of the network.
class PlayedLadder {
 public:
  PlayedLadder(const ProblemOptions& problem, const std::vector<std::string>& variants,
               const DistributedOptions& options)
      : options_(options), rungs_(rungs_named(variants)) {
    constexpr std::int64_t by_default = 262'144;
    shape_ = shape_of(problem, by_default);
    precision_ = parse_precision(problem.precision.value_or("bf16"));
    model_ = {
        .latency_s = options.latency_us * 1e-6,
        .bytes_per_second = options.link_gbps * 1e9,
        .flops_per_second = options.tflops * 1e12,
        .element_bytes = static_cast<std::int64_t>(size_of(operations::operand_type(precision_)))};
    seed_ = problem.seed;
  }

  int run(const Outputs& outputs) {
    ProgressLine progress("playing");
    std::uint64_t done = 0;
    const int verified_ranks = std::min(options_.ranks, most_verified_ranks);
    std::vector<report::DistributedResult> results;
    std::vector<report::ScalingPoint> scaling;
    for (std::size_t i = 0; i < rungs_.size(); ++i) {
      const DistributedRung rung = rungs_[i].rung;
      results.push_back({.info = rungs_[i],
                         .layout = ranks::layout_of(rung, shape_, options_.ranks),
                         .model = model_,
                         .is_right = is_right(rung, verified_ranks)});
      report::DistributedResult& result = results.back();
      result.played = ranks::play_rung(rung, result.layout, model_);
      progress.update(++done);
      for (int ranks = 1; ranks < options_.ranks; ranks *= 4) {
        scaling.push_back(
            {i, ranks, efficiency(rung, shape_, ranks), efficiency(rung, smaller(ranks), ranks)});
      }
      const double whole = result.played.efficiency();
      scaling.push_back({i, options_.ranks, whole, whole});
    }
    progress.erase();
    show(report::distributed_page(
             {.shape = shape_,
              .ranks = options_.ranks,
              .precision = std::string(name_of(precision_)),
              .where = fmt::format("a model: {:g} TFLOP/s each, links\nof {:g} GB/s each way, {:g} "
                                   "us a message",
                                   options_.tflops, options_.link_gbps, options_.latency_us),
              .verified_ranks = verified_ranks},
             results, scaling),
         outputs);
    const bool wrong = std::any_of(results.begin(), results.end(),
                                   [](const auto& result) { return !result.is_right; });
    return wrong ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

 private:
  static constexpr int most_verified_ranks = 64;

  bool is_right(DistributedRung rung, int ranks) const {
    constexpr MatmulShape small{67, 71, 131};  // which nothing divides
    return ranks::run_in_one_process(rung, ranks::layout_of(rung, small, ranks), seed_);
  }

  double efficiency(DistributedRung rung, const MatmulShape& shape, int ranks) const {
    return ranks::play_rung(rung, ranks::layout_of(rung, shape, ranks), model_).efficiency();
  }

  /// The product whose matrices take as much memory on each of `ranks` ranks.
  MatmulShape smaller(int ranks) const {
    const double factor = std::sqrt(static_cast<double>(ranks) / options_.ranks);
    const auto scaled = [&](std::int64_t extent) {
      return static_cast<std::int64_t>(std::llround(static_cast<double>(extent) * factor));
    };
    return {scaled(shape_.m), scaled(shape_.n), scaled(shape_.k)};
  }

  const DistributedOptions& options_;
  std::vector<DistributedRungInfo> rungs_;
  MatmulShape shape_;
  Precision precision_ = Precision::bf16;
  ranks::NetworkModel model_;
  std::uint64_t seed_ = 0;
};

}  // namespace

void DistributedOptions::declare(const Options& add) {
  add("--ranks N", ranks, "distributed, played: how many ranks", shown, within(1, most_ranks));
  add("--link GB/s", link_gbps, "distributed, played: GB/s of a rank's link, each way", shown,
      positive);
  add("--latency us", latency_us, "distributed, played: microseconds of a message", shown,
      positive);
  add("--rate TFLOP/s", tflops, "distributed, played: TFLOP/s of a rank's products", shown,
      positive);
}

int climb_distributed(const ProblemOptions& problem, const std::vector<std::string>& variants,
                      int samples, const DistributedOptions& options, const Outputs& outputs) {
  if (const auto launcher = ranks::find_launcher()) {
    return measure(*launcher, problem, variants, samples, outputs);
  }
  return PlayedLadder(problem, variants, options).run(outputs);
}

}  // namespace tilescope::cli
