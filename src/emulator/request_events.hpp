// The events of whole warp instructions that take a way of their own to memory: to shared memory of
// other blocks of the cluster, and through the texture unit. Access reports what they touch, these
// what a profiler counts as one request.
#pragma once

#include <cstdint>
#include <vector>

namespace tilescope::emulator {

struct Image;  // textures/image.hpp

enum class ClusterOperation : std::uint8_t { load, store, atomic, async_store, async_reduction };

/// A load, store or atomic with a lane in the shared memory of another block of the cluster, or a
/// st.async or red.async.
struct ClusterRequest {
  std::uint32_t instruction;  ///< InstructionId
  std::uint32_t warp;
  /// Those in the own block's memory only if the operation is asynchronous.
  std::uint32_t lanes;
  ClusterOperation operation;
  std::uint32_t bytes;             ///< per lane
  const std::uint64_t* addresses;  ///< of each lane: offset in the shared memory of its block
  const std::uint32_t* ranks;      ///< of each lane: that block
};

/// A warp instruction that samples textures, or loads from or stores to surfaces.
struct TexelRequest {
  std::uint32_t instruction = 0;  ///< InstructionId
  std::uint32_t warp = 0;
  std::uint32_t lanes = 0;
  bool surface = false;
  bool whole = false;   ///< by whole coordinates
  bool filter = false;  ///< linear
  /// Each lane's image, or null, and the device addresses of the elements that it touches.
  const Image* const* images = nullptr;
  const std::vector<std::uint64_t>* elements = nullptr;
};

}  // namespace tilescope::emulator
