#include "emulator/compiled/facts.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/one_of.hpp"

namespace tilescope::emulator::compiled {
namespace {

/// Displacements in instructions have 32 bits.
constexpr std::int64_t kFar = 1 << 28;

}  // namespace

ShapeNumber FactRules::shape(const Facts& facts, std::uint32_t reg) const {
  return plan_.registers()[reg].kind == RegisterKind::constant ? kUniform : facts[reg].shape;
}

bool gives_values(Act act) {
  return is_one_of(
      act, {Act::move, Act::add, Act::subtract, Act::multiply, Act::multiply_add,
            Act::multiply_wide, Act::shift_left, Act::shift_right, Act::widen, Act::narrow});
}

std::optional<std::uint64_t> FactRules::value(const Facts& facts, std::uint32_t reg) const {
  const RegisterInfo& info = plan_.registers()[reg];
  if (info.kind == RegisterKind::constant) {
    return info.width == 0 && info.bits != 0 ? 0xffffffffu : info.bits;
  }
  if (!facts[reg].known || facts[reg].shape != kUniform) return std::nullopt;
  return facts[reg].value;
}

std::optional<std::uint64_t> FactRules::number(const Facts& facts, std::uint32_t reg) const {
  if (facts[reg].known) return facts[reg].value;
  return value(facts, reg);
}

/// The value of each lane of a register whose number is known.
LaneValues FactRules::lanes(const Facts& facts, std::uint32_t reg) const {
  const std::uint64_t number = *this->number(facts, reg);
  const unsigned bytes = plan_.registers()[reg].width;
  const LaneShape& differences = shapes_[shape(facts, reg)];
  LaneValues result;
  for (std::size_t lane = 0; lane < result.size(); ++lane) {
    const std::uint64_t sum = number + differences[lane];
    result[lane] = bytes == 0 ? number >> lane & 1 : bytes == 8 ? sum : sum & 0xffffffffu;
  }
  return result;
}

std::optional<RegisterFact> FactRules::known(const Operation& operation, const Facts& facts) const {
  constexpr std::size_t kMost = 3;
  if (operation.out.size() != 1 || operation.in.size() > kMost || operation.in.empty() ||
      operation.is_access() || operation.act == Act::call) {
    return std::nullopt;
  }
  bool uniform = true;
  for (const std::uint32_t reg : operation.in) {
    if (!number(facts, reg)) return std::nullopt;
    uniform = uniform && shape(facts, reg) == kUniform;
  }
  LaneValues in[kMost];
  for (std::size_t i = 0; i < operation.in.size(); ++i) in[i] = lanes(facts, operation.in[i]);
  const unsigned bytes = plan_.registers()[operation.out[0]].width;
  const std::optional<LaneValues> result =
      known_result(operation, {in, operation.in.size()}, bytes, uniform);
  if (!result) return std::nullopt;
  RegisterFact fact{.known = true, .value = (*result)[0]};
  if (uniform) {
    fact.shape = kUniform;
    if (bytes == 0) fact.value = fact.value != 0 ? 0xffffffffu : 0;
    return fact;
  }
  LaneShape differences = *result;
  for (std::uint64_t& lane : differences) {
    lane = bytes == 8 ? lane - fact.value : (lane - fact.value) & 0xffffffffu;
  }
  fact.shape = shapes_.number(differences);
  if (bytes == 0) {
    fact.value = 0;
    for (std::size_t lane = 0; lane < result->size(); ++lane) fact.value |= (*result)[lane] << lane;
  }
  if (fact.shape == kNoShape) return std::nullopt;
  return fact;
}

/// A product has a known shape where one factor is known, or both are uniform.
ShapeNumber FactRules::product_shape(const Operation& operation, const Facts& facts,
                                     bool wide) const {
  const unsigned bytes = wide ? 8 : operation.width;
  for (const int i : {0, 1}) {
    const std::uint32_t other = operation.in[static_cast<std::size_t>(1 - i)];
    const ShapeNumber a = shape(facts, operation.in[static_cast<std::size_t>(i)]);
    if (a == kUniform && shape(facts, other) == kUniform) return kUniform;
    const std::optional<std::uint64_t> factor = value(facts, other);
    if (a == kNoShape || !factor) continue;
    if (!wide) return shapes_.multiply(a, *factor, bytes);
    const auto extended =
        operation.is_signed
            ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(*factor)})
            : *factor;
    return shapes_.multiply(shapes_.widen(a), extended, bytes);
  }
  return kNoShape;
}

