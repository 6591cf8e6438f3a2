// sin, cos, lg2, ex2, tanh.
//
// The chip approximates. The emulator rounds the double result once, which gives the nearest value
// except for some inputs very near a tie. The chip's results differ from it by at most (PTX ISA):
// ex2.approx.f32 2 ulp (2^-22.5 relative), lg2.approx.f32 2^-22 absolute within (0.5, 2) and 2 ulp
// elsewhere, sin and cos.approx.f32 2^-20.5 absolute in [-2 pi, 2 pi] (worse outside),
// tanh.approx.f32 2^-11 relative, tanh.approx.f16 2^-10.987 and bf16 2^-8 absolute, ex2.approx.f16
// 2^-9.9 and bf16 2^-7 relative.
#include <bit>
#include <cmath>

#include "emulator/context.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/number_format.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Type;

using Evaluate = double (*)(double);

std::uint32_t one(Evaluate evaluate, std::uint32_t bits, const NumberFormat& format, bool ftz) {
  double x = decode(bits, format);
  const double smallest = std::ldexp(1.0, format.lowest_exponent);
  if (ftz && std::fabs(x) < smallest) x = std::copysign(0.0, x);
  double r = evaluate(x);
  if (ftz && std::fabs(r) < smallest) r = std::copysign(0.0, r);
  return encode(r, format, ptx::Rounding::rn, false);
}

// aux: the type, ftz at bit 8.
template <Evaluate evaluate>
void approximate(Context& w, const Code& c) {
  const auto type = static_cast<Type>(c.aux & 0xff);
  const bool ftz = (c.aux >> 8 & 1) != 0, pair = type == Type::f16x2 || type == Type::bf16x2;
  const NumberFormat& format = *number_format(type);
  const std::uint32_t* a = r32(w, c.a);
  std::uint32_t* d = r32(w, c.dst);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (pair) {
      const std::uint32_t low = one(evaluate, a[lane] & 0xffff, format, ftz);
      d[lane] = low | one(evaluate, a[lane] >> 16, format, ftz) << 16;
    } else {
      d[lane] = one(evaluate, a[lane], format, ftz);
    }
  }
}

bool decode_approximation(FunctionDecoder& d, const ptx::Instruction& in, bool halves,
                          Execute execute, Code& code) {
  const Type type = in.modifiers.type();
  if (type != Type::f32 && !(halves && is_half(type))) return false;
  code.aux = static_cast<std::uint32_t>(type) | (in.modifiers.has(ptx::Flag::ftz) ? 1u << 8 : 0);
  return decode_lanes(d, in, execute, code);
}

}  // namespace

bool decode_sin(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_approximation(d, in, false, approximate<std::sin>, code);
}
bool decode_cos(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_approximation(d, in, false, approximate<std::cos>, code);
}
bool decode_lg2(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_approximation(d, in, false, approximate<std::log2>, code);
}
bool decode_ex2(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_approximation(d, in, true, approximate<std::exp2>, code);
}
bool decode_tanh(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_approximation(d, in, true, approximate<std::tanh>, code);
}

}  // namespace tilescope::emulator
