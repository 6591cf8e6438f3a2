// The arrays, texture objects and surface objects of a machine, by their handles.
//
// Handles of objects lie in a window of their own, so that a pointer or a forgotten argument is no
// object. A destroyed object's handle is not given out again.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "emulator/memory_map.hpp"
#include "emulator/textures/image.hpp"

namespace tilescope::emulator {

inline constexpr std::uint64_t kTextureHandles = 0x6000'0000'0000;
inline constexpr std::uint64_t kTextureHandlesEnd = 0x6001'0000'0000;

struct TextureObject {
  Image image;
  Sampler sampler;
  bool surface = false;
  bool destroyed = false;
};

class TextureTable {
 public:
  explicit TextureTable(MemoryMap& memory) : memory_(memory) {}

  /// Allocates the array's memory; its address is the handle. Throws usage for an impossible
  /// request, no_device when memory is used up.
  std::uint64_t create_array(const ArrayRequest& request, std::string_view name);
  void destroy_array(std::uint64_t array);
  /// Throws usage if it is no array.
  const Image& array(std::uint64_t array) const;

  /// Each throws usage, with the rule that the request breaks.
  std::uint64_t create_texture(const TextureRequest& request);
  std::uint64_t create_surface(std::uint64_t array, unsigned level);
  void destroy(std::uint64_t object);

  /// The object, perhaps a destroyed one; null: the handle names none.
  const TextureObject* find(std::uint64_t object) const;
  /// Whether the object's memory is still allocated.
  bool intact(const TextureObject& object) const;

 private:
  struct StoredArray {
    Image image;
    ArrayRequest request;
  };
  const StoredArray& stored(std::uint64_t array) const;
  Image image_in_memory(const TextureRequest& request) const;
  Image part_of_array(const TextureRequest& request) const;
  std::uint64_t add(TextureObject object);

  MemoryMap& memory_;
  std::map<std::uint64_t, StoredArray> arrays_;
  std::map<std::uint64_t, TextureObject> objects_;
  std::uint64_t next_ = kTextureHandles + 1;
};

}  // namespace tilescope::emulator
