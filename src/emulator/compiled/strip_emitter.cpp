#include "emulator/compiled/strip_emitter.hpp"

#include <algorithm>
#include <cstddef>

#include "base/one_of.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::uint8_t kAll = 0xff;
constexpr std::ptrdiff_t kManyReals = 4;  ///< results that are only read behind a segment

/// Its NaNs are the CPU's, not the chip's.
bool gives_raw_nans(const Operation& operation) {
  return is_one_of(operation.act, {Act::real_add, Act::real_subtract, Act::real_multiply,
                                   Act::real_divide, Act::real_fma, Act::real_root});
}

/// The number of a comparison of reals in the CPU's instruction.
std::uint8_t real_comparison(ptx::Compare compare) {
  // By the value of ptx::Compare: none, eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu,
  // leu, gtu, geu, num, nan; quiet forms.
  constexpr std::uint8_t codes[] = {0,    0x00, 0x0c, 0x11, 0x12, 0x1e, 0x1d, 0x11, 0x12, 0x1e,
                                    0x1d, 0x08, 0x04, 0x19, 0x1a, 0x16, 0x15, 0x07, 0x03};
  return codes[static_cast<std::size_t>(compare)];
}

/// The condition of an integer comparison as of signed numbers.
Condition signed_condition(ptx::Compare compare) {
  using ptx::Compare;
  if (compare == Compare::eq) return Condition::equal;
  if (compare == Compare::ne) return Condition::not_equal;
  if (compare == Compare::lt || compare == Compare::lo) return Condition::less;
  if (compare == Compare::le || compare == Compare::ls) return Condition::less_equal;
  if (compare == Compare::gt || compare == Compare::hi) return Condition::greater;
  return Condition::greater_equal;
}

/// Its number in AVX-512's comparisons.
std::uint8_t comparison_512(Condition condition) {
  switch (condition) {
    case Condition::equal:
      return 0;
    case Condition::less:
      return 1;
    case Condition::less_equal:
      return 2;
    case Condition::not_equal:
      return 4;
    case Condition::greater_equal:
      return 5;
    default:
      return 6;
  }
}

}  // namespace

void StripEmitter::emit() {
  const auto works = [](const Item& item) {
    if (item.early) return true;
    return !item.dead && !item.operation->out.empty() &&
           (item.way == Way::vector || (item.way == Way::access && item.out_slots[0] == kNoSlot));
  };
  if (std::none_of(segment_.items.begin(), segment_.items.end(), works)) return;
  choose_pointers();
  find_rows();
  const auto reals =
      std::count_if(segment_.items.begin(), segment_.items.end(), [&](const Item& item) {
        return works(item) && gives_raw_nans(*item.operation) && item.out_next[0] == kAtEnd;
      });
  if (reals >= kManyReals && kept_ == nullptr) cache_.defer_nans();
  for (strip_ = 0; strip_ < kWarpSize / lanes_; ++strip_) {
    cache_.begin_strip(strip_);
    for (Row& row : rows_) row.loaded = false;
    for (const Item& item : segment_.items) {
      if (!works(item)) continue;
      operation(item);
      cache_.release();
    }
    cache_.end_strip();
  }
  cache_.end_nans();
}

/// The first groups' pointers stay in registers.
void StripEmitter::choose_pointers() {
  static constexpr Gpr kFree[] = {rdx, rsi, rdi, r8, r9, r10, r11};
  pointers_.assign(segment_.groups.size(), -1);
  std::size_t next = 0;
  for (const Item& item : segment_.items) {
    if (item.operation->act != Act::load || item.dead || item.out_slots[0] != kNoSlot) continue;
    int& chosen = pointers_[static_cast<std::size_t>(item.group)];
    if (chosen >= 0 || next == std::size(kFree)) continue;
    chosen = kFree[next++];
    a_.mov(static_cast<Gpr>(chosen),
           slot_place(a_, segment_.groups[static_cast<std::size_t>(item.group)].pointer_slot), 8);
  }
}

void StripEmitter::operation(const Item& item) {
  switch (item.operation->act) {
    case Act::load:
      load(item);
      break;
    case Act::multiply_wide:
    case Act::multiply_add_wide:
      wide_product(item);
      break;
    case Act::widen:
    case Act::narrow:
      change_width(item);
      break;
    case Act::compare:
      compare(item);
      break;
    case Act::store:
      store_early(item);
      break;
    default:
      if (item.operation->width == 0) {
        predicate_logic(item);
      } else {
        halves(item);
      }
  }
}

