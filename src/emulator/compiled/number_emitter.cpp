#include "emulator/compiled/number_emitter.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/one_of.hpp"
#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
/// Bytes of a number: predicates have 4.
unsigned NumberEmitter::bytes(const Item& item, std::size_t i) const {
  return std::max<unsigned>(plan_.registers()[item.operation->in[i]].width, 4);
}

void NumberEmitter::load(Gpr to, const Item& item, std::size_t i) {
  if (const std::optional<std::uint64_t> value = item.in_numbers[i]) {
    if (to == rax) held_ = kNoSlot;
    a_.mov_constant(to, bytes(item, i) == 8 ? *value : *value & 0xffffffffu);
  } else {
    load_slot(to, item.in_slots[i], bytes(item, i));
  }
}

/// rax and rcx: the first two operands.
void NumberEmitter::load_two(const Item& item) {
  const bool second_first = !item.in_numbers[1] && holds(item.in_slots[1], bytes(item, 1));
  for (const std::size_t i : {0, 1}) {
    const std::size_t operand = second_first ? 1 - i : i;
    load(operand == 0 ? rax : rcx, item, operand);
  }
}

/// Operand `i`, without an instruction where its number lies in a register or, read for the last
/// time, in memory. rcx: where it takes one.
Source NumberEmitter::source(const Item& item, std::size_t i) {
  const unsigned width = bytes(item, i);
  if (!item.in_numbers[i]) {
    const int slot = item.in_slots[i];
    if (const auto kept = kept_number(slot, width)) {
      --reads_[slot];
      return *kept;
    }
    if (!holds(slot, width) && reads_[slot] == 1) {
      --reads_[slot];
      read_memory_.insert(slot);
      return slot_place(a_, slot);
    }
  }
  load(rcx, item, i);
  return rcx;
}

/// rax: the first operand. Returns the second one, or the other way round where that is the same.
Source NumberEmitter::load_operands(const Item& item, bool any_order) {
  const bool second_first = !item.in_numbers[1] && holds(item.in_slots[1], bytes(item, 1));
  if (second_first && !any_order) {
    load_two(item);
    return rcx;
  }
  load(rax, item, second_first ? 1 : 0);
  return source(item, second_first ? 0 : 1);
}

/// A number of 32 bits as one of 64.
void NumberEmitter::load_extended(Gpr to, const Item& item, std::size_t i) {
  load(to, item, i);
  if (item.operation->is_signed) a_.sign_extend_32(to, to);
}

void NumberEmitter::emit() {
  count_reads();
  std::vector<bool> checked(segment_.groups.size(), false);
  for (const Item& item : segment_.items) {
    if (item.way == Way::scalar) number(item);
    if (item.way != Way::access) continue;
    for (const int number : {item.group, item.source}) {
      if (number < 0) continue;
      const auto group = static_cast<std::size_t>(number);
      if (!checked[group]) check_group(segment_.groups[group]);
      checked[group] = true;
    }
    if (!item.out_slots.empty() && item.out_slots[0] != kNoSlot) load_memory(item);
  }
  for (Kept& kept : kept_) drop(kept);
  leave_out_stores();
}

/// The result is in rax.
void NumberEmitter::number(const Item& item) {
  const unsigned width = plan_.registers()[item.operation->out[0]].width;
  if (item.known && !item.spreads_sign) return;
  if (item.spreads_sign) return no_sign(item);
  switch (item.operation->act) {
    case Act::multiply_wide:
    case Act::multiply_add_wide:
      wide_product(item);
      break;
    case Act::widen:
      load_extended(rax, item, 0);
      if (!item.operation->is_signed) a_.mov(rax, rax, 4);
      check_no_wrap(item.in_shapes[0], item.operation->is_signed);
      break;
    case Act::shift_left:
    case Act::shift_right:
      shift(item);
      break;
    case Act::divide:
    case Act::remainder:
      divide(item);
      break;
    case Act::minimum:
    case Act::maximum:
      extreme(item);
      break;
    case Act::compare:
      compare(item);
      break;
    case Act::select:
      select(item);
      break;
    case Act::load_parameter:
      a_.mov(rax, at(load_parameters(), item.operation->code->offset), item.operation->width);
      break;
    default:
      if (item.one_for_all) check_signs(item);
      arithmetic(item);
  }
  store_result(item.out_slots[0], std::max(width, 4u));
}

