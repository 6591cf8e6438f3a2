#include "emulator/compiled/counted_ways.hpp"

#include <utility>

#include "emulator/compiled/compiled_state.hpp"

namespace tilescope::emulator::compiled {
namespace {

std::int32_t counter_offset(std::uint32_t counter) {
  return static_cast<std::int32_t>(counter * sizeof(BlockCounter) +
                                   offsetof(BlockCounter, executed));
}

}  // namespace

void count_rest(const CountedWay& way, const WayRest& rest, BlockCounter* counters,
                std::uint64_t* lanes_on, std::uint64_t times) {
  for (std::size_t i = rest.block; i < way.blocks.size(); ++i) {
    counters[way.blocks[i]].executed += times;
  }
  for (std::size_t i = rest.branch; i < way.branches.size(); ++i) {
    lanes_on[way.branches[i]] += times * 32;
  }
}

void WayBuilder::count(Assembler& a, std::uint32_t b, std::uint32_t counter) {
  Block& block = blocks_[b];
  block.place = a.size();
  block.counter = counter;
  block.exists = true;
  a.add_one(kCounters, counter_offset(counter));
}

/// Whether the block, the next one of the path, belongs to the way that begins at a place of it.
bool WayBuilder::may_follow(std::uint32_t b, std::size_t begin,
                            const std::vector<std::uint32_t>& path) const {
  const auto runs = [&](std::uint32_t of) { return counters_[blocks_.at(of).counter].executed; };
  // A count that is often taken back costs more than it saves.
  if (4 * runs(b) < 3 * runs(path[begin])) return false;
  for (std::size_t i = blocks_[b].in; i != kNoEdge; i = edges_[i].next_in) {
    const std::uint32_t other = edges_[i].from;
    const std::size_t at = blocks_[other].position;
    if (at < begin || at >= path.size() || path[at] != other) return false;
  }
  return true;
}

/// The ways of the main way that begins at the block.
void WayBuilder::walk(std::uint32_t first) {
  std::vector<std::uint32_t> path{first};
  std::size_t begin = 0;
  blocks_.at(first).position = 0;
  const auto end_way = [&] {
    add_way({path.begin() + static_cast<std::ptrdiff_t>(begin), path.end()});
    begin = path.size();
  };
  for (std::uint32_t b = first;;) {
    if (!goes_on(b)) break;
    const std::uint32_t next = edges_[blocks_.at(b).main].to;
    if (!may_follow(next, begin, path)) end_way();
    blocks_.at(next).position = static_cast<std::uint32_t>(path.size());
    path.push_back(next);
    b = next;
  }
  end_way();
}

void WayBuilder::add_way(const std::vector<std::uint32_t>& blocks) {
  if (blocks.size() < 2) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks_.at(blocks[i]).way = static_cast<std::uint32_t>(ways_.size());
    blocks_.at(blocks[i]).position = static_cast<std::uint32_t>(i);
  }
  ways_.push_back(blocks);
}

/// The rest of a block's way: all that it counts behind the block.
WayRest WayBuilder::behind(const Block& from, bool after_branch) const {
  const bool has_branch = from.branch && after_branch;
  return {from.way, from.position + 1, from.branches + (has_branch ? 1 : 0)};
}

WayRest WayBuilder::rest(const Exit& exit) const {
  const Block& from = blocks_[exit.block];
  // The last block has no branch that its way counts.
  if (from.way == 0 || from.position + 1 == ways_[from.way].size()) return {};
  return behind(from, exit.after_branch);
}

void WayBuilder::count_edges() {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    if (edge.to == kNone) continue;
    edges_[i].next_in = std::exchange(blocks_[edge.to].in, i);
    if (edge.side) continue;
    ++blocks_[edge.to].mains_in;
    ++blocks_[edge.from].mains_out;
    blocks_[edge.to].main_in = blocks_[edge.from].main = i;
  }
}

