#include "emulator/compiled/number_emitter.hpp"

#include <algorithm>
#include <cstddef>

#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kMostPrefetched = 512;  // bytes: 16 of each lane

}  // namespace

GroupExtent extent_of(const AccessGroup& group, const ShapeTable& shapes) {
  const ShapeExtent extent = shapes.extent(group.shape, group.address_bytes);
  return {extent.low, group.highest - group.lowest + extent.high + group.bytes};
}

/// Bytes of a number: predicates have 4.
unsigned NumberEmitter::bytes(const Item& item, std::size_t i) const {
  return std::max<unsigned>(plan_.registers()[item.operation->in[i]].width, 4);
}

void NumberEmitter::load(Gpr to, const Item& item, std::size_t i) {
  const RegisterInfo& info = plan_.registers()[item.operation->in[i]];
  if (info.kind == RegisterKind::constant) {
    a_.mov_constant(to, info.width == 0 && info.bits != 0 ? 0xffffffffu : info.bits);
  } else {
    a_.mov(to, slot_place(item.in_slots[i]), bytes(item, i));
  }
}

/// A number of 32 bits as one of 64.
void NumberEmitter::load_extended(Gpr to, const Item& item, std::size_t i) {
  load(to, item, i);
  if (item.operation->is_signed) a_.sign_extend_32(to, to);
}

void NumberEmitter::emit() {
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
}

/// The result is in rax.
void NumberEmitter::number(const Item& item) {
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
      a_.mov(rcx, at(kState, offsetof(CompiledState, parameters)), 8);
      a_.mov(rax, at(rcx, item.operation->code->offset), item.operation->width);
      break;
    default:
      arithmetic(item);
  }
  const unsigned width = plan_.registers()[item.operation->out[0]].width;
  a_.store(slot_place(item.out_slots[0]), rax, std::max(width, 4u));
}

void NumberEmitter::arithmetic(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned width = std::max<unsigned>(operation.width, 4);
  load(rax, item, 0);
  if (operation.flip) a_.complement(rax, 4);
  if (operation.in.size() > 1) load(rcx, item, 1);
  if (operation.second_flip) a_.complement(rcx, 4);
  switch (operation.act) {
    case Act::add_constant:
      a_.add_constant(rax, static_cast<std::uint64_t>(operation.code->offset), width);
      break;
    case Act::add:
      a_.add(rax, rcx, width);
      break;
    case Act::subtract:
      a_.subtract(rax, rcx, width);
      break;
    case Act::multiply:
    case Act::multiply_add:
      a_.multiply(rax, rcx, width);
      if (operation.act == Act::multiply) break;
      load(rcx, item, 2);
      a_.add(rax, rcx, width);
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
      a_.bit_and(rax, rcx, width);
      break;
    case Act::bit_or:
      a_.bit_or(rax, rcx, width);
      break;
    case Act::bit_xor:
      a_.bit_xor(rax, rcx, width);
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
    default:  // move, narrow
      break;
  }
}

/// The lanes of a register with the number rax and this shape of 32 bits lie in one interval.
void NumberEmitter::check_no_wrap(ShapeNumber shape, bool is_signed) {
  if (shape == kUniform) return;
  const ShapeExtent extent = shapes_.extent(shape, 4);
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
  load_extended(rax, item, 0);
  check_no_wrap(item.in_shapes[0], item.operation->is_signed);
  if (item.in_shapes[1] != kUniform) {
    load_extended(rax, item, 1);
    check_no_wrap(item.in_shapes[1], item.operation->is_signed);
    load_extended(rcx, item, 0);
  } else {
    load_extended(rcx, item, 1);
  }
  a_.multiply(rax, rcx, 8);
  if (item.operation->act == Act::multiply_wide) return;
  load(rcx, item, 2);
  a_.add(rax, rcx, 8);
}

/// As FactRules::spreads_sign: 0, if no lane is negative.
void NumberEmitter::no_sign(const Item& item) {
  const ShapeExtent extent = shapes_.extent(item.in_shapes[0], 4);
  a_.sign_extend_32(rax, rax);
  for (const std::int64_t end : {extent.low, extent.high}) {
    a_.mov(rcx, rax, 8);
    a_.add_constant(rcx, static_cast<std::uint64_t>(end), 8);
    a_.shift_right(rcx, 31, 8);
    a_.jump(Condition::not_equal, give_up_);
  }
  a_.mov_constant(rax, 0);
}

