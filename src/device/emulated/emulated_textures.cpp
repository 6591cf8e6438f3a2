// Arrays and textures of the emulated GPU. An array is plain memory in rows.
#include "device/emulated/emulated_device.hpp"

namespace tilescope::device {

std::uint64_t EmulatedDevice::new_array(const ArrayRequest& request, std::string_view name) {
  const Lock lock(mutex_);
  return machine_.textures().create_array(request, name);
}

std::uint64_t EmulatedDevice::new_texture(const TextureRequest& request) {
  const Lock lock(mutex_);
  return machine_.textures().create_texture(request);
}

std::uint64_t EmulatedDevice::new_surface(std::uint64_t array, unsigned level) {
  const Lock lock(mutex_);
  return machine_.textures().create_surface(array, level);
}

void EmulatedDevice::free_array(std::uint64_t array) noexcept {
  const Lock lock(mutex_);
  queues_.finish_all_quietly();
  machine_.textures().destroy_array(array);
}

void EmulatedDevice::free_texture(std::uint64_t texture) noexcept {
  const Lock lock(mutex_);
  queues_.finish_all_quietly();  // a GPU lets queued work finish too
  machine_.textures().destroy(texture);
}

BoxSide EmulatedDevice::plain(const BoxSide& side) const {
  if (side.array == 0) return side;
  const emulator::Image& image = machine_.textures().array(side.array);
  if (side.level >= image.levels.size()) {
    throw Error(ErrorKind::usage, "a copy names a level that its array does not have");
  }
  const emulator::ImageLevel& level = image.levels[side.level];
  BoxSide plain = side;
  plain.address = level.address + side.z * level.slice_pitch + side.y * level.pitch + side.x_bytes;
  plain.pitch = level.pitch;
  plain.slice_pitch = level.slice_pitch;
  return plain;
}

void EmulatedDevice::copy_box(const BoxCopy& copy, const Stream& stream) {
  const Lock lock(mutex_);
  const BoxSide to = plain(copy.to), from = plain(copy.from);
  for (std::size_t slice = 0; slice < copy.slices; ++slice) {
    const std::uint64_t to_address = to.address + slice * to.slice_pitch;
    const std::uint64_t from_address = from.address + slice * from.slice_pitch;
    if (from.on_host) {
      copy_rows_to_device(to_address, to.pitch, reinterpret_cast<const void*>(from_address),
                          from.pitch, copy.row_bytes, copy.rows, stream);
    } else if (to.on_host) {
      copy_rows_to_host(reinterpret_cast<void*>(to_address), to.pitch, from_address, from.pitch,
                        copy.row_bytes, copy.rows, stream);
    } else {
      queue_copy_rows(to_address, to.pitch, from_address, from.pitch, copy.row_bytes, copy.rows,
                      stream);
    }
  }
}

}  // namespace tilescope::device