/// Item::early
void StripEmitter::store_early(const Item& item) {
  const Gpr to = pointer(item);
  const int halves = item.operation->width == 8 ? 2 : 1;
  for (int half = 0; half < halves; ++half) {
    const int data = cache_.use(item, 1, half, false);
    const int lane = strip_ * lanes_ + half * lanes_ / 2;
    a_.strip(vmovups_store, data, 0, at(to, displacement(item, 0, lane)));
  }
}

void StripEmitter::halves(const Item& item) {
  for (int half = 0; half < (item.operation->width == 8 ? 2 : 1); ++half) half_of(item, half);
}

void StripEmitter::binary(VectorCode code, const Item& item, int half, bool raw) {
  const int a = cache_.use(item, 0, half, raw);
  const Source b = cache_.use_once(item, number_of(item), 1, half, raw);
  const int result = cache_.define(item, 0, half, raw);
  a_.strip(code, result, a, b);
}

void StripEmitter::half_of(const Item& item, int half) {
  const Operation& operation = *item.operation;
  const bool wide = operation.width == 8;
  switch (operation.act) {
    case Act::move:
      cache_.use_as_result(item, 0, 0, half, false);
      break;
    case Act::add_constant: {
      const int a = cache_.use(item, 0, half, false);
      with_constant(vpaddq, cache_.define(item, 0, half, false), a, true,
                    static_cast<std::uint64_t>(operation.code->offset));
      break;
    }
    case Act::add:
      binary(wide ? vpaddq : vpaddd, item, half, false);
      break;
    case Act::subtract:
      binary(wide ? vpsubq : vpsubd, item, half, false);
      break;
    case Act::multiply:
    case Act::multiply_add:
      product(item, half);
      break;
    case Act::multiply_high:
      high_product(item);
      break;
    case Act::divide:
    case Act::remainder:
      divide(item);
      break;
    case Act::shift_left:
    case Act::shift_right:
      shift(item, half);
      break;
    case Act::minimum:
      binary(operation.is_signed ? vpminsd : vpminud, item, half, false);
      break;
    case Act::maximum:
      binary(operation.is_signed ? vpmaxsd : vpmaxud, item, half, false);
      break;
    case Act::bit_and:
    case Act::bit_or:
    case Act::bit_xor:
    case Act::bit_not:
    case Act::negate:
      bitwise(item, half);
      break;
    case Act::keep_bits: {
      const int a = cache_.use(item, 0, half, false);
      with_constant(vpand, cache_.define(item, 0, half, false), a, false, operation.mask);
      break;
    }
    case Act::select:
      select(item, half);
      break;
    default:
      real(item, half);
  }
}

void StripEmitter::bitwise(const Item& item, int half) {
  const Operation& operation = *item.operation;
  switch (operation.act) {
    case Act::bit_and:
      binary(vpand, item, half, false);
      return;
    case Act::bit_or:
      binary(vpor, item, half, false);
      return;
    case Act::bit_xor:
      binary(vpxor, item, half, false);
      return;
    default:
      break;
  }
  const int a = cache_.use(item, 0, half, false);
  const int result = cache_.define(item, 0, half, false);
  if (operation.act == Act::bit_not) {
    with_constant(vpxor, result, a, false, 0xffffffffu);
  } else {
    a_.strip(vpxor, kScratch, kScratch, ymm(kScratch));
    a_.strip(operation.width == 8 ? vpsubq : vpsubd, result, kScratch, ymm(a));
  }
}

void StripEmitter::real(const Item& item, int half) {
  const Operation& operation = *item.operation;
  const bool wide = operation.width == 8;
  switch (operation.act) {
    case Act::real_add:
      return binary(wide ? vaddpd : vaddps, item, half, true);
    case Act::real_subtract:
      return binary(wide ? vsubpd : vsubps, item, half, true);
    case Act::real_multiply:
      return binary(wide ? vmulpd : vmulps, item, half, true);
    case Act::real_divide:
      return binary(wide ? vdivpd : vdivps, item, half, true);
    case Act::real_fma: {
      const int a = cache_.use(item, 0, half, true);
      const Source b = cache_.use_once(item, number_of(item), 1, half, true);
      const int result = cache_.use_as_result(item, 2, 0, half, true);
      a_.strip(wide ? vfmadd231pd : vfmadd231ps, result, a, b);
      return;
    }
    case Act::real_root: {
      const int a = cache_.use(item, 0, half, true);
      a_.strip(wide ? vsqrtpd : vsqrtps, cache_.define(item, 0, half, true), 0, ymm(a));
      return;
    }
    case Act::real_from_integer: {
      const int a = cache_.use(item, 0, half, false);
      a_.strip(vcvtdq2ps, cache_.define(item, 0, half, false), 0, ymm(a));
      return;
    }
    default:
      break;
  }
  // real_negate, real_absolute: bits, those of NaNs too.
  const int a = cache_.use(item, 0, half, false);
  const int result = cache_.define(item, 0, half, false);
  const bool negate = operation.act == Act::real_negate;
  const std::uint64_t sign = wide ? std::uint64_t{1} << 63 : 0x80000000u;
  const std::uint64_t bits = negate ? sign : ~sign;
  with_constant(negate ? vpxor : vpand, result, a, wide, bits);
}