void NumberEmitter::arithmetic(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned width = std::max<unsigned>(operation.width, 4);
  if (with_constant(item)) return;
  Source other = rcx;
  if (operation.in.size() == 1) {
    load(rax, item, 0);
  } else if (operation.flip || operation.second_flip || operation.act == Act::multiply_high) {
    load_two(item);
  } else {
    other = load_operands(item, operation.act != Act::subtract);
  }
  if (operation.flip) a_.complement(rax, 4);
  if (operation.second_flip) a_.complement(rcx, 4);
  switch (operation.act) {
    case Act::add_constant:
      a_.add_constant(rax, static_cast<std::uint64_t>(operation.code->offset), width);
      break;
    case Act::add:
      a_.add(rax, other, width);
      break;
    case Act::subtract:
      a_.subtract(rax, other, width);
      break;
    case Act::multiply:
      a_.multiply(rax, other, width);
      break;
    case Act::multiply_add:
      a_.multiply(rax, other, width);
      a_.add(rax, source(item, 2), width);
      break;
    case Act::multiply_high:
      if (operation.is_signed) {
        a_.sign_extend_32(rax, rax);
        a_.sign_extend_32(rcx, rcx);
      }
      a_.multiply(rax, rcx, 8);
      a_.shift_right(rax, 32, 8);
      break;
    case Act::bit_and:
      a_.bit_and(rax, other, width);
      break;
    case Act::bit_or:
      a_.bit_or(rax, other, width);
      break;
    case Act::bit_xor:
      a_.bit_xor(rax, other, width);
      break;
    case Act::keep_bits:
      a_.and_constant(rax, static_cast<std::int32_t>(operation.mask), 4);
      break;
    case Act::bit_not:
      a_.complement(rax, width);
      break;
    case Act::negate:
      a_.negate(rax, width);
      break;
    case Act::narrow:
      a_.mov(rax, rax, 4);
      break;
    default:  // move
      break;
  }
}

/// Sums and products with a number that is known. False: it is another operation.
bool NumberEmitter::with_constant(const Item& item) {
  const Operation& operation = *item.operation;
  const bool sum = operation.act == Act::add || operation.act == Act::subtract;
  if (!sum && operation.act != Act::multiply) return false;
  const std::size_t constant =
      operation.act != Act::subtract && !item.in_numbers[1] && item.in_numbers[0] ? 0 : 1;
  if (!item.in_numbers[constant]) return false;
  const std::uint64_t value = *item.in_numbers[constant];
  load(rax, item, 1 - constant);
  if (sum) {
    a_.add_constant(rax, operation.act == Act::add ? value : ~value + 1, operation.width);
  } else {
    multiply(value, operation.width);
  }
  return true;
}

/// rax *= value
void NumberEmitter::multiply(std::uint64_t value, unsigned width) {
  if (std::has_single_bit(value)) {
    a_.shift_left(rax, static_cast<std::uint8_t>(std::countr_zero(value)), width);
  } else {
    a_.mov_constant(rcx, value);
    a_.multiply(rax, rcx, width);
  }
}

/// The lanes of a register with the number rax and this shape of 32 bits lie in one interval.
void NumberEmitter::check_no_wrap(ShapeNumber shape, bool is_signed) {
  if (shape == kUniform) return;
  const ShapeExtent extent = lane_extent(shape, 4);
  for (const std::int64_t end : {extent.low, extent.high}) {
    if (end == 0) continue;
    a_.mov(rcx, rax, 8);
    a_.add_constant(rcx, static_cast<std::uint64_t>(end), 8);
    if (is_signed) {
      a_.sign_extend_32(rdx, rcx);
    } else {
      a_.mov(rdx, rcx, 4);
    }
    a_.compare(rdx, rcx, 8);
    a_.jump(Condition::not_equal, give_up_);
  }
}

