// Operations without effects that a program can see. Observers hear of those that order something.
#include <bit>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

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

void tell_of_protocol(Context& w, auto&& event) {
  if ((w.events & kProtocol) == 0) return;
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kProtocol) != 0) event(*slot.observer);
  }
}

// b: the ProxyFenceKind.
void fence_proxy(Context& w, const Code& c) {
  tell_of_protocol(w, [&](BlockObserver& observer) {
    observer.proxy_fence({c.id, w.warp_index, w.mask, static_cast<ProxyFenceKind>(c.b)});
  });
}

// Lanes that acquire the same map do so as one. a, aux, offset: its address.
void acquire_map(Context& w, const Code& c) {
  std::uint64_t addresses[kWarpSize];
  lane_addresses(w, c, addresses);
  for (LaneMask rest = w.mask; rest != 0;) {
    const std::uint64_t map = addresses[std::countr_zero(rest)];
    LaneMask same = 0;
    for (LaneMask m = rest; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (addresses[lane] == map) same |= LaneMask{1} << lane;
    }
    rest &= ~same;
    tell_of_protocol(w, [&](BlockObserver& observer) {
      observer.proxy_fence({c.id, w.warp_index, same, ProxyFenceKind::tensor_map_acquire, map});
    });
  }
}

// offset: the registers; aux: whether it takes some.
void change_registers(Context& w, const Code& c) {
  tell_of_protocol(w, [&](BlockObserver& observer) {
    observer.registers(
        {c.id, w.warp_index, w.mask, static_cast<std::uint32_t>(c.offset), c.aux != 0});
  });
}

// aux: whether it waits.
void depend_on_grid(Context& w, const Code& c) {
  tell_of_protocol(w, [&](BlockObserver& observer) {
    observer.grid_dependency({c.id, w.warp_index, w.mask, c.aux != 0});
  });
}

ProxyFenceKind proxy_fence_kind(const ptx::Modifiers& m) {
  using ptx::Flag;
  if (m.has(Flag::mbarrier_init)) return ProxyFenceKind::mbarrier_init;
  if (m.has(Flag::tensormap_generic)) return ProxyFenceKind::tensor_map_release;
  return m.has(Flag::async) || m.has(Flag::async_generic) ? ProxyFenceKind::async
                                                          : ProxyFenceKind::other;
}

void zero(Context& w, const Code& c) {
  for (int l = 0; l < kWarpSize; ++l) {
    if ((w.mask >> l & 1) != 0) r64(w, c.dst)[l] = 0;
  }
}

bool decode_fence_as(bool sequential, const ptx::Modifiers& m, Code& code) {
  // Copies come as late as the program allows, so fences between proxies change nothing here.
  if (m.has(ptx::Flag::proxy) || m.has(ptx::Flag::mbarrier_init)) {
    code.b = static_cast<std::uint32_t>(proxy_fence_kind(m));
    code.execute = fence_proxy;
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

bool decode_fence(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (in.modifiers.has(ptx::Flag::tensormap_generic) && !in.operands.empty()) {
    unsigned address_bytes = 8;
    d.address(in.operands[0], true, code, address_bytes);
    if (address_bytes == 8) code.aux |= kAddress64;
    code.execute = acquire_map;
    return true;
  }
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

bool decode_register_change(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  code.offset = static_cast<std::int64_t>(in.operands[0].bits);
  code.aux = in.modifiers.has(ptx::Flag::increase) ? 1 : 0;
  code.execute = change_registers;
  return true;
}

bool decode_grid_dependency(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  code.aux = in.modifiers.has(ptx::Flag::wait) ? 1 : 0;
  code.execute = depend_on_grid;
  return true;
}

// A cache policy is an opaque number that only hints use.
bool decode_cache_policy(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.dst = d.destination(in.operands[0]);
  code.execute = zero;
  return true;
}

}  // namespace tilescope::emulator
