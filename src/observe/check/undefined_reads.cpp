#include "observe/check/undefined_reads.hpp"

#include <algorithm>
#include <bit>

#include "base/symbol_names.hpp"

namespace tilescope::observe {

ReadRule read_rule(const ptx::Instruction& instruction) {
  const bool load = ptx::info(instruction.opcode).effect == ptx::Effect::load;
  const bool real = load && ptx::is_float(instruction.modifiers.type());
  return real ? ReadRule::every_byte : ReadRule::one_byte;
}

void UndefinedReads::add(emulator::InstructionId id, emulator::Space space, const Example& example,
                         const std::string& variable) {
  Reads& reads = reads_[{id, space}];
  ++reads.count;
  if (reads.examples.size() == kMostExamples && *reads.examples.rbegin() < example) return;
  reads.examples.insert(example);
  if (reads.examples.size() > kMostExamples) reads.examples.erase(std::prev(reads.examples.end()));
  if (reads.variable.empty()) reads.variable = variable;
}

void UndefinedReads::merge(const UndefinedReads& other) {
  for (const auto& [key, reads] : other.reads_) {
    Reads& into = reads_[key];
    into.count += reads.count;
    into.examples.insert(reads.examples.begin(), reads.examples.end());
    while (into.examples.size() > kMostExamples) {
      into.examples.erase(std::prev(into.examples.end()));
    }
    if (into.variable.empty()) into.variable = reads.variable;
  }
}

void PendingReads::add(const Event& read, std::uint64_t address, std::uint32_t bytes) {
  // One word represents the access: the others are written with it, or add no information.
  if (reads_.size() < kMost && bytes != 0) reads_.emplace(address / 4, Read{read, address});
}

void PendingReads::confirm(const Read& read, std::uint64_t block, UndefinedReads& undefined) {
  undefined.add(read.event.tag.instruction(), emulator::Space::shared,
                {block, read.address, read.event.tag.thread()});
}

void PendingReads::write(const BlockOrder& order, std::uint32_t warp, const LaneCells& cells,
                         std::uint64_t base, std::uint64_t block, UndefinedReads& undefined) {
  for (const TouchedCell& touched : cells.cells) {
    const std::uint64_t address = base + static_cast<std::uint64_t>(touched.offset);
    const auto [first, last] = reads_.equal_range(address / 4);
    for (auto at = first; at != last;) {
      const Read& read = at->second;
      bool ordered = true;
      for (emulator::LaneMask m = touched.lanes; m != 0; m &= m - 1) {
        ordered = ordered && order.ordered(read.event, warp, std::countr_zero(m));
      }
      if (ordered) confirm(read, block, undefined);
      at = reads_.erase(at);
    }
  }
}

void PendingReads::forget(std::uint64_t address, std::uint32_t bytes) {
  reads_.erase(reads_.lower_bound(address / 4), reads_.upper_bound((address + bytes - 1) / 4));
}

void PendingReads::finish(std::uint64_t block, UndefinedReads& undefined) {
  for (const auto& [word, read] : reads_) confirm(read, block, undefined);
  reads_.clear();
}

void UndefinedReads::describe(const Describer& describer, const GridSummary* summary,
                              const BulkWrites& bulk_writes, std::vector<Finding>& findings) const {
  for (const auto& [key, reads] : reads_) {
    const auto& [id, space] = key;
    std::vector<Example> confirmed(reads.examples.begin(), reads.examples.end());
    if (space == emulator::Space::global) {
      if (summary == nullptr) continue;
      // Atomics of other blocks found nothing either; a store may have come in time.
      const ptx::Effect effect =
          ptx::info(describer.launch().program.instruction(id).source->opcode).effect;
      const bool atomic = effect == ptx::Effect::atomic || effect == ptx::Effect::reduction;
      std::erase_if(confirmed, [&](const Example& example) {
        return summary->written_by_other(example.address, example.block, atomic) ||
               bulk_writes.contains(example.address);
      });
    }
    if (confirmed.empty()) continue;
    const Example& first = confirmed.front();
    Finding f = describer.finding(FindingKind::uninitialised_read, id, ThreadAction::read,
                                  first.block, first.thread);
    if (space == emulator::Space::local) {
      f.memory = describer.bare_memory(space, first.address, id);
      f.memory->object = variable_name(reads.variable);
    } else {
      f.memory = describer.memory(space, first.address, id);
    }
    f.count = confirmed.size() == reads.examples.size() ? reads.count : confirmed.size();
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
