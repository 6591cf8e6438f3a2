// The actions of every thread of one block between barriers: which element it brings from global to
// shared memory, and which elements it multiplies. This is the table of execution phases of a tiled
// kernel, from a run instead of by hand.
//
// The PTX shows which load feeds which store or product (registers defined by a load); the accesses
// of the run show where the elements lie.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/events.hpp"

namespace tilescope::observe {

/// One element of a buffer or variable.
struct TracedElement {
  std::string object;
  std::uint64_t offset = 0;  ///< bytes from its start
  std::uint32_t bytes = 0;
};

struct TracedMove {
  std::uint32_t thread = 0;  ///< linear in the block
  TracedElement from, to;
};

struct TracedProduct {
  std::uint32_t thread = 0;
  TracedElement left, right;
};

struct TracedResult {
  std::uint32_t thread = 0;
  TracedElement to;
};

/// Moves into shared memory, then products, up to the next moves behind a barrier.
struct Phase {
  std::vector<TracedMove> moves;
  std::vector<TracedProduct> products;
};

struct PhaseTable {
  Dim3 block{0, 0, 0};  ///< extents
  std::vector<Phase> phases;
  std::vector<TracedResult> results;  ///< what threads store in global memory
  /// Bytes from one row of threadIdx.y to the next; missing if unknown.
  std::map<std::string, std::uint64_t> row_bytes;
};

/// Watches block 0 of the first launch.
class PhaseTrace : public emulator::Observer {
 public:
  /// A larger block has no trace: its table could not be read.
  static constexpr std::uint32_t kMostThreads = 64;

  std::uint32_t events() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;

  const PhaseTable& result() const { return table_; }
  /// Threads of a block of the first launch.
  std::uint32_t threads() const { return threads_; }

  /// Element number `element` of a load's data.
  struct Source {
    emulator::InstructionId load = 0;
    std::uint32_t element = 0;
  };
  struct Product {
    Source left, right;
  };
  /// The flow in the PTX from loads to stores and products, by InstructionId.
  struct Flow {
    std::map<emulator::InstructionId, std::vector<Source>> stores;     ///< one source an element
    std::map<emulator::InstructionId, std::vector<Product>> products;  ///< at the later load
    std::map<emulator::InstructionId, std::uint32_t> element_bytes;
  };

 private:
  Flow flow_;
  PhaseTable table_;
  std::uint32_t threads_ = 0;
  bool first_ = true;
  bool seen_ = false;
};

}  // namespace tilescope::observe