/// Amounts of the width or more give 0, or copies of the sign.
void NumberEmitter::shift(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned bits = operation.width * 8u;
  load(rax, item, 0);
  load(rcx, item, 1);
  const bool left = operation.act == Act::shift_left;
  if (item.spreads_sign) return no_sign(item);
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

/// By 0 the quotient is all ones, and the remainder the dividend. By -1 the CPU's division would
/// overflow.
void NumberEmitter::divide(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned width = operation.width;
  const bool quotient = operation.act == Act::divide;
  const Label by_zero = a_.label(), by_minus_one = a_.label(), done = a_.label();
  load(rax, item, 0);
  load(rcx, item, 1);
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
  load(rax, item, 0);
  load(rcx, item, 1);
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
  const ShapeExtent extent = shapes_.extent(item.in_shapes[shaped], width);
  load(rax, item, shaped);
  load(rdx, item, 1 - shaped);
  const auto extreme = [&](Gpr to, std::int64_t difference) {
    a_.mov(to, rax, width);
    if (difference == 0) return;
    a_.add_constant(to, static_cast<std::uint64_t>(difference), width);
    a_.compare(to, rax, width);  // it has not wrapped around
    const bool up = difference > 0;
    a_.jump(operation.is_signed ? (up ? Condition::less : Condition::greater)
                                : (up ? Condition::below : Condition::above),
            parted_);
  };
  extreme(rcx, extent.low);
  extreme(rsi, extent.high);
  for (const Gpr end : {rcx, rsi}) {
    a_.compare(shaped == 0 ? end : rdx, shaped == 0 ? rdx : end, width);
    a_.set(condition_of(operation), end == rcx ? rax : rcx);
  }
  a_.compare(rax, rcx, 4);
  a_.jump(Condition::not_equal, parted_);
  a_.negate(rax, 4);
}

/// 0 or all ones.
void NumberEmitter::compare(const Item& item) {
  if (item.one_for_all) return compare_extremes(item);
  const Operation& operation = *item.operation;
  load(rax, item, 0);
  load(rcx, item, 1);
  a_.compare(rax, rcx, operation.width);
  a_.set(condition_of(operation), rax);
  a_.negate(rax, 4);
}

void NumberEmitter::select(const Item& item) {
  load(rax, item, 0);
  load(rcx, item, 1);
  load(rdx, item, 2);
  a_.test(rdx, rdx, 4);
  a_.move_if(item.operation->flip ? Condition::not_equal : Condition::equal, rax, rcx, 8);
}

void NumberEmitter::check_group(const AccessGroup& group) {
  const GroupExtent extent = extent_of(group, shapes_);
  const Label retry = a_.label();
  a_.bind(retry);
  if (group.address_slot == kNoSlot) {
    a_.mov_constant(rax, group.address);
  } else {
    a_.mov(rax, slot_place(group.address_slot), group.address_bytes);
  }
  a_.add_constant(rax, static_cast<std::uint64_t>(group.lowest), group.address_bytes);
  if (group.bytes > 1) {
    a_.test_low_byte(rax, static_cast<std::uint8_t>(group.bytes - 1));
    a_.jump(Condition::not_equal, give_up_);
  }
  if (group.shared) {
    // Lowest and highest byte, without wrapping around.
    a_.address(rcx, at(rax, extent.end));
    a_.address(rdx, at(rax, extent.low));
    a_.mov(rsi, at(kState, offsetof(CompiledState, shared_bytes)), 8);
    a_.compare(rcx, rsi, 8);
    a_.jump(Condition::above, give_up_);
    a_.compare(rdx, rsi, 8);
    a_.jump(Condition::above, give_up_);
    a_.add(rax, at(kState, offsetof(CompiledState, shared)), 8);
  } else {
    const Label miss = a_.label();
    const auto member = [&](std::size_t offset) {
      return at(kBounds, std::int64_t{group.bounds} * std::int64_t{sizeof(AccessBounds)} +
                             static_cast<std::int64_t>(offset));
    };
    a_.address(rdx, at(rax, extent.low));
    a_.mov(rcx, rdx, 8);
    a_.subtract(rcx, member(offsetof(AccessBounds, begin)), 8);
    a_.compare(rcx, member(offsetof(AccessBounds, limit)), 8);
    a_.jump(Condition::above_equal, miss);
    a_.add(rax, member(offsetof(AccessBounds, to_host)), 8);
    misses_.push_back({&group, miss, retry});
  }
  a_.store(slot_place(group.pointer_slot), rax, 8);
  // Stores wait for their cache lines one after the other; the lines come while loads wait for
  // theirs.
  if (!group.stored || group.shared || extent.end - extent.low > kMostPrefetched) return;
  for (std::int64_t line = extent.low; line < extent.end; line += kCacheLine) {
    a_.prefetch_written(at(rax, line));
  }
}

/// rdx: the lowest address.
void NumberEmitter::emit_misses() {
  for (const Miss& miss : misses_) {
    a_.bind(miss.enter);
    const GroupExtent extent = extent_of(*miss.group, shapes_);
    a_.vzeroupper();
    a_.mov(rdi, kState, 8);
    a_.mov_constant(rsi, miss.group->bounds);
    a_.mov_constant(rcx, static_cast<std::uint64_t>(extent.end - extent.low));
    a_.mov_constant(r8, miss.group->constant ? 1 : 0);
    a_.mov_constant(rax, reinterpret_cast<std::uint64_t>(&find_bounds));
    a_.call(rax);
    a_.test(rax, rax, 4);
    a_.jump(Condition::not_equal, miss.retry);
    a_.jump(give_up_);
  }
}

/// A load through an address that all lanes share.
void NumberEmitter::load_memory(const Item& item) {
  const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
  const Operation& operation = *item.operation;
  a_.mov(rcx, slot_place(group.pointer_slot), 8);
  for (std::size_t i = 0; i < operation.out.size(); ++i) {
    const std::int64_t offset =
        operation.code->offset - group.lowest + static_cast<std::int64_t>(i) * operation.width;
    a_.mov(rax, at(rcx, offset), operation.width);
    a_.store(slot_place(item.out_slots[i]), rax, operation.width);
  }
}

}  // namespace tilescope::emulator::compiled
