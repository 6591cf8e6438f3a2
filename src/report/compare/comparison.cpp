#include "report/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.hpp"

namespace tilescope::report {
namespace {

double counter_in(const Counters& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found == counters.end() ? 0.0 : found->second;
}

double distance(const Move& move) {
  return std::abs(move.after - move.before);
}

/// How far both sides' counters may be off, where one is an estimate.
struct Uncertainty {
  bool is_estimate = false;
  const Counters &before, &after;  ///< half-widths of intervals

  /// Whether chance may have made the difference. Ratios of estimates have no interval.
  bool explains(const Move& move) const {
    if (!is_estimate) return false;
    const auto is_whole = [](double value) { return std::trunc(value) == value; };
    if (!is_whole(move.before) || !is_whole(move.after)) return true;
    const double one = counter_in(before, move.counter), other = counter_in(after, move.counter);
    return distance(move) <= std::sqrt(one * one + other * other);
  }
};

std::vector<Move> moves_between(const Counters& before, const Counters& after,
                                const Uncertainty& uncertainty) {
  std::vector<Move> moves;
  Counters all = after;
  all.insert(before.begin(), before.end());
  const bool is_of_both = !before.empty() && !after.empty();
  for (const auto& [name, unused] : all) {
    // Some counters have no estimate.
    if (uncertainty.is_estimate && is_of_both && before.contains(name) != after.contains(name)) {
      continue;
    }
    Move move{name, counter_in(before, name), counter_in(after, name)};
    if (move.before != move.after && !uncertainty.explains(move)) moves.push_back(std::move(move));
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return distance(a) > distance(b); });
  return moves;
}

/// For each line of `after` that of `before`, or null.
std::vector<const SnapshotLine*> partners(const Snapshot& before, const Snapshot& after) {
  using Text = std::tuple<std::string, std::string>;
  std::map<Text, std::vector<const SnapshotLine*>> by_text;
  std::map<std::pair<std::string, std::uint64_t>, const SnapshotLine*> by_number;
  const auto text_key = [](const SnapshotLine& line) {
    return Text(line.file, std::string(trim(line.source)));
  };
  for (const SnapshotLine& line : before.lines) {
    by_text[text_key(line)].push_back(&line);
    by_number[{line.file, line.line}] = &line;
  }
  std::vector<const SnapshotLine*> found(after.lines.size(), nullptr);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto same = by_text.find(text_key(after.lines[i]));
    if (same == by_text.end() || same->second.empty()) continue;
    found[i] = same->second.front();
    same->second.erase(same->second.begin());
    by_number.erase({found[i]->file, found[i]->line});
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto same = by_number.find({after.lines[i].file, after.lines[i].line});
    if (found[i] != nullptr || same == by_number.end()) continue;
    found[i] = same->second;
    by_number.erase(same);
  }
  return found;
}

std::vector<LineMoves> line_moves(const Snapshot& before, const Snapshot& after) {
  std::vector<LineMoves> lines;
  const auto add = [&](const SnapshotLine* old, const SnapshotLine* present) {
    static const SnapshotLine none;
    const SnapshotLine &one = old ? *old : none, &other = present ? *present : none;
    LineMoves line{
        old, present,
        moves_between(one.counters, other.counters,
                      {before.is_estimate || after.is_estimate, one.spread, other.spread})};
    if (!line.moves.empty()) lines.push_back(std::move(line));
  };
  const std::vector<const SnapshotLine*> found = partners(before, after);
  for (std::size_t i = 0; i < found.size(); ++i) add(found[i], &after.lines[i]);
  for (const SnapshotLine& line : before.lines) {
    if (std::find(found.begin(), found.end(), &line) == found.end()) add(&line, nullptr);
  }
  return lines;
}

/// The findings of `some` that are not in `others`.
std::vector<const SnapshotFinding*> without(const std::vector<SnapshotFinding>& some,
                                            const std::vector<SnapshotFinding>& others) {
  std::map<std::string, int> known;
  for (const SnapshotFinding& finding : others) ++known[finding.key()];
  std::vector<const SnapshotFinding*> left;
  for (const SnapshotFinding& finding : some) {
    if (--known[finding.key()] < 0) left.push_back(&finding);
  }
  return left;
}

}  // namespace

bool Comparison::same() const {
  return totals.empty() && kernels.empty() && new_kernels.empty() && gone_kernels.empty() &&
         lines.empty() && new_findings.empty() && gone_findings.empty();
}

const LineMoves* Comparison::most_moved(const std::string& counter) const {
  const LineMoves* most = nullptr;
  double farthest = 0.0;
  for (const LineMoves& line : lines) {
    for (const Move& move : line.moves) {
      if (move.counter != counter || distance(move) <= farthest) continue;
      most = &line;
      farthest = distance(move);
    }
  }
  return most;
}

Comparison compare(const Snapshot& before, const Snapshot& after) {
  Comparison result;
  // A kernel's counts are off by no more than those of all kernels together.
  const Uncertainty of_totals{before.is_estimate || after.is_estimate, before.spread, after.spread};
  result.totals = moves_between(before.totals, after.totals, of_totals);
  for (const auto& [name, counters] : after.kernels) {
    const auto old = before.kernels.find(name);
    if (old == before.kernels.end()) {
      result.new_kernels.push_back(name);
    } else if (auto moves = moves_between(old->second, counters, of_totals); !moves.empty()) {
      result.kernels[name] = std::move(moves);
    }
  }
  for (const auto& [name, counters] : before.kernels) {
    if (!after.kernels.contains(name)) result.gone_kernels.push_back(name);
  }
  result.lines = line_moves(before, after);
  result.new_findings = without(after.findings, before.findings);
  result.gone_findings = without(before.findings, after.findings);
  return result;
}

}  // namespace tilescope::report
