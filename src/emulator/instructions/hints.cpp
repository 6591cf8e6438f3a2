// Operations without effects that a program can see.
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

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

bool decode_fence_as(bool sequential, const ptx::Modifiers& m, Code& code) {
  // Fences between proxies order asynchronous copies that the emulator does not have.
  if (m.has(ptx::Flag::proxy) || m.has(ptx::Flag::mbarrier_init)) {
    code.execute = nothing;
    return true;
  }
  Scope scope = scope_of(m.scope);
  if (scope == Scope::none) scope = Scope::gpu;
  code.scope = static_cast<std::uint8_t>(scope);
  code.aux = sequential ? 1 : 0;
  code.execute = fence;
  return true;
}

}  // namespace

bool decode_fence(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  return decode_fence_as(in.modifiers.ordering == ptx::Ordering::sc, in.modifiers, code);
}
bool decode_membar(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  return decode_fence_as(true, in.modifiers, code);
}

// Discarded lines hold undefined values; leaving them unchanged is allowed.
bool decode_hint(FunctionDecoder&, const ptx::Instruction&, Code& code) {
  code.execute = nothing;
  return true;
}

// A cache policy is an opaque number that only hints use.
bool decode_cache_policy(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.dst = d.destination(in.operands[0]);
  code.execute = zero;
  return true;
}

}  // namespace tilescope::emulator
