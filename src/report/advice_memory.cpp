// Advice on accesses to global and shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>

#include "base/format.hpp"
#include "gpu/coalescing.hpp"
#include "report/advice_rules.hpp"
#include "report/lane_pattern.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

using observe::LaneSample;

constexpr char axes[] = {'x', 'y', 'z'};

/// "its term row * k carries threadIdx.x"; "threadIdx.x" alone if the source does not show the
/// term.
std::string carrier_text(const AdviceInput& input, const AccessGroup& group, std::size_t axis) {
  const auto found = carrying_term(written(input, group).text, axis, group.place, input.sources);
  if (!found) return fmt::format("threadIdx.{} is in the index", axes[axis]);
  std::string text = fmt::format("its term {} carries threadIdx.{}", found->term, axes[axis]);
  if (!found->factor.empty() && found->factor != "1" && found->factor != found->term) {
    text += fmt::format(", times {}", found->factor);
  }
  return text;
}

std::string uncoalesced_text(const AdviceInput& input, const AccessGroup& group,
                             std::int64_t step) {
  const auto width = static_cast<std::int64_t>(group.sample->bytes);
  if (written(input, group).member && std::abs(step) <= 32 * width) {
    return fmt::format(
        "the structures lie {} apart, and a request takes {} of each. Keep every member in an "
        "array of its own, or load whole structures as vectors",
        bytes_text(std::abs(step)), bytes_text(width));
  }
  std::string text = fmt::format("{}, so that neighbouring threads lie {} apart",
                                 carrier_text(input, group, 0), bytes_text(std::abs(step)));
  if (std::abs(step) <= gpu::kSectorBytes) {
    return text + ". Let neighbouring threads take neighbouring elements";
  }
  return text + ". Let threadIdx.x count the elements of a row, or stage the data in shared memory";
}

/// A warp that spans rows of the block which lie apart.
std::string split_text(const AdviceInput& input, const AccessGroup& group,
                       const LanePattern& pattern) {
  const LaneSample& sample = *group.sample;
  const std::uint32_t rows = std::min(emulator::kWarpSize / std::max(input.counts.block.x, 1U),
                                      input.counts.block.y * std::max(input.counts.block.z, 1U));
  const std::int64_t row_bytes =
      pattern.step[0].value_or(0) == 0
          ? std::int64_t{sample.bytes}
          : std::int64_t{std::min(input.counts.block.x, 32U)} * std::int64_t{sample.bytes};
  return fmt::format(
      "the block is {} wide, so that a warp spans {} rows of it, and {}: each row takes {} of a "
      "sector of its own. A wider block would share them",
      input.counts.block.x, rows, carrier_text(input, group, 1), bytes_text(row_bytes));
}

bool has_gaps(emulator::LaneMask mask) {
  return std::popcount(mask) != 32 - std::countl_zero(mask) - std::countr_zero(mask);
}

/// Addresses that are no sum of steps: a few contiguous runs, or a gather.
std::string scattered_text(const LaneSample& sample) {
  int runs = 0;
  std::uint64_t next = 0;
  for (std::uint32_t m = sample.mask; m != 0; m &= m - 1) {
    const std::uint64_t address = sample.addresses[static_cast<std::size_t>(std::countr_zero(m))];
    if (runs == 0 || address != next) ++runs;
    next = address + sample.bytes;
  }
  constexpr int few = 4;
  if (runs <= few) {
    return fmt::format(
        "a warp takes {} runs of neighbouring elements, such as the ends of a tile's rows, and "
        "each "
        "begins and ends somewhere within a sector",
        runs);
  }
  return "the addresses of a warp follow no fixed step. If the data decide them, sort the "
         "accesses, "
         "or gather from shared memory";
}

void advise_on_atomics(const AdviceInput& input, const AccessGroup& group,
                       std::vector<Advice>& advice) {
  std::map<std::uint64_t, int> lanes;
  int most = 0;
  for (std::uint32_t m = group.sample->mask; m != 0; m &= m - 1) {
    most = std::max(
        most, ++lanes[group.sample->addresses[static_cast<std::size_t>(std::countr_zero(m))]]);
  }
  constexpr int many = 8;
  if (most < many) return;
  const double share = double(group.counts.global().requests) /
                       double(std::max<std::uint64_t>(input.counts.totals.global().requests, 1));
  if (share < least_share) return;
  advice.push_back(
      {AdviceKind::contended_atomic, group.place,
       fmt::format("{}: {} of a warp's {} threads change the same word, one after the other. Add "
                   "up within the warp first (shuffles, __reduce_add_sync), or in shared memory, "
                   "and let one thread bring the sum",
                   access_name(input, group), most, std::popcount(group.sample->mask)),
       share});
}

