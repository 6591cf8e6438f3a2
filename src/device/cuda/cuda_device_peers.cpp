// A GPU's way to another GPU's memory.
#include <fmt/format.h>

#include "device/cuda/cuda_device.hpp"

namespace tilescope::device {

bool CudaDevice::reaches(CudaDevice& peer, Reach memory) {
  int reached = 0;
  driver_.check(driver_.can_access_peer(&reached, device_, peer.device_), "cuDeviceCanAccessPeer");
  if (reached == 0) return false;
  if (memory == Reach::linked && peer.pools_) {
    peer.make_current();
    peer.pools_->give_access(device_);
    return true;
  }
  make_current();
  const CUresult result = driver_.enable_peer(peer.context_, 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
    driver_.check(result, "cuCtxEnablePeerAccess", fmt::format("of {} to {}", id(), peer.id()));
  }
  return true;
}

void CudaDevice::queue_rows_of_peer(const CudaDevice& peer, DeviceAddress to, std::size_t to_pitch,
                                    DeviceAddress from, std::size_t from_pitch,
                                    std::size_t row_bytes, std::size_t rows, const Stream& stream) {
  CUDA_MEMCPY3D_PEER copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcContext = peer.context_;
  copy.srcDevice = from;
  copy.srcPitch = from_pitch;
  copy.srcHeight = rows;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstContext = context_;
  copy.dstDevice = to;
  copy.dstPitch = to_pitch;
  copy.dstHeight = rows;
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  copy.Depth = 1;
  make_current();
  driver_.check(driver_.copy_peer(&copy, reinterpret_cast<CUstream>(stream.value())),
                "cuMemcpy3DPeer", fmt::format("from {} to {}", peer.id(), id()));
}

void CudaDevice::signal(DeviceAddress word, const Stream& stream) {
  make_current();
  driver_.check(driver_.stream_write(reinterpret_cast<CUstream>(stream.value()), word, 1, 0),
                "cuStreamWriteValue32");
}

}  // namespace tilescope::device
