#include "report/budget_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "report/compare_report.hpp"
#include "report/json/json_renderer.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

std::pair<std::string, double> tolerance_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::vector<std::string_view> names = counter_names();
  double percent = -1.0;
  if (equals != std::string::npos && text.ends_with('%')) {
    const char* const end = text.data() + text.size() - 1;
    const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, percent);
    if (error != std::errc() || stop != end) percent = -1.0;
  }
  if (!(percent >= 0.0) || std::find(names.begin(), names.end(), name) == names.end()) {
    throw usage_error(
        "--tolerance {}: expected a counter of explain --json and a share, such as "
        "instructions=5%",
        quoted(text));
  }
  return {name, percent / 100.0};
}

/// Less of these is worse.
bool is_better_when_larger(std::string_view counter) {
  return counter == "occupancy_share" || counter == "blocks_per_sm" || counter == "warps_per_sm";
}

/// More of these costs nothing by itself: occupancy tells whether it does.
bool is_free(std::string_view counter) {
  return counter == "registers_per_thread" || counter == "static_shared_bytes" ||
         counter == "dynamic_shared_bytes";
}

/// The line with the most of a counter; null if none has any.
const SnapshotLine* most_in(const Snapshot& shot, const std::string& counter) {
  const SnapshotLine* most = nullptr;
  double largest = 0.0;
  for (const SnapshotLine& line : shot.lines) {
    const auto found = line.counters.find(counter);
    if (found == line.counters.end() || found->second <= largest) continue;
    most = &line;
    largest = found->second;
  }
  return most;
}

AnnotatedPlace place_of_line(const SnapshotLine& line) {
  return {.file = line.file, .line = static_cast<std::uint32_t>(line.line), .source = line.source};
}

std::string line_name(const SnapshotLine& line) {
  return fmt::format("{}:{}", line.file.empty() ? "PTX" : line.file, line.line);
}

/// "; most in k.cu:12 (0 -> 992)"
std::string in_words(const LineMoves* line, const std::string& counter) {
  if (line == nullptr) return {};
  for (const Move& move : line->moves) {
    if (move.counter != counter) continue;
    return fmt::format("; moved most in {} ({} -> {})", line_name(line->line()),
                       counter_text(move.before), counter_text(move.after));
  }
  return {};
}

}  // namespace

/// The outcome of one budget.
struct Budget::Verdict {
  std::string name;     ///< the assertion, or "baseline FILE"
  std::string reason;   ///< why it fails; empty: it holds
  Value value, before;  ///< of an assertion
  std::optional<AnnotatedPlace> place = {};
};

Budget::Budget(const BudgetWishes& wishes) {
  for (const std::string& text : wishes.assertions) assertions_.emplace_back(text);
  for (const std::string& text : wishes.tolerances) tolerances_.insert(tolerance_of(text));
  if (!tolerances_.empty() && wishes.baseline.empty()) {
    throw usage_error("--tolerance is about a --baseline, and none is given");
  }
  if (wishes.baseline.empty()) return;
  baseline_ = read_snapshot(wishes.baseline);
  if (!baseline_->complete) {
    throw input_error("{}: its run was cut short, which is no baseline", baseline_->origin);
  }
  if (baseline_->is_estimate) {
    throw input_error("{}: it has estimates of --blocks, and a baseline needs exact counts",
                      baseline_->origin);
  }
}

bool Budget::exceeds(const Move& move) const {
  if (is_free(move.counter)) return false;
  const auto found = tolerances_.find(move.counter);
  const double allowed = found == tolerances_.end() ? 0.0 : found->second * std::abs(move.before);
  const double growth = move.after - move.before;
  return (is_better_when_larger(move.counter) ? -growth : growth) > allowed;
}

void Budget::require_same_run(const Snapshot& now) const {
  const Snapshot& then = *baseline_;
  const auto differ = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    throw usage_error("--baseline {}: its {} is {}, that of this run is {}", then.origin, what, a,
                      b);
  };
  differ("command", then.command, now.command);
  differ("target", then.target, now.target);
  differ("device", then.device, now.device);
}

Budget::Verdict Budget::judge(const Assertion& assertion, const Snapshot& now,
                              const Comparison* moved) const {
  const Assertion::Result is = assertion.evaluate(now);
  Verdict verdict{assertion.text(), is.reason, is.reason.empty() ? Value(is.value) : Value(), {}};
  if (!is.reason.empty()) return verdict;
  std::string was;
  if (baseline_) {
    if (const Assertion::Result then = assertion.evaluate(*baseline_); then.reason.empty()) {
      verdict.before = then.value;
      was = ", was " + counter_text(then.value);
    }
  }
  if (is.holds) return verdict;
  verdict.reason = fmt::format("it is {}{}", counter_text(is.value), was);
  const LineMoves* const line = moved ? moved->most_moved(assertion.counter()) : nullptr;
  if (line != nullptr) {
    verdict.reason += in_words(line, assertion.counter());
    verdict.place = place_of_line(line->line());
  } else if (const SnapshotLine* most = most_in(now, assertion.counter())) {
    verdict.place = place_of_line(*most);
    if (!assertion.is_of_line()) {
      verdict.reason += fmt::format("; most in {} ({})", line_name(*most),
                                    counter_text(most->counters.at(assertion.counter())));
    }
  }
  return verdict;
}

