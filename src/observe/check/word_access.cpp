#include "observe/check/word_access.hpp"

#include "observe/check/word_vectors.hpp"

namespace tilescope::observe {
namespace {

using Records = CellRecords;

/// Below this many words they are taken one by one.
constexpr std::uint32_t kFew = 3;

}  // namespace

/// The work itself (see word_vectors.hpp).
struct WordKernels {
  struct Numbers {
    explicit Numbers(const WordAccess& access)
        : epoch(access.epoch_),
          time(access.time_),
          whole_warp(access.whole_warp_),
          lane_0(access.lane_0_) {}
    std::uint32_t epoch, time, whole_warp, lane_0;
  };

  // --- one word ---

  static bool ordered(const Numbers& n, std::uint32_t time, std::uint32_t tag, std::uint32_t now) {
    const std::uint32_t differs = tag ^ now;
    return time < n.epoch || ((differs & AccessTag::kWarpBits) == 0 &&
                              ((differs & AccessTag::kLaneBits) == 0 || time < n.whole_warp));
  }

  /// As RaceChecker::remember_reader.
  static void remember(const Numbers& n, Records& records, std::uint32_t cell, std::uint32_t now) {
    std::uint32_t& first_time = records.at(cell, Records::first_time);
    std::uint32_t& first = records.at(cell, Records::first_tag);
    if (ordered(n, first_time, first, now)) {
      first_time = n.time;
      first = now;
      return;
    }
    std::uint32_t& second_time = records.at(cell, Records::second_time);
    std::uint32_t& second = records.at(cell, Records::second_tag);
    const bool other_warp = ((now ^ first) & AccessTag::kWarpBits) != 0 &&
                            ((second ^ first) & AccessTag::kWarpBits) == 0;
    if (other_warp || ordered(n, second_time, second, now)) {
      second_time = n.time;
      second = now;
    }
  }

  static void remember_word(const Numbers& n, Records& records, std::uint32_t cell,
                            std::uint32_t first, std::uint32_t second) {
    remember(n, records, cell, n.lane_0 | first);
    if (second == kNoLane) return;
    const auto is_own = [&](Records::Part tag) {
      return ((records.at(cell, tag) ^ n.lane_0) & AccessTag::kWarpBits) == 0;
    };
    if (is_own(Records::first_tag) || is_own(Records::second_tag)) {
      remember(n, records, cell, n.lane_0 | second);
    }
  }

  /// Whether a remembered access is before a barrier of the block or of the whole warp, or by the
  /// thread itself if that is the only one.
  static bool precedes(const Numbers& n, const Records& records, std::uint32_t cell,
                       Records::Part time, Records::Part tag, AccessTag mine, bool alone) {
    const std::uint32_t at = records.at(cell, time);
    if (at < n.epoch) return true;
    const AccessTag other{records.at(cell, tag)};
    return (alone && other.thread_bits() == mine.thread_bits()) ||
           (at < n.whole_warp && other.warp() == mine.warp());
  }

  static bool read_word(const Numbers& n, Records& records, std::uint32_t cell, std::uint32_t first,
                        std::uint32_t second, bool changed) {
    if (changed) {
      if (records.at(cell, Records::atomic_time) >= n.epoch) return false;
      const AccessTag mine{n.lane_0 | first};
      if (!precedes(n, records, cell, Records::write_time, Records::write_tag, mine,
                    second == kNoLane)) {
        return false;
      }
    }
    remember_word(n, records, cell, first, second);
    return true;
  }

  static bool write_word(const Numbers& n, Records& records, std::uint32_t cell,
                         std::uint32_t first) {
    const AccessTag mine{n.lane_0 | first};
    const auto before = [&](Records::Part time, Records::Part tag) {
      return precedes(n, records, cell, time, tag, mine, true);
    };
    if (records.at(cell, Records::atomic_time) >= n.epoch ||
        !before(Records::write_time, Records::write_tag) ||
        !before(Records::first_time, Records::first_tag) ||
        !before(Records::second_time, Records::second_tag)) {
      return false;
    }
    records.at(cell, Records::write_time) = n.time;
    records.at(cell, Records::write_tag) = mine.bits;
    return true;
  }

  // --- eight words ---

