#include "emulator/instructions/matrix_rule.hpp"

#include <algorithm>

namespace tilescope::emulator {
namespace {

using ptx::Type;

/// The facts of an architecture, from published bit-accurate models and from recordings.
struct Architecture {
  unsigned capability;  ///< the first
  int fraction_bits;
  unsigned step_16_bits;  ///< elements of 16 bits in a step; half as many of tf32
  bool short_m8n8k4;      ///< m8n8k4 is an instruction of its own
};

constexpr Architecture kArchitectures[] = {
    {90, 25, 16, false}, {80, 24, 8, false}, {75, 24, 8, true}, {0, 23, 4, true}};

bool has_8_bits(Type type) {
  return type == Type::e4m3 || type == Type::e5m2;
}

}  // namespace

MatrixRule matrix_rule(unsigned capability, MatrixUnit unit, Type a, Type c, Type d, unsigned k) {
  const Architecture& chip =
      *std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                    [&](const Architecture& row) { return capability >= row.capability; });
  MatrixRule rule;
  if (a == Type::f64) {
    rule.kind = MatrixRule::Kind::doubles;
    return rule;
  }
  if (d == Type::s32) {
    rule.kind = MatrixRule::Kind::integers;
    return rule;
  }
  const bool halves = c == Type::f16 && d == Type::f16;
  rule.format = halves ? SumFormat::f16 : SumFormat::f32;
  rule.fraction_bits = chip.fraction_bits;
  rule.step = a == Type::tf32 ? chip.step_16_bits / 2 : chip.step_16_bits;
  const bool warpgroup = unit == MatrixUnit::wgmma || unit == MatrixUnit::sparse_wgmma;
  if (has_8_bits(a)) {
    if (warpgroup || capability == 89) {
      rule.fraction_bits = 13;
      if (!halves) rule.format = SumFormat::f32_13;
      rule.step = warpgroup ? 32 : 16;
    } else if (capability < 100) {
      rule.through_f16 = rule.addend_last = rule.pairs_apart = true;
      rule.step = std::min(rule.step, k / 2);
    } else {
      rule.step = 32;
    }
  }
  if (unit == MatrixUnit::wmma && a == Type::tf32) rule.step = 4;
  if (unit == MatrixUnit::mma && a == Type::f16 && k == 4) {  // m8n8k4
    rule.step = 4;
    if (!chip.short_m8n8k4) {
      rule.kind = halves ? MatrixRule::Kind::chains_2 : MatrixRule::Kind::chain;
      rule.format = SumFormat::f32;
    }
  }
  rule.step = std::min(rule.step, k);
  return rule;
}

}  // namespace tilescope::emulator