/// A byte or two a thread, contiguous: nothing is wasted, but a request could carry more.
void advise_on_width(const AdviceInput& input, const AccessGroup& group, const LanePattern& pattern,
                     std::vector<Advice>& advice) {
  const std::uint32_t width = group.sample->bytes;
  const SectorCounts own = group.counts.global();
  const SectorCounts all = input.counts.totals.global();
  if (width >= 4 || pattern.step[0].value_or(0) != std::int64_t{width}) return;
  constexpr double most_requests = 0.1;
  const double share = double(own.requests) / double(all.requests);
  if (share < most_requests) return;
  advice.push_back({AdviceKind::narrow, group.place,
                    fmt::format("{} moves {} a thread, {} a request; requests of 4 bytes a thread "
                                "move {} as cheaply. Let a thread take {} neighbours as one vector",
                                access_name(input, group), bytes_text(width),
                                bytes_text(32 * std::int64_t{width}), bytes_text(128), 4 / width),
                    share * 0.5});
}

}  // namespace

void advise_on_sectors(const AdviceInput& input, const AccessGroup& group,
                       std::vector<Advice>& advice) {
  const LaneSample& sample = *group.sample;
  if (access_verb(sample.kind) == "atomic") advise_on_atomics(input, group, advice);
  const std::optional<LanePattern> pattern = lane_pattern(sample, input.counts.block);
  if (pattern) advise_on_width(input, group, *pattern, advice);
  const SectorCounts own = group.counts.global();
  const SectorCounts all = input.counts.totals.global();
  if (own.requests == 0 || own.excessive() == 0) return;
  const double share = double(own.excessive()) / double(all.sectors);
  if (share < least_share || own.sectors * 10 < own.ideal_sectors * 11) return;
  std::string message = fmt::format(
      "{} takes {:.1f} sectors a request where {:.1f} would do: ", access_name(input, group),
      own.per_request(), double(own.ideal_sectors) / double(own.requests));
  AdviceKind kind = AdviceKind::uncoalesced;
  const auto width = static_cast<std::int64_t>(sample.bytes);
  if (!pattern) {
    message += scattered_text(sample);
  } else if (const std::int64_t x = pattern->step[0].value_or(0); std::abs(x) > width) {
    message += uncoalesced_text(input, group, x);
  } else if (has_gaps(sample.mask)) {
    message += fmt::format(
        "only {} of the warp's lanes take part, with gaps between them, because a branch on the "
        "way "
        "here diverged",
        std::popcount(sample.mask));
  } else if (pattern->step[1].value_or(0) != 0 && input.counts.block.x < emulator::kWarpSize &&
             (x == 0 || input.counts.block.x * width < gpu::kSectorBytes)) {
    kind = AdviceKind::split_rows;
    message += split_text(input, group, *pattern);
  } else {
    kind = AdviceKind::misaligned;
    const auto lane = static_cast<std::size_t>(std::countr_zero(sample.mask));
    const auto off = static_cast<std::int64_t>(sample.addresses[lane] % gpu::kSectorBytes);
    message += "neighbouring threads take neighbouring elements, but ";
    message += off == 0 ? std::string("what a warp takes ends within a 32-byte sector")
                        : fmt::format(
                              "begin {} behind the start of a 32-byte sector, so that one "
                              "more is touched",
                              bytes_text(off));
    message += ". Start rows at multiples of 32 bytes; in a stencil the cache has the rest";
  }
  advice.push_back({kind, group.place, std::move(message), share});
}

