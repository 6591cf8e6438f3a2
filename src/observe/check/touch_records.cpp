#include "observe/check/touch_records.hpp"

#include "observe/check/word_vectors.hpp"

namespace tilescope::observe {
namespace {

using Records = CellRecords;

/// Calls visit(group, its number, the cells in it) for the groups.
template <class Visit>
[[gnu::always_inline]] inline void for_groups(const TouchedCells& cells, Visit visit) {
  constexpr std::uint32_t kTogether = Records::kTogether;
  for (std::uint32_t at = cells.begin / kTogether * kTogether; at < cells.end; at += kTogether) {
    Truth active;
    words_between(static_cast<std::int32_t>(cells.begin) - static_cast<std::int32_t>(at),
                  static_cast<std::int32_t>(cells.end - at), active);
    visit(cells.records.group(at), at / kTogether, active);
  }
}

/// Those of the events that are of the block.
[[gnu::always_inline]] inline void live(const TouchedCells& cells, Records::Group& group,
                                        Records::Part time, const Truth& active, Truth& result) {
  result = (as_words(group.parts[time]) >= cells.block_start) & active;
}

[[gnu::always_inline]] inline void strong(Records::Group& group, Records::Part tag, Truth& result) {
  static_assert(static_cast<int>(Strength::volatile_) == 1 &&
                static_cast<int>(Strength::atomic) == 2);
  result = (((as_words(group.parts[tag]) & 3) + 1) & 2) != 0;
}

[[gnu::always_inline]] inline TouchSummary summarise_all(const TouchedCells& cells) {
  Truth writes{}, reads{}, others{};
  for_groups(
      cells, [&](Records::Group & group, std::uint32_t, const Truth& active)
                 __attribute__((always_inline)) {
                   Truth written, first, second, atomics, is_strong;
                   live(cells, group, Records::write_time, active, written);
                   live(cells, group, Records::first_time, active, first);
                   live(cells, group, Records::second_time, active, second);
                   live(cells, group, Records::atomic_time, active, atomics);
                   others |= atomics;
                   strong(group, Records::write_tag, is_strong);
                   others |= is_strong & written;
                   strong(group, Records::first_tag, is_strong);
                   others |= is_strong & first;
                   strong(group, Records::second_tag, is_strong);
                   others |= is_strong & second;
                   writes |= written;
                   reads |= first | second;
                 });
  return {any_of(writes), any_of(reads), any_of(others)};
}

[[gnu::always_inline]] inline void note_all(const TouchedCells& cells, TouchRecords& touches,
                                            Records::Part time, Records::Part tag) {
  for_groups(
      cells, [&](Records::Group & group, std::uint32_t number, const Truth& active)
                 __attribute__((always_inline)) {
                   TouchRecords::Group& to = touches.groups()[number];
                   Words &lowest = as_words(to.lowest), &highest = as_words(to.highest),
                         &of_lowest = as_words(to.of_lowest), &of_highest = as_words(to.of_highest);
                   const Words tags = as_words(group.parts[tag]), block = Words{} + cells.block;
                   Truth noted;
                   live(cells, group, time, active, noted);
                   const Truth higher = noted & ((block > highest) | (lowest == Touch::kNobody));
                   const Truth lower = noted & (block < lowest);
                   lowest = lower ? block : lowest;
                   of_lowest = lower ? tags : of_lowest;
                   highest = higher ? block : highest;
                   of_highest = higher ? tags : of_highest;
                 });
}

TouchSummary summarise_any(const TouchedCells& cells) {
  return summarise_all(cells);
}
TILESCOPE_WIDE_WORDS TouchSummary summarise_wide(const TouchedCells& cells) {
  return summarise_all(cells);
}
void note_any(const TouchedCells& cells, TouchRecords& touches, Records::Part time,
              Records::Part tag) {
  note_all(cells, touches, time, tag);
}
TILESCOPE_WIDE_WORDS void note_wide(const TouchedCells& cells, TouchRecords& touches,
                                    Records::Part time, Records::Part tag) {
  note_all(cells, touches, time, tag);
}

const auto summarise_best = choose_words(&summarise_any, &summarise_wide);
const auto note_best = choose_words(&note_any, &note_wide);

}  // namespace

TouchSummary summarise(const TouchedCells& cells) {
  return summarise_best(cells);
}

void note_writes(const TouchedCells& cells, TouchRecords& touches) {
  note_best(cells, touches, Records::write_time, Records::write_tag);
}

void note_readers(const TouchedCells& cells, TouchRecords& touches) {
  note_best(cells, touches, Records::first_time, Records::first_tag);
}

}  // namespace tilescope::observe