  [[gnu::always_inline]] static Words& part(Records::Group& group, Records::Part which) {
    return as_words(group.parts[which]);
  }
  /// All ones where the condition of `ordered` holds.
  [[gnu::always_inline]] static void ordered(const Numbers& n, const Words& time, const Words& tag,
                                             const Words& now, Truth& result) {
    const Words differs = tag ^ now;
    result = (time < n.epoch) | (((differs & AccessTag::kWarpBits) == 0) &
                                 (((differs & AccessTag::kLaneBits) == 0) | (time < n.whole_warp)));
  }

  [[gnu::always_inline]] static void remember(const Numbers& n, Records::Group& group,
                                              const Words& now, const Truth& active) {
    Words& first_time = part(group, Records::first_time);
    Words& first = part(group, Records::first_tag);
    Words& second_time = part(group, Records::second_time);
    Words& second = part(group, Records::second_tag);
    Truth in_first, in_second;
    ordered(n, first_time, first, now, in_first);
    ordered(n, second_time, second, now, in_second);
    const Truth other_warp = (((now ^ first) & AccessTag::kWarpBits) != 0) &
                             (((second ^ first) & AccessTag::kWarpBits) == 0);
    in_second = (in_second | other_warp) & ~in_first & active;
    in_first &= active;
    const Words time = Words{} + n.time;
    first_time = in_first ? time : first_time;
    first = in_first ? now : first;
    second_time = in_second ? time : second_time;
    second = in_second ? now : second;
  }

  [[gnu::always_inline]] static void remember_words(const Numbers& n, Records::Group& group,
                                                    const std::uint32_t* first_lanes,
                                                    const std::uint32_t* second_lanes,
                                                    bool collides, const Truth& active) {
    Words lanes;
    load_words(lanes, first_lanes);
    remember(n, group, lanes | n.lane_0, active);
    if (!collides) return;
    load_words(lanes, second_lanes);
    const Truth again =
        active & (lanes != kNoLane) &
        ((((part(group, Records::first_tag) ^ n.lane_0) & AccessTag::kWarpBits) == 0) |
         (((part(group, Records::second_tag) ^ n.lane_0) & AccessTag::kWarpBits) == 0));
    remember(n, group, (lanes | n.lane_0), again);
  }

  /// All ones where `precedes` does not hold.
  [[gnu::always_inline]] static void follows(const Numbers& n, Records::Group& group,
                                             Records::Part time, Records::Part tag,
                                             const Words& mine, const Truth& alone, Truth& result) {
    const Words& at = part(group, time);
    const Words differs = part(group, tag) ^ mine;
    const Truth same_thread = alone & ((differs & AccessTag::kThreadBits) == 0);
    const Truth before = (at < n.whole_warp) & ((differs & AccessTag::kWarpBits) == 0);
    result = (at >= n.epoch) & ~(same_thread | before);
  }

  /// Words that may not be read, and are not active.
  [[gnu::always_inline]] static void refused_reads(const Numbers& n, Records::Group& group,
                                                   const std::uint32_t* first_lanes,
                                                   const std::uint32_t* second_lanes,
                                                   Truth& result) {
    Words first, second;
    load_words(first, first_lanes);
    load_words(second, second_lanes);
    Truth unordered;
    follows(n, group, Records::write_time, Records::write_tag, first | n.lane_0, second == kNoLane,
            unordered);
    result = (part(group, Records::atomic_time) >= n.epoch) | unordered;
  }

  [[gnu::always_inline]] static void write_words(const Numbers& n, Records::Group& group,
                                                 const std::uint32_t* first_lanes,
                                                 const Truth& active, Truth& refused) {
    Words now;
    load_words(now, first_lanes);
    now |= n.lane_0;
    Words& write_time = part(group, Records::write_time);
    Words& writer = part(group, Records::write_tag);
    refused = part(group, Records::atomic_time) >= n.epoch;
    Truth unordered;
    const auto look = [&](Records::Part time, Records::Part tag) __attribute__((always_inline)) {
      follows(n, group, time, tag, now, ~Truth{}, unordered);
      refused |= unordered;
    };
    look(Records::write_time, Records::write_tag);
    look(Records::first_time, Records::first_tag);
    look(Records::second_time, Records::second_tag);
    refused &= active;
    const Truth done = active & ~refused;
    write_time = done ? Words{} + n.time : write_time;
    writer = done ? now : writer;
  }

