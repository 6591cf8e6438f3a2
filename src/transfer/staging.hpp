// Copies host matrices to and from a device through pinned buffers: conversion and copy in one
// pass.
#pragma once

#include <array>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <tilescope/pinned.hpp>

namespace tilescope::transfer {

/// Copies parts of host matrices of any type, order and leading dimension to dense row-major device
/// matrices of one element type, and back. All cores fill one pinned buffer while the link empties
/// the other. One direction, one stream, one host thread each.
class Stager {
 public:
  /// `buffer_bytes`: size of each of the two pinned buffers.
  Stager(Device& device, DataType element, std::size_t buffer_bytes);

  const Stream& stream() const { return stream_; }

  /// Queues `from` into the upper left of a padded_rows x padded_columns matrix at `to`; the rest
  /// of it becomes zero.
  void upload(const ConstMatrixView& from, DeviceAddress to, std::int64_t padded_rows,
              std::int64_t padded_columns);

  /// Queues `from` into rows of device memory starting at `to`, `pitch` elements apart; the gaps
  /// are not written.
  void upload_rows(const ConstMatrixView& from, DeviceAddress to, std::int64_t pitch);

  /// Copies the upper left of the device matrix at `from`, whose rows are `padded_columns` long,
  /// into `to`. Complete when the call returns.
  void download(DeviceAddress from, std::int64_t padded_columns, const MatrixView& to);

 private:
  struct Slot {
    PinnedBuffer memory;
    Event emptied;
    bool in_flight = false;
  };
  std::int64_t rows_per_slot(std::int64_t columns) const;

  Device& device_;
  DataType element_;
  Stream stream_;
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;  // of the slots, for uploads
};

}  // namespace tilescope::transfer
