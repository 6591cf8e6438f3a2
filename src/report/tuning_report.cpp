#include "report/tuning_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tilescope::report {
namespace {

// The plan in words, unless another candidate has the same.
std::string name_of(const TuneCandidate& candidate, const std::vector<TuneCandidate>& all) {
  if (candidate.note.empty()) return candidate.variant;
  const auto is_alike = [&](const TuneCandidate& other) {
    return other.variant == candidate.variant && other.note == candidate.note;
  };
  const bool is_unique = std::count_if(all.begin(), all.end(), is_alike) == 1;
  return candidate.variant + ' ' + (is_unique ? candidate.note : candidate.plan);
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

std::string_view verdict_text(const TuneCandidate& candidate) {
  if (candidate.chosen) return "chosen";
  if (candidate.verdict != TuneVerdict::ok) return verdict_name(candidate.verdict);
  return candidate.by_model ? "model's" : "";
}

std::string summary(const TuneReport& report) {
  const auto chosen = std::find_if(report.candidates.begin(), report.candidates.end(),
                                   [](const TuneCandidate& one) { return one.chosen; });
  if (chosen == report.candidates.end()) return "nothing is taken: no candidate was right";
  if (report.candidates.size() == 1) {
    return "nothing to choose from: no other variant computes this product here";
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
  return text;
}

Record report_record(const TuneReport& report) {
  const double model_ms = report.candidates.empty() ? 0.0 : report.candidates.front().time_ms;
  std::vector<Record> candidates;
  for (const TuneCandidate& candidate : report.candidates) {
    const bool is_timed = candidate.time_ms > 0.0 && model_ms > 0.0;
    candidates.push_back(
        Record{{"variant", candidate.variant},
               {"plan", candidate.plan},
               {"note", candidate.note},
               {"predicted_ms", known(candidate.predicted_ms)},
               {"time_ms", known(candidate.time_ms)},
               {"verdict", verdict_name(candidate.verdict)},
               {"reason", candidate.reason},
               {"by_model", candidate.by_model},
               {"chosen", candidate.chosen}}
            .let("name", name_of(candidate, report.candidates))
            .let("times_model", is_timed ? Value(model_ms / candidate.time_ms) : Value())
            .let("verdict_text", verdict_text(candidate)));
  }
  return {{"product", report.product}, {"file", report.file}, {"candidates", candidates}};
}

}  // namespace

void add_tuning(Page& page, const TuneReport& report) {
  const Record record = report_record(report);
  const auto& candidates = std::get<List>(record.find("candidates")->data);
  Table table{.columns = {{"candidate", left, 42, "{name}", 42},
                          {"predicted", right, 9, "{predicted_ms}"},
                          {"measured", right, 9, "{time_ms}"},
                          {"x model", right, 7, "{times_model:.3f}"},
                          {"verdict", left, 0, "{verdict_text}"}},
              .rows = {},
              .below = "{reason}"};
  for (const Value& candidate : candidates) table.rows.push_back(std::get<Record>(candidate.data));
  page.data.list("products").push_back(record);
  page.add(Text{report.product, 0, 2});
  page.add(std::move(table));
  page.add(Text{summary(report), 0, 2});
}

Page tuned_page(const std::vector<TunedMatmul>& products) {
  Page page("tune");
  List& tuned = page.data.list("tuned");
  if (products.empty()) page.say("nothing is tuned");
  std::string device;
  for (const TunedMatmul& product : products) {
    tuned.push_back(Record{{"product", product.product},
                           {"device", product.device},
                           {"variant", product.variant},
                           {"note", product.note},
                           {"time_ms", product.time_ms},
                           {"model", product.model},
                           {"model_time_ms", product.model_time_ms}});
    // A file's texts come from outside the program.
    if (product.device != device) page.add(Text{printable(product.device)});
    device = product.device;
    page.add(Text{printable(product.product), 2, 2});
    const std::string taken =
        product.note.empty() ? product.variant : product.variant + ' ' + product.note;
    page.add(Text{fmt::format("{}: {}; model's {}: {}", printable(taken),
                              text_of(known(product.time_ms), "time_ms"), printable(product.model),
                              text_of(known(product.model_time_ms), "time_ms")),
                  4, 2});
  }
  return page;
}

}  // namespace tilescope::report
