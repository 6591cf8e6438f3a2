#include "contest_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.hpp"

namespace tilescope::products {
namespace {

bool is_timed(const Result& result) {
  return !result.samples_ms.empty();
}

std::string text_of(const NamedProduct& product) {
  const MatmulShape& s = product.shape;
  std::string text = fmt::format("{}x{}x{}", s.m, s.n, s.k);
  if (product.batch > 1) text += fmt::format("*{}", product.batch);
  if (product.form != Form{}) text += ' ' + text_of(product.form);
  return text;
}

// With few operations for each byte the memory's rate is the one to show.
std::string rate_text(const NamedProduct& product, Precision precision, double ms) {
  const MatmulShape& s = product.shape;
  const auto batch = static_cast<double>(product.batch);
  const auto area = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y);
  };
  const double bytes = static_cast<double>(size_of(operations::operand_type(precision))) *
                       (area(s.m, s.k) + area(s.k, s.n) + area(s.m, s.n));
  constexpr double memory_bound_intensity = 10.0;
  if (s.flops() < memory_bound_intensity * bytes)
    return format_rate(batch * bytes / ms * 1e3, "B/s");
  return format_fixed(batch * s.flops() / ms * 1e-9, 1) + " TFLOP/s";
}

// The least time among those for which `which` is true; null without one.
template <typename Which>
const Result* fastest(const std::vector<Result>& results, const Which& which) {
  const Result* best = nullptr;
  for (const Result& result : results) {
    if (!is_timed(result) || !which(result)) continue;
    if (best == nullptr || result.median_ms() < best->median_ms()) best = &result;
  }
  return best;
}

std::string plan_text(const Result& result) {
  return result.variant + (result.note.empty() ? "" : ' ' + result.note);
}

double geometric_mean(const std::vector<double>& values) {
  double logarithms = 0.0;
  for (const double value : values) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(values.size()));
}

nlohmann::json head_of(const NamedProduct& product, Precision precision) {
  return {{"m", product.shape.m},           {"n", product.shape.n}, {"k", product.shape.k},
          {"batch", product.batch},         {"set", product.set},   {"form", text_of(product.form)},
          {"precision", name_of(precision)}};
}

}  // namespace

void ContestTable::print_head() const {
  if (all_plans_) {
    fmt::print("chosen plan, and the fastest one; ms, ratio to cuBLAS\n");
  } else {
    fmt::print("{:<17} {:<9} {:<19} {:>9} {:>14} {:>6}\n", "shape", "precision", "variant", "ms",
               "rate", "ratio");
  }
}

void ContestTable::add(const NamedProduct& product, Precision precision,
                       const std::vector<Result>& results) {
  const auto is_peer = [](const Result& one) { return one.is_peer && !one.is_less_accurate; };
  const auto is_ours = [](const Result& one) { return !one.is_peer; };
  const Result* const peer = fastest(results, is_peer);
  const Result* const best = fastest(results, is_ours);
  const auto ratio_of = [&](const Result& result) {
    return peer && is_timed(result) ? peer->median_ms() / result.median_ms() : 0.0;
  };
  const std::string title = fmt::format("{} {}", name_of(precision), product.set);
  for (const Result& result : results) {
    has_wrong_ = has_wrong_ || (result.wrong && !result.is_peer);
    if (!all_plans_ || result.wrong || (!is_timed(result) && result.dispatched)) {
      print_row(product, precision, result, ratio_of(result));
    }
    if (!all_plans_) add_row(product, precision, result, ratio_of(result));
    if (!result.dispatched || ratio_of(result) == 0.0) continue;
    const std::string text = text_of(product);
    ratios_[title + ", dispatched"].push_back({ratio_of(result), text, plan_text(result)});
    NamedProduct by_rows = product;
    by_rows.form.a_transposed = by_rows.form.b_transposed = false;
    by_layout_[title][text_of(by_rows)][layout_of(product.form)] = ratio_of(result);
    if (best == nullptr || (best == &result && !all_plans_)) continue;
    ratios_[title + ", fastest variant"].push_back({ratio_of(*best), text, plan_text(*best)});
    if (!all_plans_) continue;
    ratios_[title + ", dispatched beside the fastest plan"].push_back(
        {best->median_ms() / result.median_ms(), text, plan_text(*best)});
    for (const Result* one : {&result, best}) {
      fmt::print("{:<30} {:<5} {:>9.4f} {:>6.3f} {}\n", one == &result ? text : "",
                 one == &result ? name_of(precision) : "", one->median_ms(), ratio_of(*one),
                 plan_text(*one));
    }
  }
  if (all_plans_) add_plans(product, precision, results);
  std::fflush(stdout);
}

