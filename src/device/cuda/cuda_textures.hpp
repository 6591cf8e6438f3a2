// Arrays, textures and surfaces of a CUDA GPU. The context must be current in every call.
#pragma once

#include <map>
#include <mutex>
#include <string_view>
#include <tilescope/texture.hpp>

#include "device/cuda/driver.hpp"

namespace tilescope::device {

/// The first handle of an array, and the distance of the next.
inline constexpr std::uint64_t kFirstArray = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kArrayStride = std::uint64_t{1} << 42;

class CudaTextures {
 public:
  explicit CudaTextures(const Driver& driver) : driver_(driver) {}

  /// Handles are numbers that no pointer has, far enough apart to count an array's bytes from them.
  std::uint64_t create_array(const ArrayRequest& request, std::string_view name);
  void destroy_array(std::uint64_t array) noexcept;
  std::uint64_t create_texture(const TextureRequest& request) const;
  std::uint64_t create_surface(std::uint64_t array, unsigned level) const;
  void copy(const BoxCopy& copy, CUstream stream) const;

 private:
  struct Array {
    CUarray single = nullptr;
    CUmipmappedArray mipmapped = nullptr;
    ArrayRequest request;
  };
  Array find(std::uint64_t array) const;
  CUarray level_of(const Array& array, unsigned level) const;

  const Driver& driver_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Array> arrays_;
  std::uint64_t next_ = kFirstArray;
};

}  // namespace tilescope::device
