// Panels in device memory, transposed and not, in parts and at once, on the emulated device.
#include "transfer/operand_panels.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tilescope::transfer {
namespace {

constexpr std::int64_t vectors = 300, steps = 90;

class OperandPanelsTest : public ::testing::Test {
 protected:
  // Element (v, s) of the operand is 1000 v + s, whichever order it has.
  ConstMatrixView operand(Order order) {
    values_.resize(static_cast<std::size_t>(vectors * steps));
    const bool by_rows = order == Order::row_major;
    for (std::int64_t v = 0; v < vectors; ++v) {
      for (std::int64_t s = 0; s < steps; ++s) {
        values_[static_cast<std::size_t>(by_rows ? v * steps + s : s * vectors + v)] =
            static_cast<float>(1000 * v + s);
      }
    }
    return dense_view(static_cast<const void*>(values_.data()), DataType::float32, vectors, steps,
                      order);
  }

  std::int64_t wrong(OperandPanels& panels, const Panel& panel, bool by_steps) {
    const DeviceAddress address = panels.use(panel, panel.vectors, stream_);
    std::vector<float> there(static_cast<std::size_t>(panel.padded_vectors * panel.padded_steps));
    device_->copy_to_host(there.data(), address, there.size() * sizeof(float), stream_);
    device_->synchronize(stream_);
    panels.record_use(0, stream_);
    std::int64_t count = 0;
    for (std::int64_t v = 0; v < panel.vectors; ++v) {
      for (std::int64_t s = 0; s < panel.steps; ++s) {
        const std::int64_t at =
            by_steps ? s * panels.leading(panel) + v : v * panels.leading(panel) + s;
        const auto value =
            static_cast<float>(1000 * (panel.first_vector + v) + panel.first_step + s);
        count += there[static_cast<std::size_t>(at)] != value;
      }
    }
    return count;
  }

  std::shared_ptr<Device> device_ = Device::open("emulated");
  Stream stream_ = device_->create_stream();
  Stager uploads_{*device_, DataType::float32, 10'000};
  std::vector<float> values_;
};

Panel panel_at(std::int64_t first, std::int64_t count) {
  return {first, count, 0, steps, 128, 96};
}

TEST_F(OperandPanelsTest, EveryLayoutInPartsAndAtOnce) {
  for (const bool by_steps : {false, true}) {
    for (const bool transposed : {false, true}) {
      const bool given_by_steps = by_steps != transposed;
      OperandPanels panels(*device_, uploads_,
                           operand(given_by_steps ? Order::column_major : Order::row_major),
                           DataType::float32, {.by_steps = by_steps, .transposed = transposed},
                           128 * 96 * sizeof(float), 1, "A");
      const Panel first = panel_at(0, 128), second = panel_at(128, 128), last = panel_at(256, 44);
      panels.fetch(first, 64);
      panels.use(first, 64, stream_);
      panels.record_use(0, stream_);
      panels.fetch(first, 128);
      EXPECT_EQ(wrong(panels, first, by_steps), 0) << by_steps << transposed;
      // The next one may come while the first is in use, and leaves it alone.
      panels.fetch(second, 128);
      EXPECT_EQ(wrong(panels, first, by_steps), 0) << by_steps << transposed;
      EXPECT_EQ(wrong(panels, second, by_steps), 0) << by_steps << transposed;
      panels.fetch(last, 44);
      EXPECT_EQ(wrong(panels, last, by_steps), 0) << by_steps << transposed;
      panels.fetch(first, 128);
      EXPECT_EQ(wrong(panels, first, by_steps), 0) << by_steps << transposed;
    }
  }
}

TEST_F(OperandPanelsTest, AnUploadWaitsForWhatReadsThePanelBefore) {
  for (const bool transposed : {false, true}) {
    OperandPanels panels(*device_, uploads_, operand(Order::row_major), DataType::float32,
                         {.by_steps = transposed, .transposed = transposed},
                         128 * 96 * sizeof(float), 2, "A");
    const Stream other = device_->create_stream();
    const Panel first = panel_at(0, 128);
    panels.fetch(first, 128);
    const DeviceAddress address = panels.use(first, 128, other);
    // Queued only: the emulated device does it when the test waits for it.
    std::vector<float> seen(128 * 96);
    const Buffer copy = device_->allocate(seen.size() * sizeof(float), "copy");
    device_->copy_on_device(copy.address(), address, seen.size() * sizeof(float), other);
    panels.record_use(1, other);
    for (const std::int64_t start : {64, 128}) {
      panels.fetch(panel_at(start, 128), 128);
      device_->synchronize(uploads_.stream());
      EXPECT_EQ(wrong(panels, panel_at(start, 128), transposed), 0);
    }
    device_->copy_to_host(seen.data(), copy.address(), seen.size() * sizeof(float), other);
    device_->synchronize(other);
    EXPECT_EQ(seen[0], 0.0F);
    EXPECT_EQ(seen[transposed ? 128 : 96], transposed ? 1.0F : 1000.0F) << transposed;
    EXPECT_EQ(seen[1], transposed ? 1000.0F : 1.0F) << transposed;
  }
}

}  // namespace
}  // namespace tilescope::transfer
