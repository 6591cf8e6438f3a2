// Pages of cells are added to the records of a launch as cells one by one are.
#include <gtest/gtest.h>

#include <random>

#include "observe/check/touch_rows.hpp"

namespace tilescope::observe {
namespace {

constexpr std::uint32_t kCells = 64, kBlockStart = 10;

class RandomPage {
 public:
  explicit RandomPage(std::uint32_t seed) : random_(seed) {}

  /// One of so many events is of the block.
  Event event(std::uint32_t seldom) {
    const std::uint32_t time = below(seldom) == 0 ? kBlockStart + below(8) : below(kBlockStart);
    const Strength strength = below(2) == 0 ? Strength::plain : Strength::pending;
    return {time, AccessTag::of(below(1000), below(32), static_cast<int>(below(32)), strength)};
  }
  CellRecords records() {
    CellRecords records(kCells);
    const std::uint32_t seldom = 1 + below(100);
    for (std::uint32_t i = 0; i < kCells; ++i) {
      const Event first = event(seldom), second = event(seldom);
      records.set(i, {event(seldom), {}, {first, first.time >= kBlockStart ? second : Event{}}});
    }
    return records;
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

 private:
  std::mt19937 random_;
};

void expect_same(const TouchRecords& a, const TouchRecords& b) {
  for (std::uint32_t i = 0; i < kCells; ++i) {
    const Touch x = a[i], y = b[i];
    ASSERT_EQ(x.lowest, y.lowest) << i;
    ASSERT_EQ(x.highest, y.highest) << i;
    ASSERT_EQ(x.of_lowest.bits, y.of_lowest.bits) << i;
    ASSERT_EQ(x.of_highest.bits, y.of_highest.bits) << i;
  }
}

TEST(TouchRecords, PagesAreNotedAsCells) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    RandomPage random(seed);
    TouchRecords writes(kCells), reads(kCells), writes_by_cell(kCells), reads_by_cell(kCells);
    for (int i = 0; i < 5; ++i) {
      CellRecords records = random.records();
      const std::uint32_t begin = random.below(kCells);
      const TouchedCells cells{records, begin, begin + 1 + random.below(kCells - begin),
                               random.below(4), kBlockStart};
      note_writes(cells, writes);
      note_readers(cells, reads);
      bool written = false, read = false;
      for (std::uint32_t c = cells.begin; c < cells.end; ++c) {
        const Cell cell = records[c];
        const auto note = [&](const Event& event, TouchRecords& to, bool& any) {
          if (event.time < kBlockStart) return;
          to.note(c, cells.block, event.tag);
          any = true;
        };
        note(cell.write, writes_by_cell, written);
        for (const Event& reader : cell.reader) note(reader, reads_by_cell, read);
      }
      const TouchSummary summary = summarise(cells);
      EXPECT_EQ(summary.writes, written);
      EXPECT_EQ(summary.reads, read);
      EXPECT_FALSE(summary.others);
    }
    expect_same(writes, writes_by_cell);
    expect_same(reads, reads_by_cell);
    if (HasFailure()) return;
  }
}

TEST(TouchRecords, RowsAreNotedAsCells) {
  int noted = 0;
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    RandomPage random(seed);
    TouchRows rows;
    TouchRecords cells(kCells);
    const std::uint32_t unit = 1u << random.below(6);
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t from = random.below(kCells / unit) * unit;
      const std::uint32_t to = from + unit * (1 + random.below((kCells - from) / unit));
      const RowThreads threads{AccessTag::of(random.below(3), 0, 0, Strength::plain),
                               {static_cast<std::uint16_t>(random.below(8)),
                                random.below(2) == 0 ? std::uint16_t{0} : LaneOrder::kOne}};
      const std::uint32_t block = random.below(4);
      if (!rows.note(from, to, block, threads)) break;
      for (std::uint32_t c = from; c < to; ++c) cells.note(c, block, threads.tag(c - from));
      ++noted;
    }
    for (std::uint32_t c = 0; c < kCells; ++c) {
      const TouchRow* row = rows.find(c);
      const Touch x = row == nullptr ? Touch{} : row->at(c), y = cells[c];
      ASSERT_EQ(x.lowest, y.lowest) << seed;
      ASSERT_EQ(x.highest, y.highest) << seed;
      ASSERT_EQ(x.of_lowest.bits, y.of_lowest.bits) << seed;
      ASSERT_EQ(x.of_highest.bits, y.of_highest.bits) << seed;
    }
  }
  EXPECT_GT(noted, 8000);
}

TEST(TouchRecords, StrongAccessesAndAtomicsAreOthers) {
  for (const int part : {0, 1, 2, 3}) {
    for (const Strength strength : {Strength::volatile_, Strength::atomic}) {
      CellRecords records(kCells);
      const Event event{kBlockStart, AccessTag::of(1, 0, 0, strength)};
      Cell cell{};
      (part == 0 ? cell.write : part == 1 ? cell.atomic : cell.reader[part - 2]) = event;
      records.set(37, cell);
      EXPECT_TRUE(summarise({records, 0, kCells, 0, kBlockStart}).others);
      EXPECT_TRUE(summarise({records, 37, 38, 0, kBlockStart}).others);
      EXPECT_FALSE(summarise({records, 38, kCells, 0, kBlockStart}).others);
      EXPECT_FALSE(summarise({records, 0, kCells, 0, kBlockStart + 1}).others);
    }
  }
}

}  // namespace
}  // namespace tilescope::observe
