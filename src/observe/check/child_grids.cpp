#include "observe/check/child_grids.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/symbol_names.hpp"

namespace tilescope::observe {
namespace {

/// Pairs of accesses by the same two instructions, folded.
class Races {
 public:
  void add(const GridSummary::Contact& parent, const GridSummary::Side& of_parent,
           const GridSummary::Contact& child, std::uint64_t address) {
    const bool reads = parent.verb == AccessVerb::read && child.verb == AccessVerb::read;
    if (reads || (parent.strong && child.strong)) return;
    const Key key{of_parent.tag.instruction(), child.lowest.tag.instruction(), parent.verb,
                  child.verb};
    const auto [found, fresh] = pairs_.try_emplace(key, Pair{of_parent, child.lowest, address, 0});
    ++found->second.count;
  }

  void describe(const Describer& parent, const Describer& child,
                std::vector<Finding>& findings) const {
    for (const auto& [key, pair] : pairs_) {
      const auto [id, child_id, verb, child_verb] = key;
      Finding f = parent.finding(FindingKind::race, id, action_of(verb), pair.parent.block,
                                 pair.parent.tag.thread());
      f.second =
          child.access(child_id, action_of(child_verb), pair.child.block, pair.child.tag.thread());
      f.memory = child.memory(emulator::Space::global, pair.address, child_id);
      RaceFacts facts{.relation = RaceRelation::child_grid};
      facts.child = function_name(std::string(child.launch().kernel));
      f.facts = std::move(facts);
      f.count = pair.count;
      findings.push_back(std::move(f));
    }
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, AccessVerb, AccessVerb>;
  struct Pair {
    GridSummary::Side parent, child;
    std::uint64_t address = 0, count = 0;
  };
  std::map<Key, Pair> pairs_;
};

}  // namespace

void ChildGrids::launch(std::uint64_t block, const emulator::GridLaunch& launch,
                        const WarpTimes& passed) {
  launches_[launch.number] = {block, passed};
  late_[block];  // to be filled when the block ends
}

bool ChildGrids::end_block(std::uint64_t block, const GlobalShadow& shadow,
                           std::uint32_t block_start) {
  const auto launched = late_.find(block);
  if (launched == late_.end()) return true;
  WarpTimes earliest;
  earliest.fill(~0u);
  for (const auto& [number, launch] : launches_) {
    if (launch.block != block) continue;
    for (std::size_t w = 0; w < earliest.size(); ++w) {
      earliest[w] = std::min(earliest[w], launch.passed[w]);
    }
  }
  std::vector<LateAccess>& late = launched->second;
  for (const ShadowPage* page : shadow.pages()) {
    const std::uint32_t unit = page->by_bytes ? 1 : 4;
    for (std::uint32_t at = page->low / unit; at < (page->high + unit - 1) / unit; ++at) {
      const Cell cell = page->cell(at);
      const auto keep = [&](const Event& event, AccessVerb verb) {
        if (event.time < block_start || event.time < earliest[event.tag.warp()]) return;
        late.push_back({page->base + std::uint64_t{at} * unit, unit, verb, event});
      };
      keep(cell.write, AccessVerb::write);
      keep(cell.atomic, AccessVerb::atomic);
      for (const Event& reader : cell.reader) keep(reader, AccessVerb::read);
    }
    if (late_count_ + late.size() > kMostLate) return false;
  }
  late_count_ += late.size();
  return true;
}

void ChildGrids::find_races(std::uint64_t number, const Grid& parent, bool all_blocks,
                            const Grid& child, std::vector<Finding>& findings) const {
  const Launch& launch = launches_.at(number);
  Races races;
  for (const LateAccess& late : late_.at(launch.block)) {
    const AccessTag tag = late.event.tag;
    if (late.event.time < launch.passed[tag.warp()]) continue;
    const GridSummary::Side side{launch.block, tag};
    const bool strong = is_strong(tag) && !parent.roles[tag.instruction()].block_scope;
    child.summary.visit_contacts(
        late.address, late.bytes, [&](const GridSummary::Contact& contact) {
          races.add({late.verb, strong, side, side}, side, contact, late.address);
        });
  }
  if (all_blocks) {
    child.summary.for_contacts(
        [&](std::uint64_t address, std::uint32_t bytes, const GridSummary::Contact& contact) {
          parent.summary.visit_contacts(address, bytes, [&](const GridSummary::Contact& other) {
            const bool lowest = other.lowest.block != launch.block;
            if (!lowest && other.highest.block == launch.block) return;
            races.add(other, lowest ? other.lowest : other.highest, contact, address);
          });
        });
  }
  races.describe(parent.describer, child.describer, findings);
}

}  // namespace tilescope::observe
