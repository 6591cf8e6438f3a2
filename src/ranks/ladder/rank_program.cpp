#include "ranks/ladder/rank_program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace tilescope::ranks {
namespace {

using Kind = Action::Kind;

BlockName block(Operand operand, int first, int second) {
  return {operand, static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(second)};
}

/// The grid of `ranks` ranks that is nearest to a square.
std::pair<int, int> square_grid(int ranks) {
  int rows = 1;
  for (int i = 1; i * i <= ranks; ++i) {
    if (ranks % i == 0) rows = i;
  }
  return {rows, ranks / rows};
}

/// Ranks that share a block of C: the largest divisor whose cube is no larger than the ranks, else
/// the smallest of 2 and 3.
int layers_for(int ranks) {
  int layers = 1;
  for (int c = 2; c * c * c <= ranks; ++c) {
    if (ranks % c == 0) layers = c;
  }
  for (const int c : {2, 3}) {
    if (layers == 1 && ranks % c == 0) layers = c;
  }
  return layers;
}

/// A rank's place.
struct Place {
  int row, column, layer;
};
Place place_of(const Layout& layout, int rank) {
  const int of_layer = layout.rows * layout.columns;
  return {rank % of_layer / layout.columns, rank % layout.columns, rank / of_layer};
}
int rank_at(const Layout& layout, const Place& place) {
  return (place.layer * layout.rows + place.row) * layout.columns + place.column;
}

/// The parts of k that a layer multiplies.
std::pair<int, int> depths_of(const Layout& layout, int layer) {
  return {layout.depths * layer / layout.layers, layout.depths * (layer + 1) / layout.layers};
}
/// The number of the grid's column (of `parts`) that owns A's part `depth` in its layer; with the
/// grid's rows, B's.
int owner_of(const Layout& layout, int layer, int depth, int parts) {
  const auto [first, end] = depths_of(layout, layer);
  return (depth - first) * parts / (end - first);
}

/// Appends the actions of one rank.
class Writer {
 public:
  Writer(const Layout& layout, int rank)
      : layout_(layout), rank_(rank), place_(place_of(layout, rank)) {
    for (int j = 0; j < layout.columns; ++j) {
      row_.push_back(rank_at(layout, {place_.row, j, place_.layer}));
    }
    for (int i = 0; i < layout.rows; ++i) {
      column_.push_back(rank_at(layout, {i, place_.column, place_.layer}));
    }
  }

  std::vector<Action> take() { return std::move(actions_); }

  void broadcast_all() {
    const int ranks = layout_.ranks();
    for (int l = 0; l < ranks; ++l) tree(block(Operand::b, l, 0), ranks, l, rank_, column_);
    for (int l = 0; l < ranks; ++l) {
      wait(block(Operand::b, l, 0), l);
      put({Kind::hand_on, block(Operand::b, l, 0)});
    }
    for (int l = 0; l < ranks; ++l) multiply(l);
    for (int l = 0; l < ranks; ++l) drop(block(Operand::b, l, 0), l);
  }

  void ring() {
    const int ranks = layout_.ranks();
    const int next = (rank_ + 1) % ranks, before = (rank_ + ranks - 1) % ranks;
    for (int step = 0; step < ranks; ++step) {
      const int l = (rank_ + ranks - step) % ranks;
      const BlockName b = block(Operand::b, l, 0);
      if (step > 0) {
        put({Kind::receive, b, {}, before});
        put({Kind::wait, b});
        put({Kind::hand_on, block(Operand::b, (l + 1) % ranks, 0)});
      }
      multiply(l);
      if (step + 1 < ranks) put({Kind::send, b, {}, next});
      if (step > 1) drop(block(Operand::b, (l + 1) % ranks, 0), (l + 1) % ranks);
    }
  }