  enum class Work : std::uint8_t { read, read_unchanged, write };

  template <Work work>
  [[gnu::always_inline]] static std::uint64_t all(const WordAccess& access, Records& records,
                                                  const WordRun& run) {
    const Numbers n(access);
    const auto in_group = run.cell % Records::kTogether;
    std::uint64_t refused_words = 0;
    for (std::uint32_t done = 0; done < in_group + run.count; done += Records::kTogether) {
      Records::Group& group = records.group(run.cell + done);
      const std::uint32_t* first = run.first + done - in_group;
      const std::uint32_t* second = run.second + done - in_group;
      Truth active, refused{};
      words_between(static_cast<std::int32_t>(in_group) - static_cast<std::int32_t>(done),
                    static_cast<std::int32_t>(in_group + run.count - done), active);
      if constexpr (work == Work::write) {
        write_words(n, group, first, active, refused);
      } else {
        if constexpr (work == Work::read) {
          refused_reads(n, group, first, second, refused);
          refused &= active;
        }
        remember_words(n, group, first, second, run.collides, active & ~refused);
      }
      if constexpr (work != Work::read_unchanged) {
        if (any_of(refused)) [[unlikely]] {
          const std::uint64_t words = bits_of(refused);
          refused_words |= done >= in_group ? words << (done - in_group) : words >> in_group;
        }
      }
    }
    return refused_words;
  }
};

namespace {

using Work = WordKernels::Work;
using Kernel = std::uint64_t (*)(const WordAccess&, CellRecords&, const WordRun&);

template <Work work>
std::uint64_t for_any_cpu(const WordAccess& access, CellRecords& records, const WordRun& run) {
  return WordKernels::all<work>(access, records, run);
}
template <Work work>
TILESCOPE_WIDE_WORDS std::uint64_t for_wide_words(const WordAccess& access, CellRecords& records,
                                                  const WordRun& run) {
  return WordKernels::all<work>(access, records, run);
}
template <Work work>
const Kernel kernel = choose_words(&for_any_cpu<work>, &for_wide_words<work>);

/// Calls `word` for each word; collects those for which it is false.
template <class Word>
std::uint64_t one_by_one(const WordRun& run, Word word) {
  std::uint64_t refused = 0;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    if (!word(run.cell + i, run.first[i], run.second[i])) refused |= std::uint64_t{1} << i;
  }
  return refused;
}

}  // namespace

std::uint64_t WordAccess::read(CellRecords& records, const WordRun& run, bool changed) const {
  if (run.count > kFew)
    return (changed ? kernel<Work::read> : kernel<Work::read_unchanged>)(*this, records, run);
  const WordKernels::Numbers n(*this);
  return one_by_one(run, [&](std::uint32_t cell, std::uint32_t first, std::uint32_t second) {
    return WordKernels::read_word(n, records, cell, first, second, changed);
  });
}

std::uint64_t WordAccess::write(CellRecords& records, const WordRun& run) const {
  if (run.count > kFew && !run.collides) return kernel<Work::write>(*this, records, run);
  const WordKernels::Numbers n(*this);
  return one_by_one(run, [&](std::uint32_t cell, std::uint32_t first, std::uint32_t second) {
    return second == kNoLane && WordKernels::write_word(n, records, cell, first);
  });
}

std::uint64_t WordAccess::read(const ScatteredWords& words) const {
  const WordKernels::Numbers n(*this);
  std::uint64_t refused = 0;
  for (std::uint32_t i = 0; i < words.count; ++i) {
    const bool done = WordKernels::read_word(n, *words.records[i], words.cell[i], words.first[i],
                                             words.second[i], (words.changed >> i & 1) != 0);
    refused |= std::uint64_t{!done} << i;
  }
  return refused;
}

std::uint64_t WordAccess::write(const ScatteredWords& words) const {
  const WordKernels::Numbers n(*this);
  std::uint64_t refused = 0;
  for (std::uint32_t i = 0; i < words.count; ++i) {
    const bool done = words.second[i] == kNoLane &&
                      WordKernels::write_word(n, *words.records[i], words.cell[i], words.first[i]);
    refused |= std::uint64_t{!done} << i;
  }
  return refused;
}

void WordAccess::remember_readers(CellRecords& records, const WordRun& run) const {
  read(records, run, false);
}

}  // namespace tilescope::observe
