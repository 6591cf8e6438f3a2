// alloca, stacksave, stackrestore: a thread's local memory as a stack. All lanes of an activation
// share one top: an alloca reserves the largest size that a lane requests, at the same offset for
// each.
#include <algorithm>
#include <bit>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"

namespace tilescope::emulator {
namespace {

// aux: alignment. c.bytes: width of the registers.
std::uint64_t read_bytes(Context& w, std::uint32_t offset, unsigned bytes, int lane) {
  return bytes == 8 ? r64(w, offset)[lane] : r32(w, offset)[lane];
}
void write_all(Context& w, const Code& c, std::uint64_t value) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (c.bytes == 8) {
      r64(w, c.dst)[lane] = value;
    } else {
      r32(w, c.dst)[lane] = static_cast<std::uint32_t>(value);
    }
  }
}

void take(Context& w, const Code& c) {
  Frame& frame = w.warp->running_frame();
  std::uint64_t wanted = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    wanted = std::max(wanted, read_bytes(w, c.a, c.bytes, std::countr_zero(m)));
  }
  const std::uint64_t at = (frame.local_top + c.aux - 1) / c.aux * c.aux;
  // Beyond the stack the address belongs to nothing, so accesses through it are reported.
  const bool fits = wanted <= w.local_stride && at <= w.local_stride - wanted;
  if (fits) frame.local_top = at + wanted;
  write_all(w, c, fits ? at : w.local_stride);
}

void save(Context& w, const Code& c) {
  write_all(w, c, w.warp->running_frame().local_top);
}

void restore(Context& w, const Code& c) {
  // While lanes of the activation are elsewhere their memory must stay.
  if (w.mask != w.live) return;
  Frame& frame = w.warp->running_frame();
  const std::uint64_t top = read_bytes(w, c.a, c.bytes, std::countr_zero(w.mask));
  if (top >= frame.local_base + frame.function->local_bytes) {
    frame.local_top = std::min(frame.local_top, top);
  }
}

}  // namespace

bool decode_alloca(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Type type = in.modifiers.type();
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type));
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], type);
  code.aux = in.operands.size() > 2 ? static_cast<std::uint32_t>(in.operands[2].bits) : 8;
  code.execute = take;
  d.needs_->alloca_stack = true;
  return code.aux != 0 && (code.aux & (code.aux - 1)) == 0 && code.aux <= 4096;
}
bool decode_stacksave(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(in.modifiers.type()));
  code.dst = d.destination(in.operands[0]);
  code.execute = save;
  return true;
}
bool decode_stackrestore(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Type type = in.modifiers.type();
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type));
  code.a = d.source(in.operands[0], type);
  code.execute = restore;
  return true;
}

}  // namespace tilescope::emulator
