// mbarrier: barriers that are words of shared memory. Threads arrive and get a token, later they
// ask whether the phase of that token is over. Observers see an atomic access that releases
// (arrive) or acquires (wait).
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/mbarrier_word.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::Type;

// The action in Code::list[0]; list[1] is the operand behind the address (kNone: none).
enum class Action : std::uint32_t {
  init,
  inval,
  expect,
  complete,
  arrive,
  drop,
  wait,
  wait_parity
};
constexpr std::uint32_t kExpects = 0x100;  ///< flag of an arrival: its operand is bytes to wait for

void act(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const auto action = static_cast<Action>(c.list[0] & 0xff);
  const bool expects = (c.list[0] & kExpects) != 0;
  const LaneTargets targets =
      resolve_lanes(w, c, addresses, w.mask, c.space, 8, 8, static_cast<AccessKind>(c.access));
  LaneMask done = 0;
  for (LaneMask m = targets.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* const at = targets.host[lane];
    MbarrierWord word = MbarrierWord::read(at);
    const std::uint64_t before = word.bits();
    const std::uint64_t operand = c.list[1] == kNone       ? 1
                                  : action == Action::wait ? r64(w, c.list[1])[lane]
                                                           : r32(w, c.list[1])[lane];
    switch (action) {
      case Action::init:
        word = MbarrierWord::initial(operand);
        break;
      case Action::inval:
        word = MbarrierWord();
        break;
      case Action::expect:
        word.expect(operand);
        break;
      case Action::complete:
        word.complete(operand);
        break;
      case Action::drop:
      case Action::arrive:
        if (expects) word.expect(operand);
        if (action == Action::arrive) {
          word.arrive(expects ? 1 : operand);
        } else {
          word.arrive_and_drop(expects ? 1 : operand);
        }
        if (c.dst != kSinkOffset) r64(w, c.dst)[lane] = before;
        break;
      case Action::wait:
        if (word.is_over(operand >> 63)) done |= LaneMask{1} << lane;
        continue;
      case Action::wait_parity:
        if (word.is_over(operand)) done |= LaneMask{1} << lane;
        continue;
    }
    word.write(at);
  }
  if (action != Action::wait && action != Action::wait_parity) return;
  std::uint32_t& p = predicate(w, c.dst);
  p = (p & ~w.mask) | done;
}

// The thread's copies have been made already; threads that wait for the barrier may rely on them.
void act_after_copies(Context& w, const Code& c) {
  if ((w.events & kOrder) != 0) {
    const AsyncGroup event{c.id, w.warp_index, w.mask, 0, true};
    for (const auto& slot : w.block->observers()) {
      if ((slot.events & kOrder) != 0) slot.observer->async_group(event);
    }
  }
  act(w, c);
}

void count_pending(Context& w, const Code& c) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    r32(w, c.dst)[lane] = static_cast<std::uint32_t>(MbarrierWord(r64(w, c.a)[lane]).pending());
  }
}

/// `at`: which operand is the address; the one behind it is the action's, the one before it the
/// result.
bool decode_action(FunctionDecoder& d, const ptx::Instruction& in, Action action, std::size_t at,
                   Code& code) {
  const auto& operands = in.operands;
  if (in.modifiers.type() != Type::b64 || !set_space(in.modifiers.space, code)) return false;
  if (at == 1) code.dst = d.destination(operands[0]);
  const std::uint32_t operand =
      operands.size() <= at + 1 ? kNone : d.source(operands[at + 1], ptx::operand_type(in, at + 1));
  d.set_list(code, {static_cast<std::uint32_t>(action) |
                        (in.modifiers.has(Flag::expect_tx) ? kExpects : 0),
                    operand});
  const bool waits = action == Action::wait || action == Action::wait_parity;
  const bool weak = action == Action::init || action == Action::inval;
  const MemoryOrder order = weak    ? MemoryOrder::weak
                            : waits ? MemoryOrder::acquire
                                    : MemoryOrder::acquire_release;
  code.order = static_cast<std::uint8_t>(order);
  const Scope scope = scope_of(in.modifiers.scope);
  code.scope = static_cast<std::uint8_t>(weak                   ? Scope::none
                                         : scope == Scope::none ? Scope::block
                                                                : scope);
  code.access = static_cast<std::uint8_t>(weak ? AccessKind::store : AccessKind::atomic);
  code.bytes = 8;
  unsigned address_bytes = 8;
  d.address(operands[at], code.space == kGenericSpace, code, address_bytes);
  if (address_bytes == 8) code.aux |= kAddress64;
  code.execute = act;
  return true;
}

}  // namespace

bool decode_mbarrier_init(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::init, 0, code);
}
bool decode_mbarrier_inval(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::inval, 0, code);
}
bool decode_mbarrier_expect_tx(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::expect, 0, code);
}
bool decode_mbarrier_complete_tx(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::complete, 0, code);
}
bool decode_mbarrier_arrive(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::arrive, 1, code);
}
bool decode_mbarrier_arrive_drop(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::drop, 1, code);
}
bool decode_mbarrier_wait(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const bool parity = in.modifiers.has(Flag::parity);
  return decode_action(d, in, parity ? Action::wait_parity : Action::wait, 1, code);
}
bool decode_mbarrier_pending_count(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], Type::b64);
  code.execute = count_pending;
  return in.modifiers.type() == Type::b64;
}
bool decode_copies_arrive(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (!decode_action(d, in, Action::arrive, 0, code)) return false;
  // Without .noinc the copies' own arrival was added to the expected ones.
  const std::uint32_t count = in.modifiers.has(Flag::no_inc) ? kNone : d.constant(0, 4);
  d.set_list(code, {static_cast<std::uint32_t>(Action::arrive), count});
  code.execute = act_after_copies;
  return true;
}

}  // namespace tilescope::emulator