void NumberEmitter::wide_product(const Item& item) {
  const bool is_signed = item.operation->is_signed;
  load_extended(rax, item, 0);
  check_no_wrap(item.in_shapes[0], is_signed);
  if (const std::optional<std::uint64_t> value = item.in_values[1]) {
    const auto word = static_cast<std::uint32_t>(*value);
    multiply(is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(word)})
                       : word,
             8);
  } else {
    if (item.in_shapes[1] != kUniform) {
      load_extended(rax, item, 1);
      check_no_wrap(item.in_shapes[1], is_signed);
      load_extended(rcx, item, 0);
    } else {
      load_extended(rcx, item, 1);
    }
    a_.multiply(rax, rcx, 8);
  }
  if (item.operation->act == Act::multiply_wide) return;
  load(rcx, item, 2);
  a_.add(rax, rcx, 8);
}

/// As FactRules::spreads_sign: 0, if no lane is negative.
void NumberEmitter::no_sign(const Item& item) {
  const ShapeExtent extent = lane_extent(item.in_shapes[0], 4);
  load(rax, item, 0);
  a_.sign_extend_32(rax, rax);
  for (const std::int64_t end : {extent.low, extent.high}) {
    a_.mov(rcx, rax, 8);
    a_.add_constant(rcx, static_cast<std::uint64_t>(end), 8);
    a_.shift_right(rcx, 31, 8);
    a_.jump(Condition::not_equal, give_up_);
  }
}

/// Amounts of the width or more give 0, or copies of the sign.
void NumberEmitter::shift(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned bits = operation.width * 8u;
  const bool left = operation.act == Act::shift_left;
  if (item.in_values[1])
    return shift_by_constant(item, static_cast<std::uint32_t>(*item.in_values[1]));
  load_two(item);
  if (!left && operation.is_signed) {
    a_.mov_constant(rdx, bits - 1);
    a_.compare(rcx, rdx, 4);
    a_.move_if(Condition::above, rcx, rdx, 4);
    a_.shift_by_cl(rax, 7, operation.width);
    return;
  }
  a_.shift_by_cl(rax, left ? 4 : 5, operation.width);
  a_.mov_constant(rdx, 0);
  a_.compare_constant(rcx, static_cast<std::int32_t>(bits), 4);
  a_.move_if(Condition::above_equal, rax, rdx, 8);
}

void NumberEmitter::shift_by_constant(const Item& item, std::uint32_t by) {
  const Operation& operation = *item.operation;
  const unsigned most = operation.width * 8u - 1;
  load(rax, item, 0);
  const auto amount = static_cast<std::uint8_t>(std::min(by, most));
  if (operation.act == Act::shift_right && operation.is_signed) {
    a_.shift_right_signed(rax, amount, operation.width);
  } else if (by > most) {
    a_.mov_constant(rax, 0);
  } else if (operation.act == Act::shift_left) {
    a_.shift_left(rax, amount, operation.width);
  } else {
    a_.shift_right(rax, amount, operation.width);
  }
}

/// By 0 the quotient is all ones, and the remainder the dividend. By -1 the CPU's division would
/// overflow.
void NumberEmitter::divide(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned width = operation.width;
  const bool quotient = operation.act == Act::divide;
  const Label by_zero = a_.label(), by_minus_one = a_.label(), done = a_.label();
  load_two(item);
  a_.test(rcx, rcx, width);
  a_.jump(Condition::equal, by_zero);
  if (operation.is_signed) {
    a_.compare_constant(rcx, -1, width);
    a_.jump(Condition::equal, by_minus_one);
  }
  a_.divide(rcx, operation.is_signed, width);
  if (!quotient) a_.mov(rax, rdx, width);
  a_.jump(done);
  a_.bind(by_zero);
  if (quotient) a_.mov_constant(rax, width == 8 ? ~std::uint64_t{0} : 0xffffffffu);
  a_.jump(done);
  a_.bind(by_minus_one);
  if (quotient) {
    a_.negate(rax, width);
  } else {
    a_.mov_constant(rax, 0);
  }
  a_.bind(done);
}