ShapeNumber FactRules::result_shape(const Operation& operation, const Facts& facts) const {
  if (const std::optional<RegisterFact> fact = known(operation, facts)) return fact->shape;
  const auto of = [&](std::size_t i) { return shape(facts, operation.in[i]); };
  const auto all_uniform = [&] {
    return std::all_of(operation.in.begin(), operation.in.end(),
                       [&](std::uint32_t reg) { return shape(facts, reg) == kUniform; });
  };
  const unsigned width = operation.width;
  switch (operation.act) {
    case Act::move:
    case Act::add_constant:
      return of(0);
    case Act::add:
      return shapes_.add(of(0), of(1), width);
    case Act::subtract:
      return shapes_.subtract(of(0), of(1), width);
    case Act::negate:
    case Act::bit_not:
      return width == 0 ? of(0) : shapes_.subtract(kUniform, of(0), width);
    case Act::multiply:
      return product_shape(operation, facts, false);
    case Act::multiply_add:
      return shapes_.add(product_shape(operation, facts, false), of(2), width);
    case Act::multiply_wide:
      return product_shape(operation, facts, true);
    case Act::multiply_add_wide:
      return shapes_.add(product_shape(operation, facts, true), of(2), 8);
    case Act::shift_left: {
      const std::optional<std::uint64_t> by = value(facts, operation.in[1]);
      if (by && *by < width * 8u) {
        return shapes_.multiply(of(0), std::uint64_t{1} << *by, width);
      }
      return all_uniform() ? kUniform : kNoShape;
    }
    case Act::widen:
      return shapes_.widen(of(0));
    case Act::narrow:
      return shapes_.narrow(of(0));
    case Act::compare:
      if (is_one_for_all(operation, facts)) return kUniform;
      return !operation.real && all_uniform() ? kUniform : kNoShape;
    case Act::select:
      return of(2) == kUniform && of(0) == of(1) ? of(0) : kNoShape;
    case Act::shift_right:
      if (all_uniform() || spreads_sign(operation, facts)) return kUniform;
      return shifted_shape(operation, facts);
    case Act::bit_and:
    case Act::bit_or:
    case Act::bit_xor:
      if (all_uniform() || is_one_for_all(operation, facts)) return kUniform;
      return bitwise_shape(operation, facts);
    case Act::multiply_high:
    case Act::keep_bits:
    case Act::divide:
    case Act::remainder:
    case Act::minimum:
    case Act::maximum:
      return all_uniform() ? kUniform : kNoShape;
    case Act::load_parameter:
      return kUniform;
    default:
      return kNoShape;
  }
}

unsigned FactRules::zeros(const Facts& facts, std::uint32_t reg) const {
  const RegisterInfo& info = plan_.registers()[reg];
  const std::optional<std::uint64_t> known = number(facts, reg);
  if (!known) return facts[reg].zeros;
  return static_cast<unsigned>(std::min(std::countr_zero(*known), info.width * 8));
}

/// The differences are not negative and below 2^bits, and so many bits of the number are zero.
bool FactRules::has_bits_apart(const Facts& facts, std::uint32_t reg, unsigned bits) const {
  const ShapeNumber number = shape(facts, reg);
  if (number == kNoShape || bits > 31 || zeros(facts, reg) < bits) return false;
  const LaneShape& lanes = shapes_[number];
  return std::all_of(lanes.begin(), lanes.end(), [&](std::uint64_t d) { return d >> bits == 0; });
}

/// Both numbers have zeros where the differences have bits; or one operand is a constant.
ShapeNumber FactRules::bitwise_shape(const Operation& operation, const Facts& facts) const {
  if (operation.width == 0) return kNoShape;
  std::uint32_t a = operation.in[0], b = operation.in[1];
  const auto is_constant = [&](std::uint32_t reg) {
    return plan_.registers()[reg].kind == RegisterKind::constant;
  };
  if (is_constant(a)) std::swap(a, b);
  const unsigned bits =
      is_constant(b) ? zeros(facts, a) : std::min(zeros(facts, a), zeros(facts, b));
  const unsigned low = std::min(bits, 31u);
  if (!has_bits_apart(facts, a, low) || (!is_constant(b) && !has_bits_apart(facts, b, low))) {
    return kNoShape;
  }
  const std::uint64_t keep = (std::uint64_t{1} << low) - 1;
  const std::uint64_t constant = is_constant(b) ? plan_.registers()[b].bits & keep : 0;
  LaneShape result{};
  for (std::size_t lane = 0; lane < result.size(); ++lane) {
    const std::uint64_t x = shapes_[shape(facts, a)][lane];
    const std::uint64_t y = is_constant(b) ? constant : shapes_[shape(facts, b)][lane];
    const std::uint64_t value = operation.act == Act::bit_and  ? x & y
                                : operation.act == Act::bit_or ? x | y
                                                               : x ^ y;
    // Lane 0 has x = 0: what the constant alone gives belongs to the number.
    const std::uint64_t first = operation.act == Act::bit_and ? 0 : constant;
    result[lane] = operation.width == 8 ? value - first : (value - first) & 0xffffffffu;
  }
  return shapes_.number(result);
}

