#include "cudart/state/perform.hpp"

#include <cstring>

#include "cudart/state/pending_memory.hpp"

namespace tilescope::cudart {
namespace {

struct Performer {
  Context& context;
  CUstream_st& target;
  const inspect::HostCall& call;
  Device& device = context.device();

  const Stream& next() const { return context.streams().next(target); }

  void operator()(const KernelOperation& kernel) const {
    const Stream& stream = next();
    if (auto* watch = context.watch()) {
      device.call([watch, at = call] { watch->before_launch(at); }, stream);
    }
    device.launch(kernel.kernel, kernel.launch, kernel.arguments, stream);
  }

  void operator()(const CopyOperation& copy) const {
    if (copy.empty()) return;
    const Stream& stream = next();
    if (copy.uses_arrays()) return box(copy, stream);
    const bool packed = copy.to.pitch == copy.row_bytes && copy.from.pitch == copy.row_bytes;
    for (std::size_t slice = 0; slice < copy.slices; ++slice) {
      const CopySide to = copy.to.at(0, slice), from = copy.from.at(0, slice);
      if (packed || copy.rows == 1) {
        rows(to, from, copy.row_bytes * copy.rows, 1, stream);
      } else {
        rows(to, from, copy.row_bytes, copy.rows, stream);
      }
    }
  }

  void box(const CopyOperation& copy, const Stream& stream) const {
    const auto side_of = [](const CopySide& side) {
      return BoxSide{.array = side.array,
                     .level = side.level,
                     .x_bytes = side.x_bytes,
                     .y = side.y,
                     .z = side.z,
                     .address = side.address,
                     .on_host = !side.on_device,
                     .pitch = side.pitch,
                     .slice_pitch = side.slice_pitch};
    };
    if (!copy.to.on_device) {
      for (std::size_t slice = 0; slice < copy.slices; ++slice) {
        watch_read(copy.from.at(0, slice), copy.row_bytes, copy.rows, stream);
      }
    }
    device.copy_box({.to = side_of(copy.to),
                     .from = side_of(copy.from),
                     .row_bytes = copy.row_bytes,
                     .rows = copy.rows,
                     .slices = copy.slices},
                    stream);
  }

  void rows(const CopySide& to, const CopySide& from, std::size_t bytes, std::size_t count,
            const Stream& stream) const {
    if (to.on_device && !from.on_device) {
      return device.copy_rows_to_device(to.address, to.pitch, from.host(), from.pitch, bytes, count,
                                        stream);
    }
    if (!to.on_device && from.on_device) {
      watch_read(from, bytes, count, stream);
      return device.copy_rows_to_host(to.host(), to.pitch, from.address, from.pitch, bytes, count,
                                      stream);
    }
    if (to.on_device) {
      return device.queue_copy_rows(to.address, to.pitch, from.address, from.pitch, bytes, count,
                                    stream);
    }
    device.call(
        [=] {
          for (std::size_t row = 0; row < count; ++row) {
            std::memmove(to.at(row, 0).host(), from.at(row, 0).host(), bytes);
          }
        },
        stream);
  }

  void watch_read(const CopySide& from, std::size_t bytes, std::size_t count,
                  const Stream& stream) const {
    auto* const watch = context.watch();
    if (watch == nullptr) return;
    device.call(
        [watch, from, bytes, count, at = call] {
          for (std::size_t row = 0; row < count; ++row) {
            watch->before_read(from.at(row, 0).address, bytes, at);
          }
        },
        stream);
  }

  void operator()(const FillOperation& fill) const {
    const Stream& stream = next();
    for (std::size_t slice = 0; slice < fill.slices; ++slice) {
      const CopySide to = fill.to.at(0, slice);
      if (fill.element_bytes == 1) {
        device.fill_rows(to.address, to.pitch, static_cast<std::uint8_t>(fill.value), fill.width,
                         fill.rows, stream);
      } else {
        fill_elements(fill, to, stream);
      }
    }
  }

  void fill_elements(const FillOperation& fill, const CopySide& to, const Stream& stream) const {
    std::vector<std::byte> row(fill.width * fill.element_bytes);
    for (std::size_t at = 0; at < row.size(); at += fill.element_bytes) {
      std::memcpy(row.data() + at, &fill.value, fill.element_bytes);
    }
    device.copy_rows_to_device(to.address, to.pitch, row.data(), 0, row.size(), fill.rows, stream);
  }

  void operator()(const HostOperation& host) const {
    device.call([host] { host.function(host.data); }, next());
  }

  void operator()(const RecordOperation& record) const {
    device.record(record.event->point, next());
    record.event->recorded = true;
    record.event->capture.reset();
  }

  void operator()(const WaitOperation& wait) const { device.wait(next(), wait.event->point); }

  void operator()(const EmptyOperation&) const {}

  void operator()(const AllocateOperation& allocate) const {
    context.graph_memory().allocate(allocate.block);
  }

  void operator()(const FreeOperation& free) const {
    GraphBlock* const block = context.graph_memory().find(free.address);
    require(block != nullptr, cudaErrorInvalidValue);
    device.call([done = context.graph_memory().free(*block, call)] { *done = true; }, next());
  }
};

}  // namespace

void perform(Context& context, const Operation& operation, CUstream_st& stream,
             const inspect::HostCall& call) {
  const Performer perform{context, stream, call};
  if (!context.checks()) return std::visit(perform, operation);
  Device& device = context.device();
  device.call([] { HostGuard::instance().begin_work(); }, context.streams().next(stream));
  const std::vector<std::uint64_t> claims = claim_memory(context, operation, call);
  std::visit(perform, operation);
  device.call([claims] { HostGuard::instance().end_work(claims); }, context.streams().next(stream));
}

}  // namespace tilescope::cudart
