// Operations that change nothing a program can see.
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Opcode;

void nothing(Context&, const Code&) {}

void fence(Context& w, const Code& c) {
  if ((w.events & kOrder) == 0) return;
  const Fence event{c.id, w.warp_index, w.mask, static_cast<Scope>(c.scope), c.aux != 0};
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kOrder) != 0) slot.observer->fence(event);
  }
}

void zero(Context& w, const Code& c) {
  for (int l = 0; l < kWarpSize; ++l) {
    if ((w.mask >> l & 1) != 0) r64(w, c.dst)[l] = 0;
  }
}

bool decode_fence(const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  // Fences between proxies order asynchronous copies that the emulator does not have.
  if (m.has(ptx::Flag::proxy) || m.has(ptx::Flag::mbarrier_init)) {
    code.execute = nothing;
    return true;
  }
  Scope scope = scope_of(m.scope);
  if (scope == Scope::none) scope = Scope::gpu;
  code.scope = static_cast<std::uint8_t>(scope);
  code.aux = in.opcode == Opcode::membar || m.ordering == ptx::Ordering::sc ? 1 : 0;
  code.execute = fence;
  return true;
}

}  // namespace

bool decode_hint(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  switch (in.opcode) {
    case Opcode::membar:
    case Opcode::fence:
      return decode_fence(in, code);
    case Opcode::prefetch:
    case Opcode::prefetchu:
    case Opcode::applypriority:
    case Opcode::pmevent:
    case Opcode::brkpt:
    case Opcode::griddepcontrol:
    case Opcode::setmaxnreg:
      code.execute = nothing;
      return true;
    // A cache policy is an opaque number that only hints take.
    case Opcode::createpolicy_cvt:
    case Opcode::createpolicy_fractional:
    case Opcode::createpolicy_range:
      code.dst = d.destination(in.operands[0]);
      code.execute = zero;
      return true;
    // Discarded lines hold undefined values; leaving them as they are is one of those.
    case Opcode::discard:
      code.execute = nothing;
      return true;
    default:
      return false;
  }
}

}  // namespace tilescope::emulator