void NumberEmitter::extreme(const Item& item) {
  const Operation& operation = *item.operation;
  load_two(item);
  a_.compare(rcx, rax, operation.width);
  const bool smaller = operation.act == Act::minimum;
  const Condition take = operation.is_signed ? (smaller ? Condition::less : Condition::greater)
                                             : (smaller ? Condition::below : Condition::above);
  a_.move_if(take, rax, rcx, operation.width);
}

/// The lowest and the highest of the lanes give the same result, so all between do.
void NumberEmitter::compare_extremes(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned width = operation.width;
  const std::size_t shaped = item.in_shapes[0] == kUniform ? 1 : 0;
  const ShapeExtent extent = lane_extent(item.in_shapes[shaped], width);
  load(rdx, item, 1 - shaped);
  load(rax, item, shaped);
  const auto extreme = [&](Gpr to, std::int64_t difference) {
    if (difference == 0) return rax;
    a_.mov(to, rax, width);
    a_.add_constant(to, static_cast<std::uint64_t>(difference), width);
    a_.compare(to, rax, width);  // it has not wrapped around
    const bool up = difference > 0;
    a_.jump(operation.is_signed ? (up ? Condition::less : Condition::greater)
                                : (up ? Condition::below : Condition::above),
            parted_);
    return to;
  };
  const Gpr low = extreme(rcx, extent.low), high = extreme(rsi, extent.high);
  const Condition holds = condition_of(operation);
  const bool of_low = (shaped == 0) == is_one_of(holds, {Condition::less, Condition::less_equal,
                                                         Condition::below, Condition::below_equal});
  const auto jump_if_holds = [&](Gpr end, Label to) {
    a_.compare(shaped == 0 ? end : rdx, shaped == 0 ? rdx : end, width);
    a_.jump(holds, to);
  };
  const Label all = a_.label();
  a_.mov_constant(rdi, kAllLanes);
  jump_if_holds(of_low ? high : low, all);
  jump_if_holds(of_low ? low : high, parted_);
  a_.mov_constant(rdi, 0);
  a_.bind(all);
  a_.mov(rax, rdi, 4);
}

/// The lowest and the highest lane of each operand have the same sign, so all between do.
void NumberEmitter::check_signs(const Item& item) {
  const unsigned width = item.operation->width;
  for (const std::size_t i : {0, 1}) {
    if (item.in_shapes[i] == kUniform) continue;
    const ShapeExtent extent = lane_extent(item.in_shapes[i], width);
    load(rax, item, i);
    a_.address(rcx, at(rax, extent.low));
    a_.address(rdx, at(rax, extent.high));
    a_.bit_xor(rcx, rdx, width);
    a_.jump(Condition::negative, parted_);
  }
}

/// 0 or all ones.
void NumberEmitter::compare(const Item& item) {
  if (item.one_for_all) return compare_extremes(item);
  const Operation& operation = *item.operation;
  const std::optional<std::uint64_t> with = item.in_numbers[1];
  const auto constant = static_cast<std::int32_t>(with.value_or(0));
  if (with &&
      (operation.width <= 4 || std::int64_t{constant} == static_cast<std::int64_t>(*with))) {
    load(rax, item, 0);
    a_.compare_constant(rax, constant, operation.width);
  } else {
    a_.compare(rax, load_operands(item, false), operation.width);
  }
  a_.set(condition_of(operation), rax);
  a_.negate(rax, 4);
}

void NumberEmitter::select(const Item& item) {
  load(rdx, item, 2);
  load_two(item);
  a_.test(rdx, rdx, 4);
  a_.move_if(item.operation->flip ? Condition::not_equal : Condition::equal, rax, rcx, 8);
}

}  // namespace tilescope::emulator::compiled
