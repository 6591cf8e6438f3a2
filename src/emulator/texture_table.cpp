#include "emulator/texture_table.hpp"

#include <tilescope/error.hpp>

#include "base/errors.hpp"

namespace tilescope::emulator {
namespace {

/// Extents of any GPU so far; so no product of them overflows.
constexpr std::size_t kMostTextureExtent = 1 << 18;
constexpr std::size_t kMostLinear = std::size_t{1} << 32;

void require_format(const TexelFormat& format) {
  const bool channels = format.channels == 1 || format.channels == 2 || format.channels == 4;
  const bool bits = format.bits == 8 || format.bits == 16 || format.bits == 32;
  if (!channels || !bits || (format.kind == TexelKind::floating && format.bits == 8)) {
    throw usage_error(
        "an element of {} channels of {} bits: expected 1, 2 or 4 of 8, 16 or 32 "
        "bits, floats of 16 or 32",
        format.channels, format.bits);
  }
}

void require_array(const ArrayRequest& request) {
  require_format(request.format);
  const auto fits = [](std::size_t extent) { return extent <= kMostTextureExtent; };
  if (request.width == 0 || !fits(request.width) || !fits(request.height) || !fits(request.depth)) {
    throw usage_error("an array of {} x {} x {} elements: expected 1 to {} along each axis",
                      request.width, request.height, request.depth, kMostTextureExtent);
  }
  if (request.cube && (request.width != request.height || request.depth == 0 ||
                       request.depth % 6 != 0 || (!request.layered && request.depth != 6))) {
    throw usage_error("a cube map of {} x {} x {} elements: expected squares, 6 for each cube",
                      request.width, request.height, request.depth);
  }
  const std::size_t longest = std::max(request.width, std::max(request.height, request.depth));
  if (request.levels == 0 || request.levels > 32 || (longest << 1) >> request.levels == 0) {
    throw usage_error("{} levels of an array of {} x {} x {} elements: each is half the one before",
                      request.levels, request.width, request.height, request.depth);
  }
}

void require_sampler(const Sampler& sampler, const TexelFormat& format) {
  const bool floats = format.kind == TexelKind::floating;
  if (sampler.filter == Filter::linear && !floats && !sampler.as_float) {
    throw usage_error("a linear filter needs elements that are read as floats");
  }
  if (sampler.as_float && !floats && format.bits == 32) {
    throw usage_error("integers of 32 bits cannot be read as normalized floats");
  }
  if (sampler.srgb && (format.bits != 8 || format.kind != TexelKind::natural)) {
    throw usage_error("sRGB needs channels of 8 bits without sign");
  }
}

}  // namespace

std::uint64_t TextureTable::create_array(const ArrayRequest& request, std::string_view name) {
  require_array(request);
  Image image = image_of(request);
  const std::uint64_t address = memory_.allocate(image.bytes(), name);
  place(image, address, memory_.find(address)->data());
  arrays_.insert_or_assign(address, StoredArray{std::move(image), request});
  return address;
}

void TextureTable::destroy_array(std::uint64_t array) {
  if (arrays_.erase(array) != 0) memory_.free(array);
}

const TextureTable::StoredArray& TextureTable::stored(std::uint64_t array) const {
  const auto found = arrays_.find(array);
  if (found == arrays_.end()) throw usage_error("{:#x} is no array", array);
  return found->second;
}

const Image& TextureTable::array(std::uint64_t array) const {
  return stored(array).image;
}

Image TextureTable::image_in_memory(const TextureRequest& request) const {
  require_format(request.format);
  const std::size_t element = request.format.bytes();
  const bool rows = request.height != 0;
  if (request.width == 0 || request.width > (rows ? kMostTextureExtent : kMostLinear) ||
      request.height > kMostTextureExtent || (rows && request.pitch < request.width * element)) {
    throw usage_error("a texture of {} x {} elements with rows of {} bytes: too large or too small",
                      request.width, request.height, request.pitch);
  }
  Image image;
  image.format = request.format;
  image.linear = !rows;
  image.dimensions = rows ? 2 : 1;
  ImageLevel level;
  level.width = static_cast<std::uint32_t>(request.width);
  level.height = static_cast<std::uint32_t>(std::max<std::size_t>(request.height, 1));
  level.pitch = rows ? request.pitch : request.width * element;
  // The last row may be cut.
  level.slice_pitch = level.pitch * (level.height - 1) + request.width * element;
  image.levels.push_back(level);
  const Allocation* const holder = memory_.find(request.address, image.bytes());
  if (holder == nullptr || request.address % element != 0) {
    throw usage_error(
        "a texture of {} bytes at {:#x}: expected an aligned address, and one "
        "allocation that holds all bytes",
        image.bytes(), request.address);
  }
  place(image, request.address, holder->data() + (request.address - holder->address()));
  return image;
}

Image TextureTable::part_of_array(const TextureRequest& request) const {
  Image image = array(request.array);
  if (request.other_format) {
    require_format(request.format);
    if (request.format.bytes() != image.format.bytes()) {
      throw usage_error("a view of {} bytes an element of an array of {}", request.format.bytes(),
                        image.format.bytes());
    }
    image.format = request.format;
  }
  if (!request.part) return image;
  const unsigned layers = std::max(image.layers, 1u);
  if (request.first_level > request.last_level || request.last_level >= image.levels.size() ||
      request.first_layer > request.last_layer || request.last_layer >= layers) {
    throw usage_error("a view of levels {} to {} and layers {} to {} of an array of {} and {}",
                      request.first_level, request.last_level, request.first_layer,
                      request.last_layer, image.levels.size(), layers);
  }
  image.levels.erase(image.levels.begin() + request.last_level + 1, image.levels.end());
  image.levels.erase(image.levels.begin(), image.levels.begin() + request.first_level);
  image.layers = request.last_layer - request.first_layer + 1;
  const unsigned slices = image.cube ? 6 : 1;
  for (ImageLevel& level : image.levels) {
    if (!image.layered) break;
    const std::uint64_t skipped = request.first_layer * slices * level.slice_pitch;
    level.address += skipped;
    level.data += skipped;
    level.depth = image.layers * slices;
  }
  return image;
}

std::uint64_t TextureTable::create_texture(const TextureRequest& request) {
  TextureObject object;
  object.image = request.array != 0 ? part_of_array(request) : image_in_memory(request);
  object.sampler = request.sampler;
  require_sampler(object.sampler, object.image.format);
  return add(std::move(object));
}

std::uint64_t TextureTable::create_surface(std::uint64_t array, unsigned level) {
  const StoredArray& from = stored(array);
  if (!from.request.writable || level >= from.image.levels.size()) {
    throw usage_error("a surface needs a level of an array that was made for surfaces");
  }
  TextureObject object;
  object.image = from.image;
  object.image.levels = {from.image.levels[level]};
  object.surface = true;
  return add(std::move(object));
}

std::uint64_t TextureTable::add(TextureObject object) {
  objects_.emplace(next_, std::move(object));
  return next_++;
}

void TextureTable::destroy(std::uint64_t object) {
  const auto found = objects_.find(object);
  if (found != objects_.end()) found->second.destroyed = true;
}

const TextureObject* TextureTable::find(std::uint64_t object) const {
  const auto found = objects_.find(object);
  return found == objects_.end() ? nullptr : &found->second;
}

bool TextureTable::intact(const TextureObject& object) const {
  const ImageLevel& first = object.image.levels.front();
  const Allocation* const holder = memory_.find(first.address, object.image.bytes());
  return holder != nullptr && holder->data() + (first.address - holder->address()) == first.data;
}

}  // namespace tilescope::emulator