/// Whether the main way goes on behind the block, to a block that it reaches from there only.
bool WayBuilder::goes_on(std::uint32_t b) const {
  const Block& block = blocks_.at(b);
  if (block.mains_out != 1 || block.stops) return false;
  const Block& next = blocks_.at(edges_[block.main].to);
  return next.exists && !next.entered && next.mains_in == 1;
}

/// The branches that ways count.
void WayBuilder::choose_branches(Assembler& a) {
  for (const Branch& branch : branches_) {
    Block& block = blocks_.at(branch.block);
    if (block.way == 0 || block.position + 1 == ways_[block.way].size()) continue;
    if (!edges_[block.main].after_branch) continue;
    block.branch = branch.id;
    a.leave_out(branch.begin, branch.end);
  }
}

CountedWay WayBuilder::counted(const std::vector<std::uint32_t>& way, std::uint32_t number) {
  CountedWay result{number, {}, {}};
  for (const std::uint32_t b : way) {
    Block& block = blocks_[b];
    block.branches = static_cast<std::uint32_t>(result.branches.size());
    result.blocks.push_back(block.counter);
    if (block.branch) result.branches.push_back(*block.branch);
  }
  return result;
}

/// The way's blocks are counted where it begins.
void WayBuilder::replace(Assembler& a, const std::vector<std::uint32_t>& way,
                         std::uint32_t number) const {
  const std::size_t place = number * sizeof(AccessBounds) + offsetof(AccessBounds, begin);
  a.replace_add_one(blocks_[way.front()].place, kBounds, static_cast<std::int32_t>(place));
  for (std::size_t i = 1; i < way.size(); ++i) a.leave_out_add_one(blocks_[way[i]].place);
}

/// Code that takes back what the edge leaves out of a way.
void WayBuilder::emit(Assembler& a, const Edge& edge, const std::map<std::uint32_t, Label>& labels,
                      const std::vector<CountedWay>& ways) const {
  const Label target = edge.to == kNone ? edge.back : labels.at(edge.to);
  const Block& from = blocks_[edge.from];
  if (from.way == 0) return a.bind_to(*edge.side, target);
  const CountedWay& way = ways[from.way - 1];
  const WayRest rest = behind(from, edge.after_branch);
  std::size_t end = way.blocks.size(), branches = way.branches.size();
  if (edge.to != kNone && blocks_[edge.to].way == from.way) {
    const Block& to = blocks_[edge.to];
    if (to.position > from.position) end = to.position, branches = to.branches;
  }
  if (rest.block >= end && rest.branch >= branches) return a.bind_to(*edge.side, target);
  a.bind(*edge.side);
  for (std::size_t i = rest.block; i < end; ++i) {
    a.add_to(at(kCounters, counter_offset(way.blocks[i])), -1);
  }
  if (rest.branch < branches) {
    a.mov(rcx, at(kState, offsetof(CompiledState, lanes_on)), 8);
  }
  for (std::size_t i = rest.branch; i < branches; ++i) {
    a.add_to(at(rcx, std::int64_t{way.branches[i]} * 8), -32);
  }
  a.jump(target);
}

std::vector<CountedWay> WayBuilder::finish(Assembler& a,
                                           const std::map<std::uint32_t, Label>& labels,
                                           std::uint32_t& bounds) {
  count_edges();
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const bool follows =
        block.mains_in == 1 && !block.entered && goes_on(edges_[block.main_in].from);
    if (block.exists && !follows) walk(b);
  }
  choose_branches(a);
  std::vector<CountedWay> result;
  for (std::size_t w = 1; w < ways_.size(); ++w) {
    replace(a, ways_[w], bounds);
    result.push_back(counted(ways_[w], bounds++));
  }
  for (const Edge& edge : edges_) {
    if (edge.side) emit(a, edge, labels, result);
  }
  return result;
}

}  // namespace tilescope::emulator::compiled
