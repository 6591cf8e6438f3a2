// mbarrier: barriers that are words of shared memory. Threads arrive and get a token, later they
// ask whether the phase of that token is over. Observers see an atomic access that releases
// (arrive) or acquires (wait).
//
// The word is opaque to programs. Here: bits 0 to 19 the arrivals that the phase still waits for,
// 20 to 39 those that each phase waits for, 40 to 60 the bytes of transactions that it waits for
// (plus 2^20: it may be negative for a while), 63 the parity of the phase.
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::Type;

constexpr std::uint64_t kCountMask = (1u << 20) - 1;
constexpr std::uint64_t kTransactionMask = (1u << 21) - 1;
constexpr std::uint64_t kNoTransactions = 1u << 20;

struct Word {
  std::uint64_t pending, expected, transactions, parity;

  static Word read(const std::uint8_t* at) {
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return {bits & kCountMask, bits >> 20 & kCountMask, bits >> 40 & kTransactionMask, bits >> 63};
  }
  std::uint64_t bits() const {
    return pending | expected << 20 | transactions << 40 | parity << 63;
  }
  void write(std::uint8_t* at) const {
    const std::uint64_t value = bits();
    std::memcpy(at, &value, sizeof value);
  }
  void expect(std::uint64_t bytes) { transactions = (transactions + bytes) & kTransactionMask; }
  void arrive(std::uint64_t count) {
    pending -= count < pending ? count : pending;
    settle();
  }
  /// The phase ends when all have arrived and all bytes have.
  void settle() {
    if (pending != 0 || transactions != kNoTransactions) return;
    pending = expected;
    parity ^= 1;
  }
};

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
    Word word = Word::read(at);
    const std::uint64_t before = word.bits();
    const std::uint64_t operand = c.list[1] == kNone       ? 1
                                  : action == Action::wait ? r64(w, c.list[1])[lane]
                                                           : r32(w, c.list[1])[lane];
    switch (action) {
      case Action::init:
        word = {operand & kCountMask, operand & kCountMask, kNoTransactions, 0};
        break;
      case Action::inval:
        word = {0, 0, 0, 0};
        break;
      case Action::expect:
        word.expect(operand);
        break;
      case Action::complete:
        word.expect(0 - operand);
        word.settle();
        break;
      case Action::drop:
        word.expected -= expects ? 1 : operand < word.expected ? operand : word.expected;
        [[fallthrough]];
      case Action::arrive:
        if (expects) word.expect(operand);
        word.arrive(expects ? 1 : operand);
        if (c.dst != kSinkOffset) r64(w, c.dst)[lane] = before;
        break;
      case Action::wait:
        if (word.parity != operand >> 63) done |= LaneMask{1} << lane;
        continue;
      case Action::wait_parity:
        if (word.parity != (operand & 1)) done |= LaneMask{1} << lane;
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
    r32(w, c.dst)[lane] = static_cast<std::uint32_t>(r64(w, c.a)[lane] & kCountMask);
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