Budget::Verdict Budget::judge_counters(const Comparison& moved) const {
  Verdict verdict{"baseline " + baseline_->origin, {}, {}, {}};
  std::vector<Move> grown;
  for (const Move& move : moved.totals) {
    if (exceeds(move)) grown.push_back(move);
  }
  for (const auto& [kernel, moves] : moved.kernels) {
    for (const Move& move : moves) {
      const bool is_known = std::any_of(grown.begin(), grown.end(), [&](const Move& other) {
        return other.counter == move.counter;
      });
      if (exceeds(move) && !is_known) grown.push_back(move);
    }
  }
  for (const std::string& kernel : moved.new_kernels) {
    verdict.reason += (verdict.reason.empty() ? "" : "; ") + ("kernel " + kernel + " is new");
  }
  for (const std::string& kernel : moved.gone_kernels) {
    verdict.reason += (verdict.reason.empty() ? "" : "; ") + ("kernel " + kernel + " did not run");
  }
  constexpr std::size_t most_named = 5;
  for (std::size_t i = 0; i < std::min(grown.size(), most_named); ++i) {
    const LineMoves* const line = moved.most_moved(grown[i].counter);
    if (line != nullptr && !verdict.place) verdict.place = place_of_line(line->line());
    verdict.reason += (verdict.reason.empty() ? "" : "; ") + move_text(grown[i]);
    if (i == 0) verdict.reason += in_words(line, grown[i].counter);
  }
  if (grown.size() > most_named) {
    verdict.reason += fmt::format("; {} more", grown.size() - most_named);
  }
  return verdict;
}

Budget::Verdict Budget::judge_findings(Page& page, const Comparison& moved) {
  // The annotations of check are its findings, in the same order.
  std::map<std::string, int> fresh;
  for (const SnapshotFinding* finding : moved.new_findings) ++fresh[finding->message];
  Verdict verdict{"baseline", {}, {}, {}};
  std::size_t failing = 0;
  for (Annotation& annotation : page.outcome.annotations) {
    const bool is_new = std::any_of(fresh.begin(), fresh.end(), [&](auto& entry) {
      return entry.second > 0 && annotation.message.starts_with(entry.first) && entry.second-- > 0;
    });
    annotation.fails = annotation.fails && is_new;
    failing += annotation.fails ? 1 : 0;
  }
  if (failing > 0) verdict.reason = counted(failing, "new finding");
  return verdict;
}

void Budget::judge(Page& page) const {
  if (assertions_.empty() && !baseline_) return;
  const Snapshot now = snapshot_of(json_of(page), "this run");
  if (baseline_) require_same_run(now);
  const std::optional<Comparison> moved =
      baseline_ ? std::optional(compare(*baseline_, now)) : std::nullopt;
  std::vector<Verdict> verdicts;
  for (const Assertion& assertion : assertions_) {
    verdicts.push_back(judge(assertion, now, moved ? &*moved : nullptr));
  }
  if (baseline_) {
    verdicts.push_back(now.command == "check" ? judge_findings(page, *moved)
                                              : judge_counters(*moved));
    verdicts.back().name = "baseline " + baseline_->origin;
  }
  if (!page.outcome.broken.empty() || !now.complete) {
    const std::string why =
        page.outcome.broken.empty() ? "the run was cut short" : page.outcome.broken;
    for (Verdict& verdict : verdicts) {
      if (verdict.reason.empty()) verdict.reason = why;
    }
  }
  page.gap();
  page.head("budgets");
  List list;
  std::size_t failing = 0;
  for (const Verdict& verdict : verdicts) {
    const bool holds = verdict.reason.empty();
    page.add(Text{fmt::format("{} {}{}{}", holds ? "holds" : "FAILS", verdict.name,
                              holds ? "" : ": ", verdict.reason),
                  2, 6});
    list.push_back(Record{{"budget", verdict.name},
                          {"holds", holds},
                          {"value", verdict.value},
                          {"value_before", verdict.before},
                          {"reason", or_null(verdict.reason)}});
    page.outcome.cases.push_back(verdict.name);
    if (holds) continue;
    ++failing;
    page.outcome.annotations.push_back(
        {.severity = "error",
         .fails = true,
         .kind = "budget",
         .rule = "Counts stay within the budgets that the project gives.",
         .test_case = verdict.name,
         .message = verdict.name + ": " + verdict.reason,
         .places = {verdict.place.value_or(AnnotatedPlace{})}});
  }
  page.data.set("budgets", std::move(list));
  page.add(Text{failing == 0 ? fmt::format("{} hold{}; {}", counted(verdicts.size(), "budget"),
                                           verdicts.size() == 1 ? "s" : "", page.outcome.foot)
                             : fmt::format("{} of {} failed; {}", failing,
                                           counted(verdicts.size(), "budget"), page.outcome.foot)});
}

}  // namespace tilescope::report
