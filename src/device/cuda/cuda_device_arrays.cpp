// Arrays and textures of CudaDevice.
#include "device/cuda/cuda_device.hpp"

namespace tilescope::device {

std::uint64_t CudaDevice::new_array(const ArrayRequest& request, std::string_view name) {
  make_current();
  return textures_.create_array(request, name);
}

std::uint64_t CudaDevice::new_texture(const TextureRequest& request) {
  make_current();
  return textures_.create_texture(request);
}

std::uint64_t CudaDevice::new_surface(std::uint64_t array, unsigned level) {
  make_current();
  return textures_.create_surface(array, level);
}

void CudaDevice::free_array(std::uint64_t array) noexcept {
  enter();
  textures_.destroy_array(array);
}

void CudaDevice::free_texture(std::uint64_t texture) noexcept {
  enter();
  driver_.texture_destroy(texture);
}

void CudaDevice::free_surface(std::uint64_t surface) noexcept {
  enter();
  driver_.surface_destroy(surface);
}

void CudaDevice::copy_box(const BoxCopy& copy, const Stream& stream) {
  if (copy.row_bytes == 0 || copy.rows == 0 || copy.slices == 0) return;
  make_current();
  textures_.copy(copy, reinterpret_cast<CUstream>(stream.value()));
  if (copy.to.on_host || copy.from.on_host) finish_copy(stream);
}

}  // namespace tilescope::device
