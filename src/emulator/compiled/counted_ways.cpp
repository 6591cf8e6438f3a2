#include "emulator/compiled/counted_ways.hpp"

#include <algorithm>

#include "emulator/compiled/compiled_state.hpp"

namespace tilescope::emulator::compiled {
namespace {

std::int32_t counter_offset(std::uint32_t counter) {
  return static_cast<std::int32_t>(counter * sizeof(BlockCounter) +
                                   offsetof(BlockCounter, executed));
}

}  // namespace

void WayCounts::add_to(BlockCounter* counters, std::uint64_t* lanes_on, std::uint64_t times) const {
  for (const std::uint32_t counter : blocks) counters[counter].executed += times;
  for (const std::uint32_t id : branches) lanes_on[id] += times * 32;
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
  // What is taken back often is better not counted.
  if (4 * runs(b) < 3 * runs(path[begin])) return false;
  const auto& from = from_.at(b);
  return std::all_of(from.begin(), from.end(), [&](std::uint32_t other) {
    const std::size_t at = blocks_.at(other).position;
    return at >= begin && at < path.size() && path[at] == other;
  });
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
    blocks_.at(next).position = path.size();
    path.push_back(next);
    b = next;
  }
  end_way();
}

void WayBuilder::add_way(const std::vector<std::uint32_t>& blocks) {
  if (blocks.size() < 2) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks_.at(blocks[i]).way = ways_.size();
    blocks_.at(blocks[i]).position = i;
  }
  ways_.push_back(blocks);
}

/// What the way of a block counts behind it, before position `end`.
WayCounts WayBuilder::between(const Block& from, bool after_branch, std::size_t end) const {
  WayCounts result;
  if (from.way == 0) return result;
  const std::vector<std::uint32_t>& way = ways_[from.way];
  for (std::size_t i = from.position; i < std::min(end, way.size()); ++i) {
    const Block& block = blocks_.at(way[i]);
    if (i > from.position) result.blocks.push_back(block.counter);
    if (block.branch && (i > from.position || !after_branch)) {
      result.branches.push_back(*block.branch);
    }
  }
  return result;
}

void WayBuilder::take_back(Assembler& a, const WayCounts& counts) {
  for (const std::uint32_t counter : counts.blocks) {
    a.add_to(at(kCounters, counter_offset(counter)), -1);
  }
  if (counts.branches.empty()) return;
  a.mov(rcx, at(kState, offsetof(CompiledState, lanes_on)), 8);
  for (const std::uint32_t id : counts.branches) a.add_to(at(rcx, std::int64_t{id} * 8), -32);
}

void WayBuilder::count_edges() {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    if (edge.to == kNone) continue;
    from_[edge.to].push_back(edge.from);
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

/// The way's blocks are counted where it begins.
CountedWay WayBuilder::replace(Assembler& a, const std::vector<std::uint32_t>& way,
                               std::uint32_t number) {
  const Block& first = blocks_.at(way.front());
  CountedWay result{number, between(first, false, way.size())};
  result.counts.blocks.push_back(first.counter);
  const std::size_t place = number * sizeof(AccessBounds) + offsetof(AccessBounds, begin);
  a.replace_add_one(first.place, kBounds, static_cast<std::int32_t>(place));
  for (std::size_t i = 1; i < way.size(); ++i) a.leave_out_add_one(blocks_.at(way[i]).place);
  return result;
}

void WayBuilder::emit(Assembler& a, const Edge& edge,
                      const std::map<std::uint32_t, Label>& labels) {
  const Block& from = blocks_.at(edge.from);
  std::size_t end = ways_[from.way].size();
  if (edge.to != kNone) {
    const Block& to = blocks_.at(edge.to);
    if (from.way == to.way && to.position > from.position) end = to.position;
  }
  const Label target = edge.to == kNone ? edge.back : labels.at(edge.to);
  const WayCounts counts = between(from, edge.after_branch, end);
  if (counts.empty()) return a.bind_to(*edge.side, target);
  a.bind(*edge.side);
  take_back(a, counts);
  a.jump(target);
}

std::vector<CountedWay> WayBuilder::finish(Assembler& a,
                                           const std::map<std::uint32_t, Label>& labels,
                                           std::uint32_t& bounds) {
  count_edges();
  for (const auto& [b, block] : blocks_) {
    const bool follows =
        block.mains_in == 1 && !block.entered && goes_on(edges_[block.main_in].from);
    if (block.exists && !follows) walk(b);
  }
  choose_branches(a);
  std::vector<CountedWay> result;
  for (std::size_t w = 1; w < ways_.size(); ++w) result.push_back(replace(a, ways_[w], bounds++));
  for (const Edge& edge : edges_) {
    if (edge.side) emit(a, edge, labels);
  }
  return result;
}

std::vector<std::pair<std::size_t, WayCounts>> WayBuilder::taken_back() const {
  std::vector<std::pair<std::size_t, WayCounts>> result;
  for (const Exit& exit : exits_) {
    const Block& block = blocks_.at(exit.block);
    WayCounts counts = between(block, exit.after_branch, ways_[block.way].size());
    if (!counts.empty()) result.emplace_back(exit.number, std::move(counts));
  }
  return result;
}

}  // namespace tilescope::emulator::compiled