/// The operation with the same element in all lanes.
void StripEmitter::with_constant(VectorCode code, int result, int a, bool wide,
                                 std::uint64_t bits) {
  const Place constant =
      wide ? a_.constant_64(bits) : a_.constant_32(static_cast<std::uint32_t>(bits));
  if (a_.has_512()) {
    code.wide_512 = wide ? 1 : 0;
    a_.strip(repeated(code), result, a, constant);
    return;
  }
  a_.vector(wide ? vpbroadcastq : vpbroadcastd, kScratch, 0, constant);
  a_.vector(code, result, a, ymm(kScratch));
}

// --- predicates
// -----------------------------------------------------------------------------------

/// The byte, or two, with this strip's lanes.
Place StripEmitter::predicate_byte(const Item& item, std::size_t i) const {
  const int first = strip_ * (lanes_ / 8);
  if (const std::optional<std::uint64_t> known = item.in_numbers[i]) {
    return a_.constant_32(static_cast<std::uint32_t>(*known) >> first * 8);
  }
  if (item.in_slots[i] != kNoSlot) {
    Place place = slot_place(a_, item.in_slots[i]);
    place.displacement += first;
    return place;
  }
  return at(kFrame, std::int64_t{plan_.registers()[item.operation->in[i]].offset} + first);
}

Place StripEmitter::predicate_result(const Item& item) const {
  const std::int64_t offset = plan_.registers()[item.operation->out[0]].offset;
  return at(kFrame, offset + strip_ * (lanes_ / 8));
}

bool StripEmitter::is_kept(const Item& item) const {
  return kept_ != nullptr && kept_->has(item.operation->out[0]);
}

void StripEmitter::store_predicate(const Item& item) {
  if (is_kept(item)) {
    const auto mask = static_cast<std::int64_t>(offsetof(CompiledState, mask));
    a_.load_narrow(rcx, predicate_result(item), static_cast<unsigned>(lanes_ / 8), false);
    a_.bit_xor(rax, rcx, 4);
    a_.bit_and(rax, at(kState, mask + strip_ * (lanes_ / 8)), 4);
    a_.bit_xor(rax, rcx, 4);
  }
  a_.store(predicate_result(item), rax, static_cast<unsigned>(lanes_ / 8));
}

void StripEmitter::predicate_logic(const Item& item) {
  const Operation& operation = *item.operation;
  const auto bytes = static_cast<unsigned>(lanes_ / 8);
  a_.load_narrow(rax, predicate_byte(item, 0), bytes, false);
  if (operation.flip != (operation.act == Act::bit_not)) a_.complement(rax, 4);
  if (operation.in.size() > 1) {
    a_.load_narrow(rcx, predicate_byte(item, 1), bytes, false);
    if (operation.second_flip) a_.complement(rcx, 4);
  }
  if (operation.act == Act::bit_and) a_.bit_and(rax, rcx, 4);
  if (operation.act == Act::bit_or) a_.bit_or(rax, rcx, 4);
  if (operation.act == Act::bit_xor) a_.bit_xor(rax, rcx, 4);
  store_predicate(item);
}

/// kScratch: all ones in the lanes whose predicate holds.
void StripEmitter::choose_mask(const Item& item, std::size_t predicate, int half) {
  const bool wide = item.operation->width == 8;
  a_.load_narrow(rax, predicate_byte(item, predicate), 1, false);
  if (item.operation->flip) a_.complement(rax, 4);
  LaneShape bits{};
  for (unsigned lane = 0; lane < 8; ++lane) bits[lane] = 1u << lane;
  a_.vector(vmovd, kScratch, 0, rax);
  a_.vector(wide ? vpbroadcastq : vpbroadcastd, kScratch, 0, ymm(kScratch));
  const Place lanes = differences(a_, bits, wide ? 8 : 4, half * 4);
  a_.vector(vpand, kScratch, kScratch, lanes);
  a_.vector(wide ? vpcmpeqq : vpcmpeqd, kScratch, kScratch, lanes);
}

