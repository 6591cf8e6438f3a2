// Copies of operands in another layout, on the emulated device.
#include <gtest/gtest.h>

#include <cstring>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/rung/kernel_source.hpp"

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

// A matrix in device memory, its copy, and the expected contents of the copy.
template <typename Word>
class Copied {
 public:
  Copied(Device& device, DataType type, std::int64_t rows, std::int64_t columns, std::int64_t pitch,
         std::int64_t batch = 1, std::int64_t gap = 0, std::int64_t before = 0)
      : device_(device),
        from_{.type = type,
              .rows = rows,
              .columns = columns,
              .pitch = pitch,
              .batch = batch,
              .batch_stride = rows * pitch + gap},
        before_(before),
        // Nothing behind the last element: reading there is an error of the emulated device.
        data_(static_cast<std::size_t>(before + (batch - 1) * from_.batch_stride +
                                       (rows - 1) * pitch + columns)),
        memory_(device.allocate(data_.size() * sizeof(Word), "from")),
        copy_(device, from_, false) {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<Word>(i * 7 + 1);
    device.copy_to_device(memory_.address(), data_.data(), data_.size() * sizeof(Word));
  }

  Repacking::Operand operand() const {
    return {&copy_, memory_.address() + static_cast<DeviceAddress>(before_) * sizeof(Word)};
  }

  std::int64_t wrong() const {
    const RowsInMemory& to = copy_.result();
    std::vector<Word> result(static_cast<std::size_t>(to.batch * to.batch_stride));
    device_.copy_to_host(result.data(), copy_.address(), result.size() * sizeof(Word));
    constexpr std::int64_t chunk = copy_alignment / static_cast<std::int64_t>(sizeof(Word));
    std::int64_t wrong = to.pitch_bytes() % copy_alignment != 0;
    for (std::int64_t b = 0; b < to.batch; ++b) {
      for (std::int64_t r = 0; r < to.rows; ++r) {
        for (std::int64_t c = 0; c < (to.columns + chunk - 1) / chunk * chunk; ++c) {
          const auto at = static_cast<std::size_t>(b * to.batch_stride + r * to.pitch + c);
          const std::int64_t source = before_ + b * from_.batch_stride + r * from_.pitch + c;
          wrong += result[at] != (c < to.columns ? data_[static_cast<std::size_t>(source)] : 0);
        }
      }
    }
    return wrong;
  }

 private:
  Device& device_;
  RowsInMemory from_;
  std::int64_t before_;
  std::vector<Word> data_;
  Buffer memory_;
  Repacking copy_;
};

template <typename Word>
void copies(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t pitch,
            std::int64_t batch = 1, std::int64_t gap = 0, std::int64_t before = 0) {
  const auto device = Device::open("emulated");
  const Copied<Word> copied(*device, type, rows, columns, pitch, batch, gap, before);
  Repacking::run_both(copied.operand(), {}, {});
  EXPECT_EQ(copied.wrong(), 0) << rows << " x " << columns << " pitch " << pitch;
}

TEST(Repacking, CopiesRowsOfAnyExtentsAndPitch) {
  copies<std::uint16_t>(DataType::bfloat16, 9, 259, 259);  // a piece of a row and a bit
  copies<std::uint16_t>(DataType::bfloat16, 17, 511, 515);
  copies<std::uint16_t>(DataType::float16, 8, 256, 257);
  copies<std::uint16_t>(DataType::float16, 3, 130, 131);
  copies<std::uint16_t>(DataType::float16, 70, 5, 5);  // rows of one chunk
  copies<std::uint16_t>(DataType::float16, 1, 1, 1);
  copies<std::uint16_t>(DataType::bfloat16, 5, 300, 303, 3, 1);  // planes begin anywhere
  copies<std::uint32_t>(DataType::float32, 18, 129, 129);
  copies<std::uint32_t>(DataType::float32, 7, 255, 257, 1, 0, 3);  // so does the first row
  copies<std::uint32_t>(DataType::float32, 33, 3, 7);
  copies<std::uint8_t>(DataType::float8_e4m3, 21, 259, 261);
}

// The kernel divides by the chunks of a row, by a multiplication.
TEST(Repacking, CopiesRowsOfAnyNumberOfChunks) {
  for (const std::int64_t chunks : {1, 2, 3, 5, 7, 9, 31, 32, 33, 63, 65, 127, 129, 1023, 1025}) {
    copies<std::uint16_t>(DataType::bfloat16, chunks < 100 ? 131 : 13, 8 * chunks - 1,
                          8 * chunks + 1);
  }
}

// Matrices of 16 GiB and more are copied in bands of rows. Here they have four rows.
TEST(Repacking, CopiesBandsOfRows) {
  struct Rows {
    DeviceAddress from, to;
    std::int64_t from_pitch, to_pitch;
    std::int32_t rows, columns, band;
    std::uint32_t chunks, inverse, shift;
    std::int64_t from_stride, to_stride;
  };
  struct Arguments {
    Rows of_first, of_second;
    std::uint32_t blocks_of_first;
    std::int32_t follows_turning;
  };
  constexpr std::int32_t rows = 10, columns = 20, from_pitch = 21, to_pitch = 24, band = 4;
  const auto device = Device::open("emulated");
  std::vector<std::uint16_t> data((rows - 1) * from_pitch + columns), result(rows * to_pitch);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint16_t>(i + 1);
  const std::size_t bytes = data.size() * sizeof(std::uint16_t);
  const Buffer from = device->allocate(bytes, "from");
  const Buffer to = device->allocate(result.size() * sizeof(std::uint16_t), "to");
  device->copy_to_device(from.address(), data.data(), bytes);

  KernelRequest request = embedded_request("gemm/repack.cu");
  request.kernel = "copy_rows";
  request.defines = {{"WORD", "unsigned short"}};
  Arguments arguments{};
  arguments.of_first = {.from = from.address(),
                        .to = to.address(),
                        .from_pitch = from_pitch,
                        .to_pitch = to_pitch,
                        .rows = rows,
                        .columns = columns,
                        .band = band,
                        .chunks = 3,
                        .inverse = (std::uint64_t{1} << 33U) / 3 + 1,
                        .shift = 2,
                        .from_stride = 0,
                        .to_stride = 0};
  arguments.blocks_of_first = 1;
  device->launch(device->load(request), {.grid = {1, (rows + band - 1) / band}, .block = {256}},
                 KernelArguments::of(arguments), {});
  device->copy_to_host(result.data(), to.address(), result.size() * sizeof(std::uint16_t));
  for (std::int32_t r = 0; r < rows; ++r) {
    for (std::int32_t c = 0; c < to_pitch; ++c) {
      const int expected = c < columns ? r * from_pitch + c + 1 : 0;
      ASSERT_EQ(result[static_cast<std::size_t>(r * to_pitch + c)], expected) << r << ", " << c;
    }
  }
}

TEST(Repacking, CopiesBothOperandsAtOnce) {
  const auto device = Device::open("emulated");
  const Copied<std::uint16_t> a(*device, DataType::bfloat16, 19, 261, 261);
  const Copied<std::uint16_t> b(*device, DataType::bfloat16, 30, 37, 37);
  Repacking::run_both(a.operand(), b.operand(), {});
  EXPECT_EQ(a.wrong(), 0);
  EXPECT_EQ(b.wrong(), 0);
}

}  // namespace
}  // namespace tilescope::operations
