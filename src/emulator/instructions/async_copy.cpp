// cp.async and its groups. The copy is made at once, which is one of the moments allowed to the
// chip; observers learn when the program may rely on it.
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::Type;

// A copy's Code::list: source register, low and high half of its offset, source size register
// (kNone: all), ignore-source predicate (kNone: never). a and offset are the destination; aux:
// bit 0 destination address of 64 bits, bit 1 source address of 64 bits; bytes: size.

void addresses_of(Context& w, std::uint32_t reg, bool wide, std::int64_t offset,
                  std::uint64_t* addresses) {
  Code code;
  code.a = reg;
  code.offset = offset;
  code.aux = wide ? kAddress64 : 0;
  lane_addresses(w, code, addresses);
}

void copy(Context& w, const Code& c) {
  std::uint64_t to[32], from[32];
  addresses_of(w, c.a, (c.aux & 1) != 0, c.offset, to);
  const CopySource source = copy_source(c);
  addresses_of(w, source.address, (c.aux & 2) != 0, source.offset, from);
  const LaneMask ignored = c.list[4] == kNone ? 0 : predicate(w, c.list[4]) ^ c.c_flip;
  LaneMask reading = 0;
  unsigned sizes[32];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const std::uint32_t wanted = c.list[3] == kNone ? c.bytes : r32(w, c.list[3])[lane];
    sizes[lane] = wanted < c.bytes ? wanted : c.bytes;
    if ((ignored >> lane & 1) != 0) sizes[lane] = 0;
    if (sizes[lane] != 0) reading |= LaneMask{1} << lane;
  }
  reading &= w.mask;
  // Lanes with a shorter source read less of it.
  LaneTargets sources{};
  for (LaneMask rest = reading; rest != 0;) {
    const unsigned size = sizes[std::countr_zero(rest)];
    LaneMask same = 0;
    for (LaneMask m = rest; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (sizes[lane] == size) same |= LaneMask{1} << lane;
    }
    rest &= ~same;
    const LaneTargets found =
        resolve_lanes(w, c, from, same, static_cast<std::uint8_t>(Space::global), size, c.bytes,
                      AccessKind::async_load);
    for (LaneMask m = same; m != 0; m &= m - 1) {
      sources.host[std::countr_zero(m)] = found.host[std::countr_zero(m)];
    }
  }
  const LaneTargets targets =
      resolve_lanes(w, c, to, w.mask, static_cast<std::uint8_t>(Space::shared), c.bytes, c.bytes,
                    AccessKind::async_store);
  for (LaneMask m = targets.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t data[16] = {};
    if (sources.host[lane] != nullptr) std::memcpy(data, sources.host[lane], sizes[lane]);
    std::memcpy(targets.host[lane], data, c.bytes);
  }
}

void group(Context& w, const Code& c) {
  if ((w.events & kOrder) == 0) return;
  const AsyncGroup event{c.id, w.warp_index, w.mask, static_cast<std::int32_t>(c.offset),
                         c.aux != 0};
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kOrder) != 0) slot.observer->async_group(event);
  }
}

bool decode_group(std::int64_t pending, bool ungrouped, Code& code) {
  code.offset = pending;
  code.aux = ungrouped ? 1 : 0;
  code.execute = group;
  return true;
}

}  // namespace

CopySource copy_source(const Code& copy) {
  const auto offset =
      static_cast<std::int64_t>(std::uint64_t{copy.list[1]} | std::uint64_t{copy.list[2]} << 32);
  return {copy.list[0], offset, copy.list[3] != kNone || copy.list[4] != kNone};
}

bool decode_copy(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  if (m.space != ptx::Space::shared || m.source_space != ptx::Space::global) return false;
  code.bytes = static_cast<std::uint16_t>(in.operands[2].bits);
  if (code.bytes != 4 && code.bytes != 8 && code.bytes != 16) return false;
  Code source;
  unsigned to_bytes = 8, from_bytes = 8;
  d.address(in.operands[0], false, code, to_bytes);
  d.address(in.operands[1], false, source, from_bytes);
  std::uint32_t size = kNone, ignore = kNone;
  if (in.operands.size() > 3) {
    const Operand& fourth = in.operands[3];
    if (d.width(fourth, Type::b32) == 0) {
      ignore = d.source(fourth, Type::pred);
      code.c_flip = fourth.negated ? ~0u : 0u;
    } else if (d.width(fourth, Type::b32) == 4) {
      size = d.source(fourth, Type::b32);
    }  // 64 bits: a cache policy
  }
  const auto offset = static_cast<std::uint64_t>(source.offset);
  d.set_list(code, {source.a, static_cast<std::uint32_t>(offset),
                    static_cast<std::uint32_t>(offset >> 32), size, ignore});
  code.aux = (to_bytes == 8 ? 1u : 0u) | (from_bytes == 8 ? 2u : 0u);
  code.execute = copy;
  return true;
}

bool decode_commit_group(FunctionDecoder&, const ptx::Instruction&, Code& code) {
  return decode_group(-1, false, code);
}
bool decode_wait_group(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  return decode_group(static_cast<std::int64_t>(in.operands[0].bits), false, code);
}
bool decode_wait_all(FunctionDecoder&, const ptx::Instruction&, Code& code) {
  return decode_group(0, true, code);
}

}  // namespace tilescope::emulator