void StripEmitter::select(const Item& item, int half) {
  const int a = cache_.use(item, 0, half, false);
  const int b = cache_.use(item, 1, half, false);
  const int result = cache_.define(item, 0, half, false);
  if (a_.has_512()) return select_512(item, half, result, a, b);
  choose_mask(item, 2, half);
  a_.vector(vblendvps, result, b, ymm(a), kScratch << 4);
}

void StripEmitter::select_512(const Item& item, int half, int result, int a, int b) {
  const bool wide = item.operation->width == 8;
  a_.vector(kmovw, kMask, 0, predicate_byte(item, 2));
  if (half == 1) a_.vector(kshiftrw, kMask, 0, ymm(kMask), 8);
  const bool flip = item.operation->flip;
  a_.strip(masked(wide ? vblendmpd : vblendmps, kMask), result, flip ? a : b, ymm(flip ? b : a));
}

void StripEmitter::compare(const Item& item) {
  if (a_.has_512()) return compare_512(item);
  const bool wide = item.operation->width == 8;
  const bool opposite = compare_half(item, 0);
  a_.vector(wide ? vmovmskpd : vmovmskps, rax, 0, ymm(kScratch));
  if (wide) {
    compare_half(item, 1);
    a_.vector(vmovmskpd, rcx, 0, ymm(kScratch));
    a_.shift_left(rcx, 4, 4);
    a_.bit_or(rax, rcx, 4);
  }
  if (opposite) a_.complement(rax, 4);
  store_predicate(item);
}

void StripEmitter::compare_512(const Item& item) {
  const Operation& operation = *item.operation;
  const bool wide = operation.width == 8;
  // All operands first: to make room for one may take a mask register.
  int operands[2][2] = {};
  for (int half = 0; half < (wide ? 2 : 1); ++half) {
    for (const std::size_t i : {0, 1})
      operands[half][i] = cache_.use(item, i, half, operation.real);
  }
  for (int half = 0; half < (wide ? 2 : 1); ++half) {
    const int mask = half == 0 ? kMask : kMask2;
    const int a = operands[half][0], b = operands[half][1];
    if (operation.real) {
      a_.strip(wide ? vcmppd : vcmpps, mask, a, ymm(b), real_comparison(operation.comparison));
    } else {
      const VectorCode code =
          operation.is_signed ? (wide ? vpcmpq : vpcmpd) : (wide ? vpcmpuq : vpcmpud);
      a_.strip(code, mask, a, ymm(b), comparison_512(signed_condition(operation.comparison)));
    }
  }
  if (wide) a_.vector(kunpckbw, kMask, kMask2, ymm(kMask));
  if (is_kept(item)) {
    a_.vector(kmovw_to, rax, 0, Source::ymm(kMask));
    return store_predicate(item);
  }
  a_.vector(kmovw_store, kMask, 0, predicate_result(item));
}

/// kScratch: all ones in the lanes where the comparison holds, or (true) where it does not.
bool StripEmitter::compare_half(const Item& item, int half) {
  const Operation& operation = *item.operation;
  const bool wide = operation.width == 8;
  int a = cache_.use(item, 0, half, operation.real);
  int b = cache_.use(item, 1, half, operation.real);
  const ptx::Compare compare = operation.comparison;
  if (operation.real) {
    a_.vector(wide ? vcmppd : vcmpps, kScratch, a, ymm(b), real_comparison(compare));
    return false;
  }
  const Condition condition = signed_condition(compare);
  if (condition == Condition::equal || condition == Condition::not_equal) {
    a_.vector(wide ? vpcmpeqq : vpcmpeqd, kScratch, a, ymm(b));
    return condition == Condition::not_equal;
  }
  if (!operation.is_signed) {  // with the highest bits turned over the order is that of signed ones
    a_.vector(wide ? vpbroadcastq : vpbroadcastd, kScratch, 0,
              wide ? a_.constant_64(std::uint64_t{1} << 63) : a_.constant_32(0x80000000u));
    a_.vector(vpxor, kScratch2, b, ymm(kScratch));
    a_.vector(vpxor, kScratch, a, ymm(kScratch));
    a = kScratch, b = kScratch2;
  }
  // a < b is b > a; a <= b is not a > b.
  const bool swaps = condition == Condition::less || condition == Condition::greater_equal;
  a_.vector(wide ? vpcmpgtq : vpcmpgtd, kScratch, swaps ? b : a, ymm(swaps ? a : b));
  return condition == Condition::less_equal || condition == Condition::greater_equal;
}

}  // namespace tilescope::emulator::compiled
