#include "report/tuning_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

constexpr std::size_t candidate_width = 42;
constexpr int text_columns = 78;

std::string time_text(double ms) {
  return ms > 0.0 ? format_duration(ms * 1e-3) : "-";
}

// By the plan in words, unless that fits another candidate too.
std::string name_of(const TuneCandidate& candidate, const std::vector<TuneCandidate>& all) {
  if (candidate.note.empty()) return candidate.variant;
  const auto is_alike = [&](const TuneCandidate& other) {
    return other.variant == candidate.variant && other.note == candidate.note;
  };
  const bool is_unique = std::count_if(all.begin(), all.end(), is_alike) == 1;
  return candidate.variant + ' ' + (is_unique ? candidate.note : candidate.plan);
}

std::string_view verdict_text(const TuneCandidate& candidate) {
  if (candidate.chosen) return "chosen";
  switch (candidate.verdict) {
    case TuneVerdict::ok:
      return candidate.by_model ? "model's" : "";
    case TuneVerdict::slower:
      return "slower";
    case TuneVerdict::wrong:
      return "wrong";
    case TuneVerdict::failed:
      break;
  }
  return "failed";
}

std::string_view verdict_name(TuneVerdict verdict) {
  switch (verdict) {
    case TuneVerdict::ok:
      return "ok";
    case TuneVerdict::slower:
      return "slower";
    case TuneVerdict::wrong:
      return "wrong";
    case TuneVerdict::failed:
      break;
  }
  return "failed";
}

// A name of any length before columns at fixed places.
std::string named_row(const std::string& name, const std::string& rest) {
  std::string lines = hang(name, 2, candidate_width);
  const std::size_t last = lines.rfind('\n') == std::string::npos ? 0 : lines.rfind('\n') + 1;
  const std::size_t length = lines.size() - last;
  lines.append(candidate_width > length ? candidate_width - length : 0, ' ');
  return lines + ' ' + rest + '\n';
}

std::string summary(const TuneReport& report) {
  const auto chosen = std::find_if(report.candidates.begin(), report.candidates.end(),
                                   [](const TuneCandidate& one) { return one.chosen; });
  if (chosen == report.candidates.end()) return "nothing is taken: no candidate was right\n";
  if (report.candidates.size() == 1) {
    return "nothing to choose from: no other variant computes this product here\n";
  }
  const TuneCandidate& model = report.candidates.front();
  std::string text;
  if (chosen->by_model) {
    text = "the model's choice stays";
  } else if (model.time_ms > 0.0) {
    text =
        fmt::format("{:.3f} times as fast as the model's choice", model.time_ms / chosen->time_ms);
  } else {
    text = "the model's choice is not right";
  }
  text += report.file.empty() ? "; not kept" : "; kept in " + report.file;
  return hang(text, 2, text_columns) + '\n';
}

}  // namespace

std::string tuning_table(const TuneReport& report) {
  const double model_ms = report.candidates.empty() ? 0.0 : report.candidates.front().time_ms;
  std::string text = hang(report.product, 2, text_columns) + '\n';
  text += fmt::format("{:<{}} {:>9} {:>9} {:>7} {}\n", "candidate", candidate_width, "predicted",
                      "measured", "x model", "verdict");
  for (const TuneCandidate& candidate : report.candidates) {
    const bool is_timed = candidate.time_ms > 0.0 && model_ms > 0.0;
    text +=
        named_row(name_of(candidate, report.candidates),
                  fmt::format("{:>9} {:>9} {:>7} {}", time_text(candidate.predicted_ms),
                              time_text(candidate.time_ms),
                              is_timed ? fmt::format("{:.3f}", model_ms / candidate.time_ms) : "-",
                              verdict_text(candidate)));
    if (!candidate.reason.empty())
      text += "  " + hang(candidate.reason, 2, text_columns - 2) + '\n';
  }
  return text + summary(report);
}

nlohmann::json tuning_json(const TuneReport& report) {
  nlohmann::json candidates = nlohmann::json::array();
  for (const TuneCandidate& candidate : report.candidates) {
    const auto or_null = [](double ms) { return ms > 0.0 ? nlohmann::json(ms) : nlohmann::json(); };
    candidates.push_back({{"variant", candidate.variant},
                          {"plan", candidate.plan},
                          {"note", candidate.note},
                          {"predicted_ms", or_null(candidate.predicted_ms)},
                          {"time_ms", or_null(candidate.time_ms)},
                          {"verdict", verdict_name(candidate.verdict)},
                          {"reason", candidate.reason},
                          {"by_model", candidate.by_model},
                          {"chosen", candidate.chosen}});
  }
  return {
      {"product", report.product}, {"file", report.file}, {"candidates", std::move(candidates)}};
}

std::string tuned_list(const std::vector<TunedMatmul>& products) {
  if (products.empty()) return "nothing is tuned\n";
  std::string text, device;
  for (const TunedMatmul& product : products) {
    // A file's words may be anybody's.
    if (product.device != device) text += printable(product.device) + '\n';
    device = product.device;
    text += "  " + hang(printable(product.product), 4, text_columns - 2) + '\n';
    const std::string taken =
        product.note.empty() ? product.variant : product.variant + ' ' + product.note;
    text += "    " +
            hang(fmt::format("{}: {}; model's {}: {}", printable(taken), time_text(product.time_ms),
                             printable(product.model), time_text(product.model_time_ms)),
                 6, text_columns - 4) +
            '\n';
  }
  return text;
}

nlohmann::json tuned_json(const std::vector<TunedMatmul>& products) {
  nlohmann::json all = nlohmann::json::array();
  for (const TunedMatmul& product : products) {
    all.push_back({{"product", product.product},
                   {"device", product.device},
                   {"variant", product.variant},
                   {"note", product.note},
                   {"time_ms", product.time_ms},
                   {"model", product.model},
                   {"model_time_ms", product.model_time_ms}});
  }
  return all;
}

}  // namespace tilescope::report