bool FactRules::spreads_sign(const Operation& operation, const Facts& facts) const {
  return operation.act == Act::shift_right && operation.is_signed && operation.width == 4 &&
         wanted_[operation.out[0]] && value(facts, operation.in[1]) == 31u &&
         shape(facts, operation.in[0]) > kUniform && !number(facts, operation.in[0]);
}

/// The number of the result is that of lane 0, which has the sign of all.
bool FactRules::has_one_sign(const Operation& operation, const Facts& facts) const {
  if (operation.width == 0 || !plan_.only_sign(operation.out[0])) return false;
  const ShapeNumber a = shape(facts, operation.in[0]), b = shape(facts, operation.in[1]);
  if (a == kNoShape || b == kNoShape || (a == kUniform && b == kUniform)) return false;
  return std::all_of(operation.in.begin(), operation.in.end(), [&](std::uint32_t reg) {
    const ShapeExtent extent = shapes_.extent(shape(facts, reg), operation.width);
    return extent.low > -kFar && extent.high < kFar;
  });
}

bool FactRules::is_one_for_all(const Operation& operation, const Facts& facts) const {
  if (!may_part_ && operation.act == Act::bit_or) return has_one_sign(operation, facts);
  if (may_part_ || operation.act != Act::compare || operation.real ||
      is_one_of(operation.comparison, {ptx::Compare::eq, ptx::Compare::ne}) ||
      !plan_.only_branches(operation.out[0])) {
    return false;
  }
  const ShapeNumber a = shape(facts, operation.in[0]), b = shape(facts, operation.in[1]);
  const ShapeNumber form = std::max(a, b);
  if (a == kNoShape || b == kNoShape || (a != kUniform) == (b != kUniform)) return false;
  if (number(facts, operation.in[0]) && number(facts, operation.in[1])) return false;
  const ShapeExtent extent = shapes_.extent(form, operation.width);
  return extent.low > -kFar && extent.high < kFar;
}

/// To the right by a constant.
ShapeNumber FactRules::shifted_shape(const Operation& operation, const Facts& facts) const {
  const RegisterInfo& by = plan_.registers()[operation.in[1]];
  const std::uint32_t a = operation.in[0];
  const unsigned low = std::min(zeros(facts, a), 31u);
  if (by.kind != RegisterKind::constant || by.bits >= operation.width * 8u ||
      !has_bits_apart(facts, a, low)) {
    return kNoShape;
  }
  LaneShape result = shapes_[shape(facts, a)];
  for (std::uint64_t& value : result) value >>= by.bits;
  return shapes_.number(result);
}

/// The value of a result that is the same for all lanes, where it does not depend on registers
/// whose number is known.
std::optional<std::uint64_t> FactRules::result_value(const Operation& operation,
                                                     const Facts& facts) const {
  if (spreads_sign(operation, facts)) return 0;
  if (operation.act != Act::load_parameter) return std::nullopt;
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(), [&](const KnownParameter& known) {
        return known.offset == operation.code->offset && known.width == operation.width;
      });
  if (found != parameters_.end()) return found->value;
  return std::nullopt;
}

std::uint32_t FactRules::helpful_value(const Operation& operation, const Facts& facts) const {
  const bool product = is_one_of(operation.act, {Act::multiply, Act::multiply_add,
                                                 Act::multiply_wide, Act::multiply_add_wide});
  if (operation.real || (!product && operation.act != Act::shift_left)) return kNoRegister;
  for (const std::size_t i : {0, 1}) {
    const std::uint32_t factor = operation.in[i], other = operation.in[1 - i];
    if (i == 0 && !product) continue;
    const ShapeNumber shaped = shape(facts, other);
    if (shape(facts, factor) == kUniform && !value(facts, factor) && shaped != kNoShape &&
        shaped != kUniform) {
      return factor;
    }
  }
  return kNoRegister;
}

