// Copies of operands in another layout, on the emulated device.
#include <gtest/gtest.h>

#include <cstring>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/tensor_layout.hpp"

namespace tilescope::operations {
namespace {

template <typename Word>
void turns(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t pitch,
           std::int64_t batch = 1, std::int64_t gap = 0) {
  const auto device = Device::open("emulated");
  const std::int64_t stride = rows * pitch + gap;
  std::vector<Word> data(static_cast<std::size_t>(batch * stride));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<Word>(i * 7 + 1);
  const Buffer from = device->allocate(data.size() * sizeof(Word), "from");
  device->copy_to_device(from.address(), data.data(), data.size() * sizeof(Word));

  const Repacking repacking(*device,
                            {.type = type,
                             .rows = rows,
                             .columns = columns,
                             .pitch = pitch,
                             .batch = batch,
                             .batch_stride = stride},
                            true);
  repacking.run(from.address(), {});
  const RowsInMemory& to = repacking.result();
  ASSERT_EQ(to.rows, columns);
  ASSERT_EQ(to.columns, rows);
  EXPECT_EQ(to.pitch_bytes() % copy_alignment, 0);
  std::vector<Word> result(static_cast<std::size_t>(batch * to.batch_stride));
  device->copy_to_host(result.data(), repacking.address(), result.size() * sizeof(Word));
  std::int64_t wrong = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<std::size_t>(b * to.batch_stride + c * to.pitch + r);
        wrong += result[at] != data[static_cast<std::size_t>(b * stride + r * pitch + c)];
      }
    }
  }
  EXPECT_EQ(wrong, 0) << rows << " x " << columns << " pitch " << pitch;
}

TEST(Repacking, TurnsMatricesOfAnyExtentsAndPitch) {
  turns<std::uint32_t>(DataType::float32, 64, 64, 64);
  turns<std::uint32_t>(DataType::float32, 130, 200, 200);
  turns<std::uint32_t>(DataType::float32, 65, 67, 67);
  turns<std::uint32_t>(DataType::float32, 3, 1, 1);
  turns<std::uint32_t>(DataType::float32, 1, 130, 133);
  turns<std::uint32_t>(DataType::float32, 70, 30, 32, 3, 1);
  turns<std::uint32_t>(DataType::float32, 70, 32, 32, 2, 4);
  turns<std::uint16_t>(DataType::float16, 66, 70, 72);
  turns<std::uint16_t>(DataType::bfloat16, 67, 71, 71);
}

}  // namespace
}  // namespace tilescope::operations
