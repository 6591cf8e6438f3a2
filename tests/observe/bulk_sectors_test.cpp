// The sectors of bulk copies against what Nsight Compute measured on an H200 for random tensor
// copies, those of data/emulator/tensor_copies.txt (data/ncu/tensor_copies_h200.csv: the line of a
// copy there, counted from 0, and its sectors), and for copies to the blocks of a cluster
// (multicast_h200.csv, by bench/copy_sectors.cu).
#include "observe/count/bulk_sectors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <optional>

#include "emulator/tensor_box.hpp"
#include "emulator/tensor_runs.hpp"

namespace tilescope::observe {
namespace {

using emulator::BulkPiece;
using emulator::TensorBox;
using emulator::TensorMapImage;
using emulator::test::TensorCase;

/// `copies`: the blocks that receive it; 0: the copy names none.
std::uint64_t sectors_of(emulator::BulkKind kind, const std::vector<BulkPiece>& pieces,
                         int copies = 0) {
  const emulator::BulkOrigin origin;
  const auto count = static_cast<std::uint32_t>(std::max(copies, 1));
  return bulk_sectors({origin, kind, false, pieces, 0, 0, 0, count, 0, 0}, copies != 0);
}

std::uint64_t sectors_of(const TensorCase& c) {
  constexpr std::uint64_t address = 1 << 20;
  const TensorMapImage map = c.map(address);
  TensorBox box{map, {}, {}, c.shared_offset};
  for (std::size_t d = 0; d < map.rank; ++d) box.coordinates[d] = c.coordinates[d];
  for (std::size_t i = 0; i < box.offsets.size(); ++i) {
    box.offsets[i] = static_cast<std::uint16_t>(c.offsets[i]);
  }
  return c.operation == TensorCase::load ? sectors_of(emulator::BulkKind::load, load_pieces(box))
                                         : sectors_of(emulator::BulkKind::store, store_pieces(box));
}

std::vector<TensorCase> recorded_cases() {
  std::istringstream lines(emulator::test::data_file("tensor_copies.txt"));
  std::vector<TensorCase> cases;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    in >> cases.emplace_back();
  }
  return cases;
}

TEST(BulkSectors, OfRandomTensorCopiesAreThoseOfAnH200) {
  const std::vector<TensorCase> cases = recorded_cases();
  std::istringstream lines(emulator::test::data_file("../ncu/tensor_copies_h200.csv"));
  std::string heading;
  std::getline(lines, heading);
  std::array<int, 3> compared{};
  char comma;
  std::size_t copy;
  std::array<std::uint64_t, 3> sectors;
  while (lines >> copy >> comma >> sectors[0] >> comma >> sectors[1] >> comma >> sectors[2]) {
    ASSERT_LT(copy, cases.size());
    const auto operation = static_cast<std::size_t>(cases[copy].operation);
    EXPECT_EQ(sectors_of(cases[copy]), sectors[operation]) << "copy " << copy;
    ++compared[operation];
  }
  EXPECT_GT(compared[TensorCase::load], 150);
  EXPECT_GT(compared[TensorCase::store] + compared[TensorCase::reduce], 30);
}

/// Numbers of a line that commas separate.
template <std::size_t count>
std::optional<std::array<int, count>> numbers_of(std::istream& lines) {
  std::array<int, count> numbers;
  for (int& number : numbers) {
    if (!(lines >> number)) return std::nullopt;
    if (lines.peek() == ',') lines.get();
  }
  return numbers;
}

TEST(BulkSectors, OfCopiesToSeveralBlocksAreThoseOfAnH200) {
  std::istringstream lines(emulator::test::data_file("../ncu/multicast_h200.csv"));
  std::string heading;
  std::getline(lines, heading);
  int compared = 0;
  while (const auto row = numbers_of<11>(lines)) {
    const auto& [swizzle, box_columns, box_rows, columns, rows, pitch, column, at_row, base, blocks,
                 sectors] = *row;
    TensorMapImage map;
    map.address = (1u << 20) + static_cast<unsigned>(base);
    map.type = emulator::TensorElement::u16;
    map.rank = 2;
    map.extents = {static_cast<unsigned>(columns), static_cast<unsigned>(rows)};
    map.strides = {static_cast<unsigned>(pitch)};
    map.box = {static_cast<std::uint16_t>(box_columns), static_cast<std::uint16_t>(box_rows)};
    map.element_strides = {1, 1};
    map.swizzle = static_cast<emulator::TensorSwizzle>(swizzle);
    const TensorBox box{map, {column, at_row}, {}, 0};
    const int copies = std::popcount(static_cast<unsigned>(blocks));
    EXPECT_EQ(sectors_of(emulator::BulkKind::load, load_pieces(box), copies),
              static_cast<unsigned>(sectors))
        << "copy " << compared;
    ++compared;
  }
  EXPECT_EQ(compared, 204);
}

TEST(BulkSectors, CountInEachLineOfSharedMemoryThatTheyReach) {
  // 64 bytes from the middle of a sector on are in 3 sectors.
  EXPECT_EQ(sectors_of(emulator::BulkKind::load, {{16, 0, 64}}), 3u);
  EXPECT_EQ(sectors_of(emulator::BulkKind::load, {{16, 80, 64}}), 3u);  // the line ends with one
  EXPECT_EQ(sectors_of(emulator::BulkKind::load, {{16, 96, 64}}), 4u);  // and in the middle of one
  EXPECT_EQ(sectors_of(emulator::BulkKind::store, {{80, 16, 64}}), 3u);
}

}  // namespace
}  // namespace tilescope::observe
