// The kinds of memory of a variable: who sees them, how long they last, what they cost.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/gpu/gpu_table.hpp>
#include <vector>

namespace tilescope::gpu {

struct MemorySpace {
  std::string_view name;         ///< "registers"
  std::string_view declaration;  ///< how a kernel declares a variable there
  std::string_view scope;        ///< the threads that can read it
  std::string_view lifetime;
  std::string_view access;  ///< "read and write" or "read"
  bool on_chip = false;
  bool cached = false;   ///< by caches that are on the chip
  MemoryLevel nearest;   ///< the level that serves it at best,
  MemoryLevel farthest;  ///< and at worst
};

/// Registers, shared, local, global, constant, texture.
const std::vector<MemorySpace>& memory_spaces();

/// A level's cost on a GPU; 0 if unknown.
struct LevelCost {
  MemoryLevel level;
  double latency_cycles = 0.0, latency_ns = 0.0;
  double bytes_per_second = 0.0;  ///< of the whole GPU
  double capacity_bytes = 0.0;    ///< of the whole GPU
  std::string latency_source, bandwidth_source;
  bool measured = false;
};
std::vector<LevelCost> level_costs(const Gpu& gpu);

}  // namespace tilescope::gpu
