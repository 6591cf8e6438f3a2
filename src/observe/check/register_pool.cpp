#include "observe/check/register_pool.hpp"

#include <algorithm>
#include <bit>

#include "emulator/program.hpp"
#include "emulator/warpgroup.hpp"

namespace tilescope::observe {
namespace {

constexpr std::uint64_t kRegistersOfSm = 65'536;
constexpr std::uint64_t kUnit = 8, kLeast = 24, kMost = 256;

/// Registers per thread at entry, as the assembler fixes them: by .maxnreg, else all that the
/// bounds of the launch leave. Without a count of blocks per SM it ignores setmaxnreg.
std::uint64_t registers_at_entry(const ptx::LaunchBounds& bounds) {
  if (bounds.maxnreg != 0) return bounds.maxnreg;
  const auto& most = bounds.reqntid[0] != 0 ? bounds.reqntid : bounds.maxntid;
  const std::uint64_t threads = std::uint64_t{most[0]} * most[1] * most[2];
  if (threads == 0 || bounds.minnctapersm == 0) return 0;
  return kRegistersOfSm / (threads * bounds.minnctapersm) / kUnit * kUnit;
}

}  // namespace

RegisterPool::RegisterPool(const emulator::LaunchInfo& launch)
    : launch_(launch),
      at_entry_(registers_at_entry(launch.program.functions().front().source->bounds)) {}

void RegisterPool::begin_block(std::uint64_t block) {
  block_ = block;
  warps_.clear();
  reported_ = false;
}

void RegisterPool::report(BudgetFault fault, const emulator::RegisterChange& change,
                          std::uint64_t asked) {
  reported_ = true;
  const std::uint32_t thread =
      change.warp * emulator::kWarpSize + static_cast<std::uint32_t>(std::countr_zero(change.mask));
  mistakes_.add({fault, change.instruction},
                {{change.instruction, block_, thread},
                 {fault, change.registers, asked, at_entry_ * launch_.threads_per_block}});
}

void RegisterPool::change(const emulator::RegisterChange& change) {
  if (warps_.empty()) warps_.assign(launch_.warps_per_block, {at_entry_, {}});
  Warp& warp = warps_[change.warp];
  warp.changes.push_back(change.instruction);
  if (reported_) return;
  const std::uint64_t wanted = change.registers;
  if (wanted % kUnit != 0 || wanted < kLeast || wanted > kMost) {
    report(BudgetFault::bad_count, change, 0);
    return;
  }
  if (warp.registers == 0) return;
  // At entry the assembler may have left it fewer than its bounds allow.
  const bool first = warp.changes.size() == 1;
  if (change.increases ? !first && wanted < warp.registers : wanted > warp.registers) {
    report(BudgetFault::wrong_way, change, warp.registers);
    return;
  }
  warp.registers = wanted;
}

/// A warp that asks for more than is left waits until others have given theirs back; it waits for
/// ever when all together ask for too many.
void RegisterPool::end_block(bool complete) {
  if (warps_.empty() || reported_) return;
  if (complete) check_groups();
  if (reported_ || at_entry_ == 0) return;
  std::uint64_t asked = 0;
  const Warp* largest = &warps_.front();
  for (const Warp& warp : warps_) {
    asked += warp.registers * emulator::kWarpSize;
    if (warp.registers > largest->registers) largest = &warp;
  }
  if (asked <= at_entry_ * emulator::kWarpSize * warps_.size() || largest->changes.empty()) return;
  report(BudgetFault::beyond_pool,
         {largest->changes.back(), static_cast<std::uint32_t>(largest - warps_.data()), 1,
          static_cast<std::uint32_t>(largest->registers), true},
         asked);
}

/// The four warps of a warpgroup run the same changes.
void RegisterPool::check_groups() {
  for (std::size_t first = 0; first < warps_.size(); first += emulator::kWarpsPerGroup) {
    const std::size_t end = std::min(first + emulator::kWarpsPerGroup, warps_.size());
    const auto by_count = [](const Warp& a, const Warp& b) {
      return a.changes.size() < b.changes.size();
    };
    const auto [fewest, most] =
        std::minmax_element(warps_.begin() + static_cast<std::ptrdiff_t>(first),
                            warps_.begin() + static_cast<std::ptrdiff_t>(end), by_count);
    if (fewest->changes.size() == most->changes.size()) continue;
    report(
        BudgetFault::not_uniform,
        {most->changes[fewest->changes.size()], static_cast<std::uint32_t>(most - warps_.begin()),
         1, static_cast<std::uint32_t>(most->registers), true},
        0);
    return;
  }
}

void RegisterPool::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [key, folded] : mistakes_) {
    const Mistake& mistake = folded.mistake;
    Finding f = describer.finding(FindingKind::register_budget, key.instruction, ThreadAction::none,
                                  mistake.first.block, mistake.first.thread);
    f.count = folded.count;
    f.facts = mistake.facts;
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