  void summa() {
    const auto [first, end] = depths_of(layout_, place_.layer);
    for (int l = first; l < end; ++l) {
      begin(l, &Writer::tree);
      arrive(l);
      hand_on(l);
      multiply(l);
      release(l);
    }
  }

  // The next panels are under way while these are multiplied, and each rank hands them to the next.
  void summa_overlapped() {
    constexpr int ahead = 3;  // one arrives while another is handed on, and none waits for room
    const auto [first, end] = depths_of(layout_, place_.layer);
    for (int l = first; l < std::min(first + ahead, end); ++l) begin(l, &Writer::chain);
    for (int l = first; l < end; ++l) {
      if (l + ahead < end) begin(l + ahead, &Writer::chain);
      arrive(l);
      hand_on(l);
      multiply(l);
      release(l);
    }
  }

  // Each layer has its part of k; their sums are added in pairs.
  void replicated() {
    summa_overlapped();
    const BlockName c = result_block(layout_, rank_);
    for (int distance = 1; distance < layout_.layers; distance *= 2) {
      const int other = place_.layer ^ distance;
      const auto peer = [&](int layer) {
        return rank_at(layout_, {place_.row, place_.column, layer});
      };
      if ((place_.layer & distance) != 0) {
        put({Kind::send, c, {}, peer(place_.layer - distance)});
        return;
      }
      if (other >= layout_.layers) continue;
      put({Kind::receive, c, {}, peer(other)});
      put({Kind::wait, c});
      put({Kind::add, c});
      put({Kind::drop, c});
    }
  }

 private:
  /// The ranks of a group, in the order of their numbers in it.
  using Group = std::vector<int>;

  void put(const Action& action) { actions_.push_back(action); }

  /// A block from number `root` of a group to all: the ranks that have it send it to as many that
  /// have not, until all have it.
  void tree(const BlockName& moved, int size, int root, int mine, const Group& group) {
    const int number = (mine - root + size) % size;
    const auto at = [&](int relative) {
      return group[static_cast<std::size_t>((relative + root) % size)];
    };
    int reach = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
    if (number > 0) {
      const int lowest = number & -number;
      put({Kind::receive, moved, {}, at(number - lowest)});
      reach = lowest;
    }
    for (int distance = reach / 2; distance > 0; distance /= 2) {
      if (number + distance < size) put({Kind::send, moved, {}, at(number + distance)});
    }
  }

  /// The same from each to the next.
  void chain(const BlockName& moved, int size, int root, int mine, const Group& group) {
    const int number = (mine - root + size) % size;
    const auto at = [&](int relative) {
      return group[static_cast<std::size_t>((relative + root) % size)];
    };
    if (number > 0) put({Kind::receive, moved, {}, at(number - 1)});
    if (number + 1 < size) put({Kind::send, moved, {}, at(number + 1)});
  }

  int a_owner(int l) const { return owner_of(layout_, place_.layer, l, layout_.columns); }
  int b_owner(int l) const { return owner_of(layout_, place_.layer, l, layout_.rows); }

  void begin(int l, void (Writer::*spread)(const BlockName&, int, int, int, const Group&)) {
    (this->*spread)(block(Operand::a, place_.row, l), layout_.columns, a_owner(l), place_.column,
                    row_);
    (this->*spread)(block(Operand::b, l, place_.column), layout_.rows, b_owner(l), place_.row,
                    column_);
  }
  void arrive(int l) {
    if (a_owner(l) != place_.column) put({Kind::wait, block(Operand::a, place_.row, l)});
    if (b_owner(l) != place_.row) put({Kind::wait, block(Operand::b, l, place_.column)});
  }
  // Where cores move messages, the next rank would wait for this one's product.
  void hand_on(int l) {
    put({Kind::hand_on, block(Operand::a, place_.row, l)});
    put({Kind::hand_on, block(Operand::b, l, place_.column)});
  }
  void release(int l) {
    if (a_owner(l) != place_.column) put({Kind::drop, block(Operand::a, place_.row, l)});
    if (b_owner(l) != place_.row) put({Kind::drop, block(Operand::b, l, place_.column)});
  }

