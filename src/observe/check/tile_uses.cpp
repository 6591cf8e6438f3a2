#include "observe/check/tile_uses.hpp"

#include <algorithm>

namespace tilescope::observe {
namespace {

using emulator::TileUse;

constexpr std::uint32_t kChunk = 16;  ///< bytes that a swizzle keeps together
constexpr std::uint32_t kRow = 128;   ///< bytes after which the pattern changes

}  // namespace

void TileUses::begin_block(const emulator::BlockInfo& block) {
  block_ = block;
  tiles_.clear();
}

ThreadPlace TileUses::place_of(const emulator::BulkOrigin& origin) const {
  return thread_place(launch_, block_, origin);
}

void TileUses::tile(const TileUse& use) {
  if (use.copied) {
    copied(use);
  } else if (use.span != kChunk || !tiles_.empty()) {
    read(use);
  }
}

void TileUses::overwrite(std::uint64_t begin, std::uint64_t end) {
  std::erase_if(tiles_, [&](const Tile& tile) { return tile.begin < end && begin < tile.end; });
}

void TileUses::copied(const TileUse& use) {
  overwrite(use.begin, use.end);
  const ThreadPlace place = place_of(use.origin);
  tiles_.push_back({use.begin, use.end, use.span, place});
  for (const emulator::SharedVariable& variable : launch_.shared_variables) {
    const std::uint64_t end = variable.offset + variable.bytes;
    if (variable.dynamic || use.begin < variable.offset || use.begin >= end || use.end <= end) {
      continue;
    }
    mistakes_.add({TileFault::beyond_variable, place.instruction, place.instruction},
                  {place,
                   place,
                   {.fault = TileFault::beyond_variable,
                    .bytes = use.end - use.begin,
                    .beyond = use.end - end},
                   use.begin});
  }
}

void TileUses::read(const TileUse& use) {
  const ThreadPlace place = place_of(use.origin);
  TileFacts facts{.fault = TileFault::not_aligned,
                  .span = use.span,
                  .base_offset = use.base_offset,
                  .operand = std::string(1, use.operand)};
  const auto tile = std::find_if(tiles_.begin(), tiles_.end(), [&](const Tile& each) {
    return each.begin <= use.begin && use.begin < each.end;
  });
  if (tile != tiles_.end() && tile->span != use.span) {
    facts.fault = TileFault::other_swizzle;
    facts.copied_span = tile->span;
    mistakes_.add({facts.fault, place.instruction, tile->place.instruction},
                  {place, tile->place, facts, use.begin});
    return;
  }
  // Copies lay their pattern by the address, as the descriptor reads it: both agree anywhere.
  if (tile != tiles_.end() && use.base_offset == 0) return;
  // The pattern repeats after as many rows of 128 bytes as a span has chunks.
  const std::uint64_t rows = use.span / kChunk;
  const std::uint64_t row = use.begin / kRow % rows;
  if (row == use.base_offset % rows) return;
  facts.bytes = row * kRow;
  mistakes_.add({facts.fault, place.instruction, place.instruction},
                {place, place, facts, use.begin});
}

void TileUses::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [key, folded] : mistakes_) {
    const Mistake& mistake = folded.mistake;
    Finding f = describer.finding(FindingKind::tile_alignment, key.first, ThreadAction::none,
                                  mistake.first.block, mistake.first.thread);
    if (key.fault == TileFault::not_aligned) f.severity = Severity::warning;
    f.count = folded.count;
    f.memory = describer.memory(emulator::Space::shared, mistake.address, key.first);
    f.facts = mistake.facts;
    if (key.fault == TileFault::other_swizzle) {
      f.second = describer.access(key.second, ThreadAction::none, mistake.second.block,
                                  mistake.second.thread);
    }
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
