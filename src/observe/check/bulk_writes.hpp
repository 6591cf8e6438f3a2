// The bytes of global memory that bulk stores have written, with values that were defined.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "emulator/memory_map.hpp"

namespace tilescope::observe {

class BulkWrites {
 public:
  /// Safe from several host threads.
  void add(std::uint64_t address, std::uint64_t bytes);
  bool empty() const { return stretches_.empty(); }
  /// Safe likewise.
  bool contains(std::uint64_t address) const;
  /// Begin and end of each stretch; only when no block runs any more.
  const std::map<std::uint64_t, std::uint64_t>& stretches() const { return stretches_; }
  /// From now on these bytes hold values.
  void keep(emulator::MemoryMap& memory) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> stretches_;  ///< begin and end; they never touch
};

}  // namespace tilescope::observe