namespace {

/// Two lanes that access different words of one bank: "lanes 0 and 8 want different words of bank
/// 3".
std::string example_of_conflict(const LaneSample& sample) {
  constexpr std::uint64_t banks = 32, word_bytes = 4;
  std::map<std::uint64_t, std::pair<std::uint64_t, int>> first;  // bank -> word, lane
  for (std::uint32_t m = sample.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t word = sample.addresses[static_cast<std::size_t>(lane)] / word_bytes;
    const auto [at, is_new] = first.try_emplace(word % banks, word, lane);
    if (!is_new && at->second.first != word) {
      return fmt::format("such as lanes {} and {}, which access different words of bank {}",
                         at->second.second, lane, word % banks);
    }
  }
  return "for the words that a warp accesses lie in few of the 32 banks";
}

/// Does threadIdx move along the rows too, as along the diagonals of tile[n - x][x]? The step is
/// then not the length of a row.
bool runs_along_rows(const AdviceInput& input, const AccessGroup& group, const std::string& access,
                     const LanePattern& pattern) {
  const std::size_t last = access.rfind("][");
  if (last == access.npos) return false;
  const auto length = [&](std::size_t axis) { return std::abs(pattern.step[axis].value_or(0)); };
  std::size_t longest = 0;
  for (std::size_t axis = 1; axis < 3; ++axis)
    longest = length(axis) > length(longest) ? axis : longest;
  return carrying_term("row" + access.substr(last + 1), longest, group.place, input.sources)
      .has_value();
}

std::string cure_text(const AdviceInput& input, const AccessGroup& group) {
  const LaneSample& sample = *group.sample;
  const auto pattern = lane_pattern(sample, input.counts.block);
  if (!pattern) return example_of_conflict(sample);
  std::string text;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (pattern->step[axis].value_or(0) == 0) continue;
    text += fmt::format("{}{} from one threadIdx.{} to the next", text.empty() ? "" : ", ",
                        bytes_text(std::abs(*pattern->step[axis])), axes[axis]);
  }
  if (text.empty()) return example_of_conflict(sample);
  if (const auto padding = curing_padding(sample, input.counts.block, *pattern)) {
    const std::int64_t now = padding->row_elements, cured = now + padding->elements;
    const std::string access = written(input, group).text;
    constexpr std::int64_t shortest_row = 8;  // for indices that the source does not write as rows
    if (runs_along_rows(input, group, access, *pattern)) {
      return text + fmt::format(". Rows that are {} longer cure it",
                                counted(padding->elements, "element"));
    }
    const bool rows = access.empty() ? now >= shortest_row : access.find("][") != access.npos;
    text += rows ? fmt::format(". Rows of {} elements instead of {} ({} of padding) cure it", cured,
                               now, padding->elements == 1 ? "one column" : "a few columns")
                 : fmt::format(". A step of {} elements instead of {} cures it", cured, now);
  }
  return text;
}

/// Adding 1 is counted for all lanes of a word at once; see gpu/shared_banks.hpp.
std::string conflicting_atomics_text(const LaneSample& sample) {
  if (sample.use == gpu::SharedUse::increment) {
    return "threads of a warp that add 1 to the same word share a turn, those that access "
           "different words of one bank take turns. A copy for each lane, such that lane l's words "
           "lie in "
           "bank l, cures it";
  }
  return "threads of a warp that change words of one bank, or the same word, take turns. Give each "
         "warp, or each lane, a copy of its own, or add up within the warp first";
}

}  // namespace

void advise_on_conflicts(const AdviceInput& input, const AccessGroup& group,
                         std::vector<Advice>& advice) {
  const LaneSample& sample = *group.sample;
  const WavefrontCounts own = group.counts.shared();
  const WavefrontCounts all = input.counts.totals.shared();
  if (own.conflicts() == 0 || all.wavefronts == 0) return;
  const double share = double(own.conflicts()) / double(all.wavefronts);
  if (share < least_share) return;
  std::string message = fmt::format(
      "{} has {}-way bank conflicts, {} of its {} wavefronts: ", access_name(input, group),
      own.ways, format_count(own.conflicts()), format_count(own.wavefronts));
  if (access_verb(sample.kind) == "atomic") {
    message += conflicting_atomics_text(sample);
  } else {
    message += cure_text(input, group);
    // A wide access is done in parts of a warp, so the n of n-way is smaller than for one word.
    if (own.ideal_wavefronts > own.requests && sample.bytes <= 4) {
      message += fmt::format(
          " (the chip joins {} neighbouring accesses into one of {} bytes, so that {} threads "
          "take part in each turn)",
          own.ideal_wavefronts / own.requests, 4 * (own.ideal_wavefronts / own.requests),
          32 * own.requests / own.ideal_wavefronts);
    }
  }
  advice.push_back({AdviceKind::bank_conflict, group.place, std::move(message), share});
}

}  // namespace tilescope::report
