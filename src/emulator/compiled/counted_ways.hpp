// Ways through the blocks of a region that are counted by one number. A warp that begins a way
// counts all its blocks at once, with the branches between them that all lanes are known to take.
// Where it turns aside, code takes back what it does not run: on its way to another block of the
// region, or, by a list of the exit, whoever called the code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "emulator/compiled/assembler.hpp"
#include "emulator/launch_state.hpp"

namespace tilescope::emulator::compiled {

/// The blocks of a way by their counters, and the branches between them that all lanes take by
/// their numbers, both in order.
struct CountedWay {
  std::uint32_t number = 0;  ///< of the AccessBounds whose `begin` counts it
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint32_t> branches;
};

/// The rest of a way: its blocks and branches from these on.
struct WayRest {
  std::uint32_t way = 0;  ///< among those of the region, from 1 on; 0: nothing is left
  std::uint32_t block = 0, branch = 0;
};

/// Adds `times` runs of a whole warp; negative ones as numbers that wrap around.
void count_rest(const CountedWay& way, const WayRest& rest, BlockCounter* counters,
                std::uint64_t* lanes_on, std::uint64_t times);

class WayBuilder {
 public:
  /// For a function of so many blocks. `counters`: how often they have run so far.
  WayBuilder(std::size_t blocks, const BlockCounter* counters)
      : counters_(counters), blocks_(blocks) {}

  static constexpr std::size_t kNoEdge = ~std::size_t{0};
  struct Edge {
    std::uint32_t from = 0, to = 0;  ///< kNone: the way ends
    bool after_branch = false;       ///< the branch, which all lanes take, has been counted
    std::optional<Label> side = {};  ///< the jump's target, to be bound; nothing: the main way
    Label back = {0};                ///< where a way that ends goes on
    std::size_t next_in = kNoEdge;   ///< the next one that leads to the same block
  };
  /// Code that counts the block `b`.
  void count(Assembler& a, std::uint32_t b, std::uint32_t counter);
  /// Warps come to the block from elsewhere.
  void enters(std::uint32_t b) { blocks_[b].entered = true; }
  /// Nothing could be taken back behind the block.
  void stops(std::uint32_t b) { blocks_[b].stops = true; }
  void add_edge(const Edge& edge) { edges_.push_back(edge); }
  /// The code between these places counts the branch of the block, which all lanes take.
  void add_branch(std::uint32_t b, std::uint32_t id, std::size_t begin, std::size_t end) {
    branches_.push_back({b, id, begin, end});
  }
  /// The code is left in the block by exit `number`.
  void add_exit(std::size_t number, std::uint32_t b, bool after_branch) {
    exits_.push_back({number, b, after_branch});
  }
  /// Chooses the ways, and makes the code of the edges. `bounds`: one past the highest number of an
  /// AccessBounds; `labels`: of the blocks.
  std::vector<CountedWay> finish(Assembler& a, const std::map<std::uint32_t, Label>& labels,
                                 std::uint32_t& bounds);
  struct Exit {
    std::size_t number;
    std::uint32_t block;
    bool after_branch;
  };
  const std::vector<Exit>& exits() const { return exits_; }
  /// Then: what is to be taken back where code is left.
  WayRest rest(const Exit& exit) const;

 private:
  struct Block {
    std::size_t place = 0;  ///< of the code that counts it
    std::uint32_t counter = 0;
    bool exists = false, entered = false, stops = false;
    std::uint32_t mains_in = 0, mains_out = 0;
    std::size_t main_in = 0, main = 0;  ///< its edges of the main way
    std::size_t in = kNoEdge;           ///< the first edge that leads to it
    std::uint32_t way = 0;              ///< from 1 on; 0: none
    std::uint32_t position = 0;
    std::uint32_t branches = 0;                ///< of its way, before its own
    std::optional<std::uint32_t> branch = {};  ///< counted by its way, on the main edge
  };
  struct Branch {
    std::uint32_t block, id;
    std::size_t begin, end;
  };
  void count_edges();
  bool goes_on(std::uint32_t b) const;
  void walk(std::uint32_t first);
  bool may_follow(std::uint32_t b, std::size_t begin, const std::vector<std::uint32_t>& path) const;
  void add_way(const std::vector<std::uint32_t>& blocks);
  WayRest behind(const Block& from, bool after_branch) const;
  void choose_branches(Assembler& a);
  CountedWay counted(const std::vector<std::uint32_t>& way, std::uint32_t number);
  void replace(Assembler& a, const std::vector<std::uint32_t>& way, std::uint32_t number) const;
  void emit(Assembler& a, const Edge& edge, const std::map<std::uint32_t, Label>& labels,
            const std::vector<CountedWay>& ways) const;

  const BlockCounter* counters_;
  std::vector<Block> blocks_;
  std::vector<Edge> edges_;
  std::vector<Branch> branches_;
  std::vector<Exit> exits_;
  std::vector<std::vector<std::uint32_t>> ways_{{}};
};

}  // namespace tilescope::emulator::compiled