  void multiply(int l) {
    put({Kind::multiply, block(Operand::a, place_.row, l), block(Operand::b, l, place_.column)});
  }
  /// Unless rank `owner` is this one.
  void wait(const BlockName& wanted, int owner) {
    if (owner != rank_) put({Kind::wait, wanted});
  }
  void drop(const BlockName& held, int owner) {
    if (owner != rank_) put({Kind::drop, held});
  }

  const Layout& layout_;
  int rank_;
  Place place_;
  Group row_, column_;  ///< of the grid
  std::vector<Action> actions_;
};

}  // namespace

std::span<const DistributedRungInfo> distributed_rungs() {
  static constexpr std::array<DistributedRungInfo, 5> rungs{{
      {DistributedRung::broadcast_all, "broadcast_all",
       "each rank has rows of C, and gets all of B first"},
      {DistributedRung::ring, "ring", "parts of B go round, so none holds all of it"},
      {DistributedRung::summa, "summa",
       "ranks in a grid: panels of A along rows, of B along columns"},
      {DistributedRung::summa_overlapped, "summa_overlapped",
       "the next panels come, from neighbour to neighbour, behind products"},
      {DistributedRung::replicated, "replicated",
       "2.5-D: layers of ranks share k, and hold a copy of C each"},
  }};
  return rungs;
}

Layout layout_of(DistributedRung rung, const MatmulShape& shape, int ranks) {
  Layout layout{.shape = shape};
  if (rung == DistributedRung::broadcast_all || rung == DistributedRung::ring) {
    layout.rows = layout.depths = ranks;
    return layout;
  }
  if (rung == DistributedRung::replicated) layout.layers = layers_for(ranks);
  std::tie(layout.rows, layout.columns) = square_grid(ranks / layout.layers);
  // Each part of k has one owner in each row and column. More parts fill a chain of ranks sooner.
  constexpr int of_owner = 4, least = 8;
  const int together = std::lcm(layout.rows, layout.columns);
  layout.depths = layout.layers * std::max(together * of_owner, least);
  return layout;
}

BlockExtents extents_of(const Layout& layout, const BlockName& block) {
  switch (block.operand) {
    case Operand::a:
      return {layout.row(block.first), layout.depth(block.second)};
    case Operand::b:
      return {layout.depth(block.first), layout.column(block.second)};
    case Operand::c:
      break;
  }
  return {layout.row(block.first), layout.column(block.second)};
}

std::vector<BlockName> own_blocks(const Layout& layout, int rank) {
  const Place place = place_of(layout, rank);
  std::vector<BlockName> own;
  const auto [first, end] = depths_of(layout, place.layer);
  for (int l = first; l < end; ++l) {
    if (owner_of(layout, place.layer, l, layout.columns) == place.column) {
      own.push_back(block(Operand::a, place.row, l));
    }
    if (owner_of(layout, place.layer, l, layout.rows) == place.row) {
      own.push_back(block(Operand::b, l, place.column));
    }
  }
  return own;
}

BlockName result_block(const Layout& layout, int rank) {
  const Place place = place_of(layout, rank);
  return block(Operand::c, place.row, place.column);
}

std::vector<Action> program_of(DistributedRung rung, const Layout& layout, int rank) {
  Writer writer(layout, rank);
  switch (rung) {
    case DistributedRung::broadcast_all:
      writer.broadcast_all();
      break;
    case DistributedRung::ring:
      writer.ring();
      break;
    case DistributedRung::summa:
      writer.summa();
      break;
    case DistributedRung::summa_overlapped:
      writer.summa_overlapped();
      break;
    case DistributedRung::replicated:
      writer.replicated();
      break;
  }
  return writer.take();
}

}  // namespace tilescope::ranks
