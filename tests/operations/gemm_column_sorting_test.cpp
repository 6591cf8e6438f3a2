// The order of A's columns in which unaligned_rows multiplies: of a row-major and of a column-major
// A.
#include <gtest/gtest.h>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/operands/column_sorting.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::operations {
namespace {

// Matrices of `rows` x `columns` elements in device memory and their sorted copy. `transposed`:
// they are column-major. Rows or columns in memory are `pitch` elements apart, matrices `gap`
// elements more than they take.
class Sorted {
 public:
  Sorted(Device& device, bool transposed, std::int64_t rows, std::int64_t columns,
         std::int64_t pitch, std::int64_t batch = 1, std::int64_t gap = 0)
      : device_(device),
        transposed_(transposed),
        columns_(columns),
        from_{.type = DataType::bfloat16,
              .rows = transposed ? columns : rows,
              .columns = transposed ? rows : columns,
              .pitch = pitch,
              .batch = batch,
              .batch_stride = (transposed ? columns : rows) * pitch + gap},
        // Nothing behind the last element: reading there is an error of the emulated device.
        data_(static_cast<std::size_t>((batch - 1) * from_.batch_stride + (from_.rows - 1) * pitch +
                                       from_.columns)),
        memory_(device.allocate(data_.size() * 2, "from")),
        sorting_(device, from_, transposed) {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<std::uint16_t>(i * 7 + 1);
    device.copy_to_device(memory_.address(), data_.data(), data_.size() * 2);
    sorting_.run(memory_.address(), {});
    EXPECT_EQ(sorting_.result().rows, rows);
    EXPECT_EQ(sorting_.result().columns, (columns + 63) / 64 * 64);
  }

  // Elements that are not those of the order in which the kernel multiplies.
  std::int64_t wrong() const {
    const RowsInMemory& to = sorting_.result();
    std::vector<std::uint16_t> result(static_cast<std::size_t>(to.batch * to.batch_stride));
    device_.copy_to_host(result.data(), sorting_.address(), result.size() * 2);
    std::int64_t count = 0;
    for (std::int64_t b = 0; b < to.batch; ++b) {
      for (std::int64_t r = 0; r < to.rows; ++r) {
        for (std::int64_t x = 0; x < to.columns; ++x) {
          const std::int64_t g = x % 64 / 8, t = x % 8 / 2,
                             column = x / 64 * 64 + 16 * t + 2 * g + x % 2;
          const std::uint16_t want = column < columns_ ? at(b, r, column) : 0;
          count += result[static_cast<std::size_t>(b * to.batch_stride + r * to.pitch + x)] != want;
        }
      }
    }
    return count;
  }

 private:
  std::uint16_t at(std::int64_t b, std::int64_t row, std::int64_t column) const {
    const std::int64_t in_matrix =
        transposed_ ? column * from_.pitch + row : row * from_.pitch + column;
    return data_[static_cast<std::size_t>(b * from_.batch_stride + in_matrix)];
  }

  Device& device_;
  bool transposed_;
  std::int64_t columns_;
  RowsInMemory from_;
  std::vector<std::uint16_t> data_;
  Buffer memory_;
  ColumnSorting sorting_;
};

TEST(ColumnSorting, SortsPairsAndFillsUpWithZeros) {
  const auto device = Device::open("emulated");
  EXPECT_EQ(Sorted(*device, false, 3, 512, 512).wrong(), 0);
  EXPECT_EQ(Sorted(*device, false, 5, 509, 511).wrong(), 0);
  EXPECT_EQ(Sorted(*device, false, 2, 2001, 2001).wrong(), 0);
  EXPECT_EQ(Sorted(*device, false, 1, 1, 1).wrong(), 0);
  EXPECT_EQ(Sorted(*device, false, 4, 70, 72, 3, 5).wrong(), 0);
}

TEST(ColumnSorting, TransposesWhatIsColumnMajor) {
  const auto device = Device::open("emulated");
  EXPECT_EQ(Sorted(*device, true, 64, 128, 64).wrong(), 0);
  EXPECT_EQ(Sorted(*device, true, 1, 1, 1).wrong(), 0);
  for (const std::int64_t rows : {1, 7, 31, 32, 33, 94, 131}) {
    for (const std::int64_t columns : {16, 63, 65, 129, 200}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
      EXPECT_EQ(Sorted(*device, true, rows, columns, rows + columns % 4).wrong(), 0);
    }
  }
  for (std::int64_t columns = 64; columns < 128; ++columns) {
    EXPECT_EQ(Sorted(*device, true, 3, columns, 5).wrong(), 0) << columns << " columns";
  }
  EXPECT_EQ(Sorted(*device, true, 70, 99, 71, 3, 5).wrong(), 0) << "a batch";
}

TEST(ColumnSorting, TransposesInWholeSectorsWithoutBankConflictsAndSilently) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  device::EmulatedDevice& device = *emulated;
  observe::CountObserver observer;
  device.set_options({.observers = {&observer}});
  EXPECT_EQ(Sorted(device, true, 96, 256, 96).wrong(), 0);
  const Counts& counts = observer.result().totals;
  EXPECT_EQ(counts.shared_load.conflicts(), 0u);
  EXPECT_EQ(counts.shared_store.conflicts(), 0u);
  EXPECT_EQ(counts.global_load.requests, 96u * 256u / 32u) << "an element a lane";
  EXPECT_EQ(counts.global_load.excessive(), 0u);
  EXPECT_EQ(counts.global_store.requests, 96u * 256u / 8u / 32u) << "a chunk a lane";
  EXPECT_EQ(counts.global_store.excessive(), 0u);

  testing::LaunchFindings findings(device);
  EXPECT_EQ(Sorted(device, true, 94, 200, 97, 2, 3).wrong(), 0);
  EXPECT_EQ(findings.take(), "");
}

}  // namespace
}  // namespace tilescope::operations