/// The low bits that are zero in every lane of a result of known shape.
unsigned FactRules::result_zeros(const Operation& operation, const Facts& facts) const {
  const auto of = [&](std::size_t i) { return zeros(facts, operation.in[i]); };
  const auto constant = [&](std::size_t i) {
    return plan_.registers()[operation.in[i]].kind == RegisterKind::constant;
  };
  unsigned least = 64;
  for (std::size_t i = 0; i < operation.in.size(); ++i) least = std::min(least, of(i));
  switch (operation.act) {
    case Act::move:
    case Act::widen:
    case Act::narrow:
    case Act::add:
    case Act::subtract:
    case Act::negate:
    case Act::bit_or:
    case Act::bit_xor:
      return least;
    case Act::select:
      return std::min(of(0), of(1));
    case Act::bit_and:
      return std::max(of(0), of(1));
    case Act::multiply:
    case Act::multiply_wide:
      return of(0) + of(1);
    case Act::multiply_add:
    case Act::multiply_add_wide:
      return std::min(of(0) + of(1), of(2));
    case Act::shift_left:
      return constant(1) ? of(0) + static_cast<unsigned>(std::min<std::uint64_t>(
                                       plan_.registers()[operation.in[1]].bits, 64))
                         : 0;
    case Act::shift_right: {
      const std::uint64_t by = plan_.registers()[operation.in[1]].bits;
      return constant(1) && by < of(0) ? of(0) - static_cast<unsigned>(by) : 0;
    }
    default:
      return 0;
  }
}

/// The access through its address `i` needs one check of bounds.
bool FactRules::is_regular_access(const Operation& operation, std::size_t i,
                                  const Facts& facts) const {
  const std::uint32_t address = operation.in[i];
  const ShapeNumber form = shape(facts, address);
  if (form == kNoShape) return false;
  const ShapeExtent extent = shapes_.extent(form, plan_.registers()[address].width);
  const std::uint64_t alignment = operation.code->bytes - 1u;
  return (extent.bits & alignment) == 0 && extent.low > -kFar && extent.high < kFar &&
         std::abs(operation.offset(i)) < kFar;
}

/// Under a mask lanes store to neighbouring elements, a vector of 512 bits at a time, or all to
/// one.
bool FactRules::has_masked_code(const Operation& operation, const Facts& facts) const {
  if (!masked_accesses_ || operation.act == Act::copy) return false;
  if (operation.act == Act::load) return true;
  const std::uint32_t address = operation.in[0];
  const ShapeNumber form = shape(facts, address);
  if (form == kUniform) {
    return std::none_of(operation.in.begin() + 1, operation.in.end(),
                        [&](std::uint32_t data) { return shape(facts, data) > kUniform; });
  }
  if (operation.width < 4 || operation.in.size() != 2) return false;
  const int lanes = 64 / operation.width;
  const unsigned bytes = plan_.registers()[address].width;
  for (int lane = 0; lane < 32; ++lane) {
    const int first = lane / lanes * lanes;
    if (shapes_.difference(form, lane, bytes) !=
        shapes_.difference(form, first, bytes) + (lane - first) * operation.width) {
      return false;
    }
  }
  return true;
}

bool FactRules::stores_neighbours(const Operation& operation, const Facts& facts) const {
  if (operation.act != Act::store || operation.width < 4 || operation.in.size() != 2) return false;
  const ShapeNumber form = shape(facts, operation.in[0]);
  if (form == kNoShape) return false;
  const unsigned bytes = plan_.registers()[operation.in[0]].width;
  for (int lane = 0; lane < 32; ++lane) {
    if (shapes_.difference(form, lane, bytes) != lane * std::int64_t{operation.width}) return false;
  }
  return true;
}

Way FactRules::way(const Operation& operation, const Facts& facts) const {
  if (operation.act == Act::call || operation.act == Act::atomic_add) return Way::call;
  if (operation.is_access()) {
    for (std::size_t i = 0; i < operation.addresses(); ++i) {
      if (!is_regular_access(operation, i, facts)) return Way::call;
    }
    return masked_ && !has_masked_code(operation, facts) ? Way::call : Way::access;
  }
  if (result_shape(operation, facts) != kNoShape) return Way::scalar;
  return operation.has_vectors() ? Way::vector : Way::call;
}

void FactRules::apply(const Operation& operation, Facts& facts) const {
  RegisterFact result;
  switch (way(operation, facts)) {
    case Way::scalar:
      if (const std::optional<RegisterFact> fact = known(operation, facts)) {
        result = *fact;
      } else {
        result.shape = result_shape(operation, facts);
        const auto same = result_value(operation, facts);
        result.known = same && result.shape == kUniform;
        result.value = same.value_or(0);
      }
      result.zeros = static_cast<std::uint8_t>(
          std::min(result_zeros(operation, facts), plan_.registers()[operation.out[0]].width * 8u));
      break;
    case Way::access:
      if (operation.act == Act::load && operation.width >= 4 && wanted_[operation.out[0]] &&
          shape(facts, operation.in[0]) == kUniform) {
        result.shape = kUniform;
      }
      break;
    case Way::vector:
    case Way::call:
      break;
  }
  result.stale = result.shape != kNoShape;
  for (const std::uint32_t reg : operation.out) facts.set(reg, result);
}

}  // namespace tilescope::emulator::compiled
