#include "emulator/textures/image.hpp"

namespace tilescope::emulator {

Image image_of(const ArrayRequest& array) {
  Image image;
  image.format = array.format;
  image.layered = array.layered;
  image.cube = array.cube;
  image.tiled = true;
  const bool slices = array.layered || array.cube;
  image.dimensions = array.height == 0 ? 1 : array.depth == 0 || slices ? 2 : 3;
  const auto at_least_1 = [](std::size_t extent) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(extent, 1));
  };
  if (array.layered) image.layers = at_least_1(array.depth / (array.cube ? 6 : 1));
  for (unsigned level = 0; level < array.levels; ++level) {
    ImageLevel one;
    one.width = at_least_1(array.width >> level);
    one.height = at_least_1(array.height >> level);
    one.depth = slices ? at_least_1(array.depth) : at_least_1(array.depth >> level);
    one.pitch = one.width * array.format.bytes();
    one.slice_pitch = one.pitch * one.height;
    image.levels.push_back(one);
  }
  place(image, 0, nullptr);
  return image;
}

void place(Image& image, std::uint64_t address, const std::uint8_t* data) {
  for (ImageLevel& level : image.levels) {
    level.address = address;
    level.data = data;
    address += level.slice_pitch * level.depth;
    if (data != nullptr) data += level.slice_pitch * level.depth;
  }
}

}  // namespace tilescope::emulator
