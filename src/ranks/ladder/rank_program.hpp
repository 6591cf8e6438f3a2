// Distributed products as data: the actions of each rank, which ranks of MPI carry out and which
// play() lets happen on a model of a network. The rungs of `ladder distributed`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tilescope/matrix.hpp>
#include <vector>

#include "distribute/shares.hpp"

namespace tilescope::ranks {

enum class DistributedRung : std::uint8_t {
  broadcast_all,
  ring,
  summa,
  summa_overlapped,
  replicated,
};

struct DistributedRungInfo {
  DistributedRung rung;
  std::string_view name;
  std::string_view idea;
};
/// In the order in which they are climbed.
std::span<const DistributedRungInfo> distributed_rungs();

/// How a product is cut: the rows of A and C, the columns of B and C, and k in `depths` parts.
struct Layout {
  MatmulShape shape;
  int rows = 1, columns = 1, depths = 1;
  int layers = 1;  ///< ranks that share a block of C, each with a part of k

  int ranks() const { return rows * columns * layers; }
  distribute::Range row(int i) const { return part(shape.m, rows, i); }
  distribute::Range column(int j) const { return part(shape.n, columns, j); }
  distribute::Range depth(int l) const { return part(shape.k, depths, l); }

 private:
  static distribute::Range part(std::int64_t total, int parts, int index) {
    const std::int64_t first = total * index / parts;
    return {first, total * (index + 1) / parts - first};
  }
};

/// The layout of a rung on so many ranks. One layer from `replicated` where their number is a prime
/// above 3: that rung is then the one before it.
Layout layout_of(DistributedRung rung, const MatmulShape& shape, int ranks);

enum class Operand : std::uint8_t { a, b, c };

/// A part of an operand, by the numbers of its parts: A (row, depth), B (depth, column), C (row,
/// column).
struct BlockName {
  Operand operand = Operand::a;
  std::uint16_t first = 0, second = 0;

  friend auto operator<=>(const BlockName&, const BlockName&) = default;
};
/// Rows and columns of a block.
struct BlockExtents {
  distribute::Range rows, columns;
  std::int64_t elements() const { return rows.count * columns.count; }
};
BlockExtents extents_of(const Layout& layout, const BlockName& block);

/// One step of a rank. Messages between two ranks match by their blocks.
struct Action {
  enum class Kind : std::uint8_t {
    send,      ///< to `peer`, as soon as the block is here; the rank goes on
    receive,   ///< from `peer`; the rank goes on
    wait,      ///< until the block is here
    hand_on,   ///< until the block has been sent to all that it goes to
    multiply,  ///< adds A `block` times B `other` to this rank's block of C
    add,       ///< adds `block`, another rank's sums, to this rank's block of C
    drop,      ///< frees the memory of a received block, once it has been sent on
  };
  Kind kind = Kind::wait;
  BlockName block, other = {};
  std::int32_t peer = -1;
};

/// The blocks of A and B that a rank holds at the start.
std::vector<BlockName> own_blocks(const Layout& layout, int rank);
/// The block of C that it computes.
BlockName result_block(const Layout& layout, int rank);

std::vector<Action> program_of(DistributedRung rung, const Layout& layout, int rank);

}  // namespace tilescope::ranks
