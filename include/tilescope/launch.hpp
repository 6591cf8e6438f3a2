// The parts of a kernel launch: a grid of blocks of threads, shared memory, arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace tilescope {

/// Extents in x, y and z, as CUDA's dim3.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;

  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

/// The execution configuration of one launch: <<<grid, block, shared_bytes>>>.
struct Launch {
  Dim3 grid = {};                ///< blocks
  Dim3 block = {};               ///< threads per block
  std::size_t shared_bytes = 0;  ///< dynamic shared memory per block, bytes
  bool cooperative = false;      ///< all blocks resident at once, so that the grid can synchronise
  Dim3 cluster = {};             ///< blocks per cluster; the grid is a multiple of it
  /// The launch may start while the kernel before it in the stream still runs. The kernel then
  /// waits for that kernel's results itself (cudaGridDependencySynchronize). A device without this
  /// feature starts it later, which is always correct.
  bool overlaps_previous = false;
};

/// The parameters of one launch, packed as the kernel's parameter space holds them: each value at
/// the next multiple of its alignment.
class KernelArguments {
 public:
  KernelArguments() = default;

  template <typename... T>
  static KernelArguments of(const T&... values) {
    KernelArguments arguments;
    (arguments.push(values), ...);
    return arguments;
  }

  template <typename T>
  void push(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "kernel parameters are copied as bytes");
    push_bytes(&value, sizeof(T), alignof(T));
  }

  void push_bytes(const void* value, std::size_t size, std::size_t alignment) {
    const std::size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(offset + size);
    std::memcpy(bytes_.data() + offset, value, size);
    offsets_.push_back(offset);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  const std::vector<std::size_t>& offsets() const { return offsets_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> offsets_;
};

}  // namespace tilescope
