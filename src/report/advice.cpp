#include "report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/format.hpp"
#include "report/lane_pattern.hpp"

namespace tilescope::report {
namespace {

using emulator::AccessKind;
using emulator::Space;
using observe::Counts;
using observe::InstructionCount;
using observe::LaneSample;
using observe::LaunchCounts;

constexpr double least_share = 0.02;

bool is_load(AccessKind kind) {
  return kind == AccessKind::load || kind == AccessKind::async_load ||
         kind == AccessKind::matrix_load;
}

std::string_view verb(AccessKind kind) {
  if (is_load(kind)) return "load";
  return kind == AccessKind::atomic || kind == AccessKind::reduction ? "atomic" : "store";
}

observe::SectorCounts global_sectors(const Counts& c) {
  observe::SectorCounts sum = c.global_load;
  sum += c.global_store;
  sum += c.global_atomic;
  sum += c.global_reduction;
  return sum;
}

observe::WavefrontCounts wavefronts(const Counts& c) {
  observe::WavefrontCounts sum = c.shared_load;
  sum += c.shared_store;
  sum += c.shared_atomic;
  sum += c.shared_async;
  return sum;
}

std::string bytes_text(std::int64_t bytes) {
  return fmt::format("{} byte{}", format_count(bytes), bytes == 1 ? "" : "s");
}

class Adviser {
 public:
  Adviser(const LaunchCounts& counts, const std::vector<LaneSample>& samples, const Dim3& block,
          SourceTexts& sources)
      : counts_(counts), samples_(samples), block_(block), sources_(sources) {}

  std::vector<Advice> advise() {
    for (const InstructionCount& instruction : counts_.instructions) {
      const LaneSample* sample = sample_of(instruction.id);
      if (sample == nullptr) continue;
      if (sample->space == Space::shared) {
        conflict(instruction, *sample);
      } else if (sample->space == Space::global) {
        sectors(instruction, *sample);
      }
    }
    for (const observe::LineCounts& line : counts_.lines) divergence(line);
    std::stable_sort(advice_.begin(), advice_.end(),
                     [](const Advice& a, const Advice& b) { return a.weight > b.weight; });
    // Unrolled copies of one line say the same thing.
    std::vector<Advice> different;
    for (Advice& a : advice_) {
      const auto same = std::find_if(different.begin(), different.end(), [&](const Advice& d) {
        return d.kind == a.kind && d.place == a.place;
      });
      if (same == different.end()) different.push_back(std::move(a));
    }
    return different;
  }

 private:
  const LaneSample* sample_of(emulator::InstructionId id) const {
    const auto at = std::lower_bound(
        samples_.begin(), samples_.end(), id,
        [](const LaneSample& s, emulator::InstructionId wanted) { return s.instruction < wanted; });
    return at != samples_.end() && at->instruction == id ? &*at : nullptr;
  }

  /// "the load of A[row * k + i]", or as much of it as is known.
  std::string access_name(const LaneSample& sample) const {
    const std::string written =
        quoted_access(sources_.line(sample.place.file, sample.place.line), sample.object);
    if (!written.empty()) return fmt::format("the {} of {}", verb(sample.kind), written);
    if (!sample.object.empty())
      return fmt::format("the {} of {}", verb(sample.kind), sample.object);
    return fmt::format("the {}", verb(sample.kind));
  }

  /// Which component of threadIdx moves the address by how much.
  static std::string steps_text(const LanePattern& pattern) {
    constexpr char names[] = {'x', 'y', 'z'};
    std::string text;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!pattern.step[axis]) continue;
      text += fmt::format("{}threadIdx.{} moves the address by {}", text.empty() ? "" : ", ",
                          names[axis], bytes_text(*pattern.step[axis]));
    }
    return text;
  }

  void sectors(const InstructionCount& instruction, const LaneSample& sample) {
    const observe::SectorCounts own = global_sectors(instruction.counts);
    const observe::SectorCounts all = global_sectors(counts_.totals);
    if (own.requests == 0 || own.excessive() == 0) return;
    const double share = double(own.excessive()) / double(all.sectors);
    if (share < least_share || own.sectors * 4 < own.ideal_sectors * 5) return;
    const std::string figures =
        fmt::format("{:.1f} sectors a request where {:.1f} would do", own.per_request(),
                    double(own.ideal_sectors) / double(own.requests));
    const std::optional<LanePattern> pattern = lane_pattern(sample, block_);
    std::string message = fmt::format("{} takes {}", access_name(sample), figures);
    AdviceKind kind = AdviceKind::uncoalesced;
    if (!pattern) {
      message +=
          ": the addresses of a warp follow no fixed step (a gather); sort the accesses, or "
          "stage the data in shared memory";
    } else {
      const auto width = static_cast<std::int64_t>(sample.bytes);
      const std::int64_t x = pattern->step[0].value_or(0);
      message += fmt::format(": {}", steps_text(*pattern));
      if (pattern->step[0] && std::abs(x) > width) {
        message += fmt::format(
            ", so that neighbouring threads lie {} apart; let threadIdx.x be the index with factor "
            "1, or stage the data in shared memory",
            bytes_text(std::abs(x)));
      } else if (std::abs(x) == width) {
        kind = AdviceKind::misaligned_rows;
        message +=
            "; the threads of a row are neighbours, but a row begins off the start of a "
            "32-byte sector or is shorter than one: use wider blocks, or align the rows";
      }
    }
    add(kind, instruction.place, std::move(message), share);
  }