void ContestTable::print_row(const NamedProduct& product, Precision precision, const Result& result,
                             double ratio) {
  std::string row = fmt::format("{:<17} {:<9} {:<19} ", text_of(product), name_of(precision),
                                result.variant + (result.dispatched ? "*" : ""));
  if (!result.trouble.empty()) {
    const std::string plan = result.wrong && !result.note.empty() ? " (" + result.note + ")" : "";
    fmt::print("{}{}{}{}\n", row, result.wrong ? "WRONG: " : "- ", result.trouble, plan);
    return;
  }
  if (!is_timed(result)) {
    row += "verified, not timed";
  } else {
    const double ms = result.median_ms();
    row += fmt::format("{:>9.4f} {:>14} {:>6}", ms, rate_text(product, precision, ms),
                       ratio > 0.0 ? fmt::format("{:.3f}", ratio) : "-");
  }
  fmt::print("{}\n  error / sum|a||b|: largest {:.2e}, mean {:.2e}; {} runs{}\n", row,
             result.accuracy.largest, result.accuracy.mean, result.samples_ms.size(),
             result.note.empty() ? "" : "; " + result.note);
}

void ContestTable::add_row(const NamedProduct& product, Precision precision, const Result& result,
                           double ratio) {
  nlohmann::json row = head_of(product, precision);
  row.update({{"data", data_},
              {"variant", result.variant},
              {"peer", result.is_peer},
              {"dispatched", result.dispatched},
              {"trouble", result.trouble},
              {"wrong", result.wrong},
              {"note", result.note},
              {"checked", result.accuracy.checked},
              {"largest_error", result.accuracy.largest},
              {"mean_error", result.accuracy.mean}});
  if (is_timed(result)) {
    row["ms"] = result.median_ms();
    row["samples_ms"] = result.samples_ms;
    const double flops = static_cast<double>(product.batch) * product.shape.flops();
    row["flops_per_second"] = flops / result.median_ms() * 1e3;
    row["ratio"] = ratio;
  }
  rows_.push_back(std::move(row));
}

// One row of a contest, with its plans in a list.
void ContestTable::add_plans(const NamedProduct& product, Precision precision,
                             const std::vector<Result>& results) {
  nlohmann::json row = head_of(product, precision), plans = nlohmann::json::array();
  for (const Result& result : results) {
    if (result.is_peer && is_timed(result)) row["cublas_ms"] = result.median_ms();
    if (result.is_peer) continue;
    nlohmann::json plan{
        {"variant", result.variant}, {"plan", result.plan}, {"cycles", result.cycles}};
    if (!result.features.empty()) plan["features"] = result.features;
    if (is_timed(result)) {
      plan["ms"] = result.median_ms();
    } else {
      plan["trouble"] = result.trouble;
    }
    plans.push_back(std::move(plan));
  }
  row["plans"] = std::move(plans);
  rows_.push_back(std::move(row));
}

void ContestTable::print_summary(const std::string& title, std::vector<Ratio> ratios) {
  constexpr double par = 0.95;
  constexpr std::size_t shown = 10;
  std::sort(ratios.begin(), ratios.end(),
            [](const Ratio& one, const Ratio& other) { return one.value < other.value; });
  std::vector<double> values;
  for (const Ratio& ratio : ratios) values.push_back(ratio.value);
  const auto below = std::lower_bound(values.begin(), values.end(), par) - values.begin();
  fmt::print("{}: geometric mean {:.3f} of {}, least {:.3f} ({}), {:.0f}% below {}\n", title,
             geometric_mean(values), values.size(), values.front(), ratios.front().product,
             100.0 * static_cast<double>(below) / static_cast<double>(values.size()), par);
  if (ratios.size() <= shown) return;
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("  {:.3f} {}: {}\n", ratios[i].value, ratios[i].product, ratios[i].plan);
  }
}

void ContestTable::print_summaries() const {
  for (const auto& [title, ratios] : ratios_) print_summary(title, ratios);
}

void ContestTable::print_layouts() const {
  for (const auto& [title, products] : by_layout_) {
    std::array<std::vector<double>, layouts> ratios;
    for (const auto& [product, of_layouts] : products) {
      if (std::find(of_layouts.begin(), of_layouts.end(), 0.0) != of_layouts.end()) continue;
      for (std::size_t i = 0; i < layouts; ++i) ratios[i].push_back(of_layouts[i]);
    }
    if (ratios[0].empty()) {
      fmt::print("{}: no product has a ratio in all orders\n", title);
      continue;
    }
    fmt::print("{}, {} products in all orders:", title, ratios[0].size());
    const double by_rows = geometric_mean(ratios[0]);
    for (std::size_t i = 0; i < layouts; ++i) {
      const double mean = geometric_mean(ratios[i]);
      fmt::print(" {} {:.3f} ({:.3f} of NN)", name_of_layout(i), mean, mean / by_rows);
    }
    fmt::print("\n");
  }
}

}  // namespace tilescope::products
