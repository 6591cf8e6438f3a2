// The way into a region, with the tests of its assumptions, and out of it.
#include <algorithm>
#include <cstddef>

#include "emulator/compiled/region_emitter.hpp"
#include "emulator/compiled/vector_cache.hpp"
#include "emulator/special_register_values.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr Gpr kKept[] = {rbx, rbp, r12, r13, r14, r15};

}  // namespace

/// Loads the state.
void RegionEmitter::begin() {
  for (const Gpr reg : kKept) a_.push(reg);
  a_.add_constant(rsp, ~std::uint64_t{7}, 8);  // calls want multiples of 16
  a_.mov(kState, rdi, 8);
  const auto member = [&](Gpr to, std::size_t offset) {
    a_.mov(to, at(kState, static_cast<std::int64_t>(offset)), 8);
  };
  member(kSlots, offsetof(CompiledState, slots));
  member(kFrame, offsetof(CompiledState, frame));
  member(kTurn, offsetof(CompiledState, turn));
  member(kCounters, offsetof(CompiledState, counters));
  member(kBounds, offsetof(CompiledState, bounds));
}

/// Tests the assumptions.
void RegionEmitter::enter() {
  begin();
  const int differs = kScratch3;
  a_.mov_constant(rcx, 0);  // gathers bits that should be zero
  if (!region_.assumptions.empty()) a_.strip(vpxor, differs, differs, Source::ymm(differs));
  for (const Assumption& assumption : region_.assumptions) {
    const RegisterInfo& info = plan_.registers()[assumption.reg];
    const bool wide = info.width == 8;
    const int lanes = a_.strip_bytes() / info.width;
    a_.strip(wide ? vpbroadcastq : vpbroadcastd, 0, 0, at(kFrame, info.offset));
    a_.mov(rax, at(kFrame, info.offset), info.width);
    if (!assumption.known) {
      a_.store(slot_place(a_, static_cast<int>(assumption.reg)), rax, info.width);
    } else {
      a_.mov_constant(rdx, assumption.value);
      a_.bit_xor(rdx, rax, 8);
      a_.bit_or(rcx, rdx, 8);
    }
    if (assumption.zeros != 0) {
      a_.mov_constant(rdx, (std::uint64_t{1} << assumption.zeros) - 1);
      a_.bit_and(rdx, rax, 8);
      a_.bit_or(rcx, rdx, 8);
    }
    for (int lane = 0; lane < 32; lane += lanes) {
      int expected = 0;
      if (assumption.shape != kUniform) {
        expected = 1;
        a_.strip(wide ? vpaddq : vpaddd, 1, 0,
                 differences(a_, region_.shapes[assumption.shape], info.width, lane));
      }
      a_.strip(vpxor, 2, expected, at(kFrame, std::int64_t{info.offset} + lane * info.width));
      a_.strip(vpor, differs, differs, Source::ymm(2));
    }
  }
  for (const KnownParameter& parameter : region_.parameters) {
    a_.mov(rdx, at(kState, offsetof(CompiledState, parameters)), 8);
    a_.mov(rax, at(rdx, parameter.offset), parameter.width);
    a_.mov_constant(rdx, parameter.value);
    a_.bit_xor(rdx, rax, 8);
    a_.bit_or(rcx, rdx, 8);
  }
  if (!region_.assumptions.empty() || !region_.parameters.empty()) {
    a_.mov_constant(rax, 0);
    a_.test(rcx, rcx, 8);
    a_.jump(Condition::not_equal, return_);
  }
  if (!region_.assumptions.empty()) {
    jump_unless_zero(differs, return_);
  }
  a_.jump(blocks_.at(region_.head));
}

/// Jumps where a vector of a strip has any bit.
void RegionEmitter::jump_unless_zero(int vector, Label to) {
  if (a_.has_512()) {
    a_.strip(vptestmd, kMask, vector, Source::ymm(vector));
    a_.vector(kortestw, kMask, 0, Source::ymm(kMask));
  } else {
    a_.vector(vptest, vector, 0, Source::ymm(vector));
  }
  a_.jump(Condition::not_equal, to);
}

/// Whether the assumptions hold for a warp in every block of the launch, if they hold in one.
bool RegionEmitter::is_lasting() const {
  return std::all_of(region_.assumptions.begin(), region_.assumptions.end(), [&](const auto& x) {
    const RegisterInfo& info = plan_.registers()[x.reg];
    return info.kind == RegisterKind::special &&
           (!info.of_block || (x.shape == kUniform && !x.known));
  });
}

void RegionEmitter::enter_trusted() {
  code_.knows_block = knows_block();
  const auto load = [&](bool from_state) {
    for (const Assumption& assumption : region_.assumptions) {
      const RegisterInfo& info = plan_.registers()[assumption.reg];
      if (assumption.known) continue;
      Place place = at(kFrame, info.offset);
      if (from_state && info.of_block) {
        const std::size_t number = *block_number(assumption.reg);
        place = at(kState, static_cast<std::int64_t>(offsetof(CompiledState, block_numbers) +
                                                     number * sizeof(std::uint64_t)));
      }
      a_.mov(rax, place, info.width);
      a_.store(slot_place(a_, static_cast<int>(assumption.reg)), rax, info.width);
    }
    a_.jump(blocks_.at(region_.head));
  };
  a_.bind(trusted_);
  begin();
  if (code_.knows_block) load(false);
  a_.bind(trusted_inner_);
  load(code_.knows_block);
}

/// The register's place in CompiledState::block_numbers.
std::optional<std::size_t> RegionEmitter::block_number(std::uint32_t reg) const {
  std::size_t number = 0;
  for (const SpecialUse& use : plan_.function().specials) {
    if (!depends_on_block(use.special)) continue;
    if (number == kBlockNumbers) break;
    if (use.offset == plan_.registers()[reg].offset) return number;
    ++number;
  }
  return std::nullopt;
}

/// Whether the code needs no register in the frame that depends on the block.
bool RegionEmitter::knows_block() const {
  const RegisterSet& live = plan_.live_at_begin(region_.head);
  for (std::uint32_t reg = 0; reg < plan_.registers().size(); ++reg) {
    const RegisterInfo& info = plan_.registers()[reg];
    if (info.kind != RegisterKind::special || !info.of_block || !live.has(reg)) continue;
    const auto& all = region_.assumptions;
    const bool assumed = std::any_of(all.begin(), all.end(), [&](const Assumption& x) {
      return x.reg == reg && x.shape == kUniform && !x.known;
    });
    if (!assumed || !block_number(reg)) return false;
  }
  return true;
}

/// rax: the number of the exit.
void RegionEmitter::leave() {
  a_.bind(return_);
  a_.vzeroupper();
  a_.store(at(kState, offsetof(CompiledState, turn)), kTurn, 8);
  a_.add_constant(rsp, 8, 8);
  for (auto reg = std::rbegin(kKept); reg != std::rend(kKept); ++reg) a_.pop(*reg);
  a_.ret();
}

}  // namespace tilescope::emulator::compiled
