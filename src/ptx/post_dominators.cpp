// Dominators of the reversed graph, by the algorithm of Lengauer and Tarjan ("A Fast Algorithm for
// Finding Dominators in a Flowgraph", 1979) with simple path compression. The usual iteration over
// a tree of dominators is shorter, but quadratic for graphs in a hostile text.
#include "ptx/post_dominators.hpp"

#include <algorithm>
#include <utility>

namespace tilescope::ptx {
namespace {

using Index = std::uint32_t;
using Indices = std::vector<Index>;

/// Blocks in the order in which a depth-first walk along the edges leaves them.
Indices post_order(const ControlFlow& flow) {
  const auto count = static_cast<Index>(flow.blocks.size());
  Indices order;
  order.reserve(count);
  std::vector<bool> seen(count, false);
  std::vector<std::pair<Index, std::size_t>> stack;
  for (Index start = 0; start < count; ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const Indices& successors = flow.blocks[block].successors;
      if (next == successors.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      const Index successor = successors[next++];
      if (seen[successor]) continue;
      seen[successor] = true;
      stack.emplace_back(successor, 0);
    }
  }
  return order;
}

/// Below, a vertex is the number of a block in a depth-first walk of the reversed graph; 0 is a
/// virtual exit behind every block that exits.
class PostDominators {
 public:
  explicit PostDominators(ControlFlow& flow)
      : flow_(flow),
        predecessors_(flow.blocks.size()),
        vertex_of_(flow.blocks.size(), no_index),
        leaves_(flow.blocks.size(), false) {
    for (Index block = 0; block < flow.blocks.size(); ++block) {
      for (const Index successor : flow.blocks[block].successors) {
        predecessors_[successor].push_back(block);
      }
    }
  }

  void find() {
    number_vertices();
    find_dominators();
    for (Index vertex = 1; vertex < dominator_.size(); ++vertex) {
      const Index dominator = dominator_[vertex];
      flow_.blocks[block_of_[vertex]].immediate_post_dominator =
          dominator == 0 ? no_index : block_of_[dominator];
    }
  }

 private:
  void number_vertices() {
    block_of_.push_back(no_index);
    parent_.push_back(0);
    for (Index block = 0; block < flow_.blocks.size(); ++block) {
      if (flow_.blocks[block].exits) leave_from(block);
    }
    // The remaining blocks cannot reach an exit. The first block that a forward walk finishes
    // closes an endless loop; everything that leads into that loop is numbered with it.
    for (const Index block : post_order(flow_)) {
      if (vertex_of_[block] == no_index) leave_from(block);
    }
  }

  void leave_from(Index start) {
    leaves_[start] = true;
    if (vertex_of_[start] != no_index) return;
    std::vector<std::pair<Index, std::size_t>> stack;
    const auto visit = [&](Index block, Index parent) {
      vertex_of_[block] = static_cast<Index>(block_of_.size());
      block_of_.push_back(block);
      parent_.push_back(parent);
      stack.emplace_back(block, 0);
    };
    visit(start, 0);
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next == predecessors_[block].size()) {
        stack.pop_back();
        continue;
      }
      const Index predecessor = predecessors_[block][next++];
      if (vertex_of_[predecessor] == no_index) visit(predecessor, vertex_of_[block]);
    }
  }

  void find_dominators() {
    const auto count = static_cast<Index>(block_of_.size());
    semi_.resize(count);
    for (Index vertex = 0; vertex < count; ++vertex) semi_[vertex] = vertex;
    best_ = semi_;
    ancestor_.assign(count, no_index);
    dominator_.assign(count, 0);
    Indices bucket_head(count, no_index);
    Indices bucket_next(count, no_index);
    for (Index vertex = count - 1; vertex > 0; --vertex) {
      const Index block = block_of_[vertex];
      if (leaves_[block]) semi_[vertex] = 0;
      for (const Index successor : flow_.blocks[block].successors) {
        semi_[vertex] = std::min(semi_[vertex], semi_[evaluate(vertex_of_[successor])]);
      }
      bucket_next[vertex] = bucket_head[semi_[vertex]];
      bucket_head[semi_[vertex]] = vertex;
      const Index parent = parent_[vertex];
      ancestor_[vertex] = parent;
      for (Index v = bucket_head[parent]; v != no_index; v = bucket_next[v]) {
        const Index least = evaluate(v);
        dominator_[v] = semi_[least] < semi_[v] ? least : parent;
      }
      bucket_head[parent] = no_index;
    }
    for (Index vertex = 1; vertex < count; ++vertex) {
      if (dominator_[vertex] != semi_[vertex]) dominator_[vertex] = dominator_[dominator_[vertex]];
    }
  }

  /// The vertex of least semidominator on the path from `vertex` up to the root of its tree in the
  /// forest, the root left out. Shortens the path.
  Index evaluate(Index vertex) {
    if (ancestor_[vertex] == no_index) return vertex;
    path_.clear();
    for (Index v = vertex; ancestor_[ancestor_[v]] != no_index; v = ancestor_[v]) {
      path_.push_back(v);
    }
    for (auto v = path_.rbegin(); v != path_.rend(); ++v) {
      const Index above = ancestor_[*v];
      if (semi_[best_[above]] < semi_[best_[*v]]) best_[*v] = best_[above];
      ancestor_[*v] = ancestor_[above];
    }
    return best_[vertex];
  }

  ControlFlow& flow_;
  std::vector<Indices> predecessors_;
  Indices vertex_of_;         ///< by block
  std::vector<bool> leaves_;  ///< by block: has an edge to the virtual exit
  Indices block_of_;          ///< by vertex
  Indices parent_, semi_, best_, ancestor_, dominator_;  ///< by vertex
  Indices path_;
};

}  // namespace

void find_post_dominators(ControlFlow& flow) {
  PostDominators(flow).find();
}

}  // namespace tilescope::ptx