  void conflict(const InstructionCount& instruction, const LaneSample& sample) {
    const observe::WavefrontCounts own = wavefronts(instruction.counts);
    const observe::WavefrontCounts all = wavefronts(counts_.totals);
    if (own.conflicts() == 0 || all.wavefronts == 0) return;
    const double share = double(own.conflicts()) / double(all.wavefronts);
    if (share < least_share) return;
    std::string message =
        fmt::format("{} has {}-way bank conflicts ({} of {} wavefronts)", access_name(sample),
                    own.ways, format_count(own.conflicts()), format_count(own.wavefronts));
    if (verb(sample.kind) == "atomic") {
      message +=
          ": threads of a warp that change the same word take turns; give each warp, or each "
          "thread, a copy of its own";
    } else if (const auto pattern = lane_pattern(sample, block_)) {
      message += ": " + steps_text(*pattern);
      if (const auto padding = curing_padding(sample, block_, *pattern)) {
        message += fmt::format(
            "; rows of {} elements instead of {} (one column{} of padding) are "
            "free of them",
            padding->row_elements + padding->elements, padding->row_elements,
            padding->elements == 1 ? "" : "s");
      }
    } else {
      message += ": the words that a warp wants lie in few of the 32 banks";
    }
    add(AdviceKind::bank_conflict, instruction.place, std::move(message), share);
  }

  void divergence(const observe::LineCounts& line) {
    const Counts& c = line.counts;
    if (c.divergent_branches == 0 || c.branches == 0) return;
    add(AdviceKind::divergence, line.place,
        fmt::format("{} of {} branches of warps diverge here ({:.1f}%): both ways run one after "
                    "the other",
                    format_count(c.divergent_branches), format_count(c.branches),
                    100.0 * double(c.divergent_branches) / double(c.branches)),
        double(c.instructions) / double(std::max<std::uint64_t>(counts_.totals.instructions, 1)) *
            double(c.divergent_branches) / double(c.branches));
  }

  void add(AdviceKind kind, const observe::SourcePlace& place, std::string message, double weight) {
    if (!message.empty()) {
      message.front() =
          static_cast<char>(std::toupper(static_cast<unsigned char>(message.front())));
    }
    advice_.push_back({kind, place, std::move(message), weight});
  }

  const LaunchCounts& counts_;
  const std::vector<LaneSample>& samples_;
  Dim3 block_;
  SourceTexts& sources_;
  std::vector<Advice> advice_;
};

}  // namespace

std::string_view to_string(AdviceKind kind) {
  switch (kind) {
    case AdviceKind::uncoalesced:
      return "uncoalesced";
    case AdviceKind::misaligned_rows:
      return "misaligned-rows";
    case AdviceKind::bank_conflict:
      return "bank-conflict";
    case AdviceKind::divergence:
      break;
  }
  return "divergence";
}

std::string quoted_access(const std::string& line, const std::string& object) {
  if (object.empty()) return {};
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = line.find(object); at != std::string::npos;
       at = line.find(object, at + 1)) {
    if (at > 0 && in_word(line[at - 1])) continue;
    std::size_t end = at + object.size();
    if (end >= line.size() || line[end] != '[') continue;
    // A[i][j]: brackets one after the other.
    while (end < line.size() && line[end] == '[') {
      int depth = 0;
      do {
        if (line[end] == '[') ++depth;
        if (line[end] == ']') --depth;
        ++end;
      } while (end < line.size() && depth > 0);
      if (depth > 0) return {};
    }
    return line.substr(at, end - at);
  }
  return {};
}

std::vector<Advice> advise(const LaunchCounts& counts, const std::vector<LaneSample>& samples,
                           const Dim3& block, SourceTexts& sources) {
  return Adviser(counts, samples, block, sources).advise();
}

}  // namespace tilescope::report
