// Copies from one device's memory to another's, and the order between streams of two devices.
#pragma once

#include <memory>
#include <tilescope/device.hpp>

namespace tilescope::device {

/// The way from the memory of one device to that of another.
///
/// - Two GPUs: their copy engines, over NVLink or PCIe where the GPUs reach each other, else
/// through
///   the driver's buffers in host memory.
/// - Other devices, and a device and itself: through the host, or within the device.
class PeerLink {
 public:
  /// `memory`: which memory of the sender it copies, `any` or `linked`.
  PeerLink(std::shared_ptr<Device> from, std::shared_ptr<Device> to, Reach memory = Reach::any);

  /// Whether no byte passes through host memory.
  bool is_direct() const { return is_direct_; }

  /// Copies `rows` rows of `row_bytes` each, in the order of `stream`, which belongs to the
  /// receiving device; pitches are the bytes between the starts of rows. Only queued where both are
  /// GPUs. The sender's memory is read at some time between this call and the copy's end. Throws
  /// Error(usage) for other memory of an emulated GPU than the link is for; a GPU may copy it
  /// slowly.
  void copy_rows(DeviceAddress to, std::size_t to_pitch, DeviceAddress from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows, const Stream& stream) const;

  /// Work queued in `stream` of the receiver from now on runs after the sender's event.
  void wait_for_sender(const Stream& stream, const Event& event) const;
  /// Work queued in `stream` of the sender from now on runs after the receiver's event.
  void wait_for_receiver(const Stream& stream, const Event& event) const;

 private:
  bool are_gpus() const;

  std::shared_ptr<Device> from_, to_;
  Reach memory_;
  bool is_direct_ = false;
};

}  // namespace tilescope::device
