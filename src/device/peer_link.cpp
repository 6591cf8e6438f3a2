#include "device/peer_link.hpp"

#include <vector>

#include "device/cuda/cuda_device.hpp"
#include "device/emulated/emulated_device.hpp"

namespace tilescope::device {
namespace {

// A GPU's stream waits for any GPU's event. Other devices know their own events only: the host
// waits instead.
void order(Device& waiting, const Stream& stream, Device& other, const Event& event) {
  const bool are_gpus = waiting.kind() == DeviceKind::cuda && other.kind() == DeviceKind::cuda;
  if (&waiting == &other || are_gpus) {
    waiting.wait(stream, event);
  } else {
    other.synchronize(event);
  }
}

}  // namespace

PeerLink::PeerLink(std::shared_ptr<Device> from, std::shared_ptr<Device> to, Reach memory)
    : from_(std::move(from)), to_(std::move(to)), memory_(memory) {
  is_direct_ = from_ == to_ || (are_gpus() && static_cast<CudaDevice&>(*to_).reaches(
                                                  static_cast<CudaDevice&>(*from_), memory));
}

bool PeerLink::are_gpus() const {
  return from_->kind() == DeviceKind::cuda && to_->kind() == DeviceKind::cuda;
}

void PeerLink::copy_rows(DeviceAddress to, std::size_t to_pitch, DeviceAddress from,
                         std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                         const Stream& stream) const {
  if (row_bytes == 0 || rows == 0) return;
  if (from_ == to_) {
    to_->queue_copy_rows(to, to_pitch, from, from_pitch, row_bytes, rows, stream);
  } else if (are_gpus()) {
    static_cast<CudaDevice&>(*to_).queue_rows_of_peer(static_cast<const CudaDevice&>(*from_), to,
                                                      to_pitch, from, from_pitch, row_bytes, rows,
                                                      stream);
  } else {
    if (from_->kind() == DeviceKind::emulated) {
      static_cast<const EmulatedDevice&>(*from_).require_reach(from, memory_);
    }
    std::vector<std::byte> between(row_bytes * rows);
    from_->copy_rows_to_host(between.data(), row_bytes, from, from_pitch, row_bytes, rows);
    to_->copy_rows_to_device(to, to_pitch, between.data(), row_bytes, row_bytes, rows, stream);
  }
}

void PeerLink::wait_for_sender(const Stream& stream, const Event& event) const {
  order(*to_, stream, *from_, event);
}

void PeerLink::wait_for_receiver(const Stream& stream, const Event& event) const {
  order(*from_, stream, *to_, event);
}

}  // namespace tilescope::device
