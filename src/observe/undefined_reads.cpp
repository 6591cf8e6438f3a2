#include "observe/undefined_reads.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::observe {

GlobalContents::GlobalContents(const emulator::MemoryMap& memory) {
  for (const auto& [address, allocation] : memory.allocations()) {
    Region region{address, allocation.bytes(), true, {}};
    // What the kernel heap holds is not followed.
    if (!allocation.fully_initialised() &&
        allocation.kind() != emulator::AllocationKind::device_heap) {
      region.full = all_full_ = false;
      region.flags.reset(allocation.bytes());
      for (const emulator::ByteRange& range : allocation.initialised()) {
        region.flags.set(range.begin, range.end - range.begin);
      }
    }
    regions_.push_back(std::move(region));
  }
}

const GlobalContents::Region* GlobalContents::find(std::uint64_t address) const {
  auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uint64_t a, const Region& region) { return a < region.begin; });
  if (after == regions_.begin()) return nullptr;
  --after;
  return address - after->begin < after->bytes ? &*after : nullptr;
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

void UndefinedReads::describe(const Describer& describer, const RaceLog& races,
                              const GridSummary* summary, std::vector<Finding>& findings) const {
  std::set<emulator::InstructionId> racing;
  for (const auto& [key, example] : races.races()) {
    if (key.space != emulator::Space::shared) continue;
    if (key.earlier_verb != AccessVerb::write) racing.insert(key.earlier);
    if (key.later_verb != AccessVerb::write) racing.insert(key.later);
  }
  for (const auto& [key, reads] : reads_) {
    const auto& [id, space] = key;
    std::vector<Example> confirmed(reads.examples.begin(), reads.examples.end());
    if (space == emulator::Space::global) {
      if (summary == nullptr) continue;
      std::erase_if(confirmed, [&](const Example& example) {
        return summary->written_by_other(example.address, example.block);
      });
    }
    if (space == emulator::Space::shared && racing.contains(id)) continue;
    if (confirmed.empty()) continue;
    const Example& first = confirmed.front();
    Finding f;
    f.kind = FindingKind::uninitialised_read;
    f.first =
        describer.access(id, describer.action(id, AccessVerb::read), first.block, first.thread);
    f.address = space == emulator::Space::local
                    ? describer.element(reads.variable.empty() ? "local memory" : reads.variable,
                                        static_cast<std::int64_t>(first.address), id)
                    : describer.address(space, first.address, id);
    f.message = fmt::format("{} in {} memory is read before anything was written to it", f.address,
                            emulator::to_string(space));
    f.cure = space == emulator::Space::shared
                 ? "write the element first; if another thread does, put __syncthreads() between"
             : space == emulator::Space::global
                 ? "fill the buffer before the launch, or write the element first"
                 : "give the variable a value before it is read";
    f.count = confirmed.size() == reads.examples.size() ? reads.count : confirmed.size();
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
