// Integers of lanes that differ: products, quotients, shifts, and conversions between widths.
#include <bit>

#include "emulator/compiled/strip_emitter.hpp"

namespace tilescope::emulator::compiled {
/// to: the upper half of the lanes.
void StripEmitter::upper_half(int to, int from) {
  a_.strip(vextracti128, from, 0, ymm(to), 1);
}

/// The lower words of all 8-byte lanes. `high` may be kScratch.
void StripEmitter::join_low(int result, int low, int high) {
  if (a_.has_512()) {
    a_.strip(vpmovqd, high, 0, ymm(kScratch));
    a_.strip(vpmovqd, low, 0, ymm(result));
    a_.strip(vinserti128, result, result, ymm(kScratch), 1);
  } else {
    a_.vector(vshufps, kScratch, low, ymm(high), 0x88);
    a_.vector(vpermq, result, 0, ymm(kScratch), 0xd8);
  }
}

/// The low 64 bits of products of 64 bits: with AVX2 of three products of 32 bits.
void StripEmitter::long_product(int result, int a, int b) {
  if (a_.has_512()) return a_.strip(vpmullq, result, a, ymm(b));
  a_.strip_shift(vpsrlq_by, 2, kScratch, a, 32);
  a_.strip(vpmuludq, kScratch, kScratch, ymm(b));
  a_.strip_shift(vpsrlq_by, 2, kScratch2, b, 32);
  a_.strip(vpmuludq, kScratch2, kScratch2, ymm(a));
  a_.strip(vpaddq, kScratch, kScratch, ymm(kScratch2));
  a_.strip_shift(vpsrlq_by, 6, kScratch, kScratch, 32);
  a_.strip(vpmuludq, kScratch2, a, ymm(b));
  a_.strip(vpaddq, result, kScratch, ymm(kScratch2));
}

void StripEmitter::product(const Item& item, int half) {
  const bool wide = item.operation->width == 8;
  const bool add = item.operation->act == Act::multiply_add;
  const int a = cache_.use(item, 0, half, false);
  const int b = cache_.use(item, 1, half, false);
  const int c = add ? cache_.use(item, 2, half, false) : 0;
  const int result = cache_.define(item, 0, half, false);
  const int product = add ? kScratch : result;
  if (wide) {
    long_product(product, a, b);
  } else {
    a_.strip(vpmulld, product, a, ymm(b));
  }
  if (add) a_.strip(wide ? vpaddq : vpaddd, result, product, ymm(c));
}

/// The high halves of products of 32 bits: of the odd lanes, and of the even ones.
void StripEmitter::high_product(const Item& item) {
  const VectorCode multiply = item.operation->is_signed ? vpmuldq : vpmuludq;
  const int a = cache_.use(item, 0, 0, false);
  const int b = cache_.use(item, 1, 0, false);
  a_.strip_shift(vpsrlq_by, 2, kScratch, a, 32);
  a_.strip_shift(vpsrlq_by, 2, kScratch2, b, 32);
  a_.strip(multiply, kScratch, kScratch, ymm(kScratch2));
  a_.strip_shift(vpsrlq_by, 2, kScratch, kScratch, 32);
  a_.strip_shift(vpsrlq_by, 6, kScratch, kScratch, 32);
  a_.strip(multiply, kScratch2, a, ymm(b));
  a_.strip_shift(vpsrlq_by, 2, kScratch2, kScratch2, 32);
  a_.strip(vpor, cache_.define(item, 0, 0, false), kScratch, ymm(kScratch2));
}

/// One vector of 4-byte lanes gives two of 8-byte lanes.
void StripEmitter::wide_product(const Item& item) {
  const Operation& operation = *item.operation;
  const VectorCode extend = operation.is_signed ? vpmovsxdq : vpmovzxdq;
  const auto factor = static_cast<std::uint32_t>(item.in_values[1].value_or(0));
  const bool shifts = std::has_single_bit(factor) && factor >> 31 == 0;
  const int a = cache_.use(item, 0, 0, false);
  const int b = shifts ? a : cache_.use(item, 1, 0, false);
  for (int half = 0; half < 2; ++half) {
    const bool add = operation.act == Act::multiply_add_wide;
    const int c = add ? cache_.use(item, 2, half, false) : 0;
    const int result = cache_.define(item, 0, half, false);
    const auto extended = [&](int to, int from) {
      if (half == 1) upper_half(to, from);
      a_.strip(extend, to, 0, ymm(half == 1 ? to : from));
    };
    extended(kScratch, a);
    const int product = add ? kScratch : result;
    if (shifts) {
      a_.strip_shift(vpsrlq_by, 6, product, kScratch,
                     static_cast<std::uint8_t>(std::countr_zero(factor)));
    } else {
      extended(kScratch2, b);
      a_.strip(operation.is_signed ? vpmuldq : vpmuludq, product, kScratch, ymm(kScratch2));
    }
    if (add) a_.strip(vpaddq, result, product, ymm(c));
  }
}

/// Amounts of the width or more give 0, or copies of the sign, as AVX2 has it too.
void StripEmitter::shift(const Item& item, int half) {
  const Operation& operation = *item.operation;
  const bool left = operation.act == Act::shift_left;
  const int a = cache_.use(item, 0, half, false);
  const int amount = cache_.use(item, 1, 0, false);
  const int result = cache_.define(item, 0, half, false);
  if (operation.width == 4) {
    a_.strip(left ? vpsllvd : operation.is_signed ? vpsravd : vpsrlvd, result, a, ymm(amount));
    return;
  }
  if (half == 1) upper_half(kScratch, amount);
  a_.strip(vpmovzxdq, kScratch, 0, ymm(half == 1 ? kScratch : amount));
  a_.strip(left ? vpsllvq : vpsrlvq, result, a, ymm(kScratch));
}

/// The lower halves of 8-byte lanes.
void StripEmitter::extend_low(const Item& item, int half) {
  const int a = cache_.use(item, 0, half, false);
  const int result = cache_.define(item, 0, half, false);
  with_constant(vpand, result, a, true, 0xffffffffu);
  if (!item.operation->is_signed) return;
  // With the sign turned over, and what it is worth taken away.
  with_constant(vpxor, result, result, true, 0x80000000u);
  with_constant(vpsubq, result, result, true, 0x80000000u);
}

void StripEmitter::change_width(const Item& item) {
  const Operation& operation = *item.operation;
  if (operation.act == Act::narrow) {
    const int low = cache_.use(item, 0, 0, false), high = cache_.use(item, 0, 1, false);
    const int result = cache_.define(item, 0, 0, false);
    join_low(result, low, high);
    return;
  }
  if (operation.width == 8) {
    for (const int half : {0, 1}) extend_low(item, half);
    return;
  }
  const VectorCode extend = operation.is_signed ? vpmovsxdq : vpmovzxdq;
  const int a = cache_.use(item, 0, 0, false);
  a_.strip(extend, cache_.define(item, 0, 0, false), 0, ymm(a));
  const int high = cache_.define(item, 0, 1, false);
  upper_half(kScratch, a);
  a_.strip(extend, high, 0, ymm(kScratch));
}

/// Words without sign, by doubles: both operands are exact in them, and a quotient that is no
/// integer lies further from the next one than it is rounded. By 0 the quotient is all ones, and
/// the remainder the dividend.
void StripEmitter::divide(const Item& item) {
  constexpr std::uint64_t kWholeNumbers = 0x4330000000000000u;  // 2^52: the low bits are a word
  constexpr std::uint8_t kTowardsZero = 3, kAllOnes = 0xff;
  const int a = cache_.use(item, 0, 0, false);
  const int b = cache_.use(item, 1, 0, false);
  const int result = cache_.define(item, 0, 0, false);
  a_.strip(vpbroadcastq, kScratch3, 0, a_.constant_64(kWholeNumbers));
  for (const int half : {0, 1}) {
    const int quotient = half == 0 ? result : kScratch;
    const auto as_double = [&](int to, int from) {
      if (half == 1) upper_half(to, from);
      a_.strip(vpmovzxdq, to, 0, ymm(half == 1 ? to : from));
      a_.strip(vpor, to, to, ymm(kScratch3));
      a_.strip(vsubpd, to, to, ymm(kScratch3));
    };
    as_double(quotient, a);
    as_double(kScratch2, b);
    a_.strip(vdivpd, quotient, quotient, ymm(kScratch2));
    a_.strip(vroundpd, quotient, 0, ymm(quotient), kTowardsZero);
    a_.strip(vaddpd, quotient, quotient, ymm(kScratch3));
  }
  join_low(result, result, kScratch);
  if (a_.has_512()) {
    a_.strip(vptestnmd, kMask, b, ymm(b));
    a_.strip(masked(vpternlogd, kMask), result, result, ymm(result), kAllOnes);
  } else {
    a_.vector(vpxor, kScratch, kScratch, ymm(kScratch));
    a_.vector(vpcmpeqd, kScratch, b, ymm(kScratch));
    a_.vector(vpor, result, result, ymm(kScratch));
  }
  if (item.operation->act == Act::divide) return;
  a_.strip(vpmulld, kScratch, result, ymm(b));
  a_.strip(vpsubd, result, a, ymm(kScratch));
}

}  // namespace tilescope::emulator::compiled
