#include "transfer/staging.hpp"

#include <algorithm>

#include "operations/numerics/conversion.hpp"

namespace tilescope::transfer {
namespace {

std::size_t bytes_of(std::int64_t elements, DataType type) {
  return static_cast<std::size_t>(elements) * size_of(type);
}

}  // namespace

Stager::Stager(Device& device, DataType element, std::size_t buffer_bytes)
    : device_(device), element_(element), stream_(device.create_stream()) {
  for (Slot& slot : slots_) {
    slot.memory = PinnedBuffer(device, std::max(buffer_bytes, size_of(element)));
    slot.emptied = device.create_event();
  }
}

std::int64_t Stager::rows_per_slot(std::int64_t columns) const {
  const auto elements = static_cast<std::int64_t>(slots_[0].memory.bytes() / size_of(element_));
  return std::max<std::int64_t>(1, elements / columns);
}

void Stager::upload(const ConstMatrixView& from, DeviceAddress to, std::int64_t padded_rows,
                    std::int64_t padded_columns) {
  if (from.rows != padded_rows || from.columns != padded_columns) {
    device_.fill(to, 0, bytes_of(padded_rows * padded_columns, element_), stream_);
  }
  upload_rows(from, to, padded_columns);
}

void Stager::upload_rows(const ConstMatrixView& from, DeviceAddress to, std::int64_t pitch) {
  // A row longer than a buffer is copied in pieces.
  const auto most_columns = static_cast<std::int64_t>(slots_[0].memory.bytes() / size_of(element_));
  for (std::int64_t column = 0; column < from.columns; column += most_columns) {
    const std::int64_t columns = std::min(most_columns, from.columns - column);
    for (std::int64_t row = 0; row < from.rows; row += rows_per_slot(columns)) {
      const std::int64_t rows = std::min(rows_per_slot(columns), from.rows - row);
      Slot& slot = slots_[turn_++ % slots_.size()];
      if (slot.in_flight) device_.synchronize(slot.emptied);
      operations::convert_matrix(operations::part(from, row, rows, column, columns),
                                 dense_view(slot.memory.data(), element_, rows, columns));
      device_.copy_rows_to_device(to + bytes_of(row * pitch + column, element_),
                                  bytes_of(pitch, element_), slot.memory.data(),
                                  bytes_of(columns, element_), bytes_of(columns, element_),
                                  static_cast<std::size_t>(rows), stream_);
      device_.record(slot.emptied, stream_);
      slot.in_flight = true;
    }
  }
}

void Stager::download(DeviceAddress from, std::int64_t padded_columns, const MatrixView& to) {
  struct Piece {
    std::int64_t row, rows, column, columns;
  };
  std::vector<Piece> pieces;
  const auto most_columns = static_cast<std::int64_t>(slots_[0].memory.bytes() / size_of(element_));
  for (std::int64_t column = 0; column < to.columns; column += most_columns) {
    const std::int64_t columns = std::min(most_columns, to.columns - column);
    for (std::int64_t row = 0; row < to.rows; row += rows_per_slot(columns)) {
      pieces.push_back({row, std::min(rows_per_slot(columns), to.rows - row), column, columns});
    }
  }
  const auto start = [&](std::size_t i) {
    const Piece& p = pieces[i];
    Slot& slot = slots_[i % slots_.size()];
    device_.copy_rows_to_host(slot.memory.data(), bytes_of(p.columns, element_),
                              from + bytes_of(p.row * padded_columns + p.column, element_),
                              bytes_of(padded_columns, element_), bytes_of(p.columns, element_),
                              static_cast<std::size_t>(p.rows), stream_);
    device_.record(slot.emptied, stream_);
  };
  if (!pieces.empty()) start(0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i + 1 < pieces.size()) start(i + 1);
    Slot& slot = slots_[i % slots_.size()];
    device_.synchronize(slot.emptied);
    const Piece& p = pieces[i];
    operations::convert_matrix(
        dense_view(static_cast<const void*>(slot.memory.data()), element_, p.rows, p.columns),
        operations::part(to, p.row, p.rows, p.column, p.columns));
  }
}

}  // namespace tilescope::transfer
