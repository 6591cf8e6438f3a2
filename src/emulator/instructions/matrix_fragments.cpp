#include "emulator/instructions/matrix_fragments.hpp"

#include "emulator/context.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::Type;

/// One-bit elements are multiplied 32 at a time.
unsigned elements_per_place(Type type) {
  return type == Type::b1 ? 1 : elements_per_register(type);
}

unsigned words_along_k(Type type, unsigned k) {
  return type == Type::b1 ? k / 32 : k;
}

enum class Role : std::uint8_t { a, b, sum };

/// The index of an element in the plan's matrix. The columns of B stand where those of the sum do.
std::size_t index_in(const MatrixPlan& plan, Role role, Fragment::Position at) {
  if (role == Role::a) {
    return std::size_t{at.row} * plan.k + place_along_k(plan.rule, at.column, plan.k);
  }
  const bool permuted = role == Role::b && plan.d.accumulator;
  return std::size_t{at.row} * plan.columns +
         (permuted ? accumulator_position(plan.d_type, at.column) : at.column);
}

bool set_places(const MatrixPlan& plan, Role role, const Fragment& f, bool exact,
                MatrixFragment& fragment) {
  const auto count = static_cast<unsigned>(fragment.registers.size());
  fragment.per_register = f.per_register;
  const std::size_t held = std::size_t{32} * count * f.per_register;
  const std::size_t elements = std::size_t{f.rows} * f.columns;
  if (exact ? held != elements : held < elements || held % elements != 0) return false;
  if (fragment.accumulator) return true;
  fragment.places.clear();
  for (unsigned r = 0; r < count; ++r) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned e = 0; e < f.per_register; ++e) {
        fragment.places.push_back(
            static_cast<std::uint16_t>(index_in(plan, role, f.position(lane, r, e, count))));
      }
    }
  }
  return true;
}

}  // namespace

unsigned elements_per_register(Type type) {
  const unsigned bits = type == Type::tf32 ? 32 : ptx::bit_width(type);
  return bits >= 32 ? 1 : 32 / bits;
}

Fragment::Position Fragment::position(unsigned lane, unsigned r, unsigned e,
                                      unsigned registers) const {
  const unsigned group = lane / 4, thread = lane % 4;
  const unsigned index = r * per_register + e;
  const unsigned quad = group % 4, upper = lane / 16 * 4;
  switch (layout) {
    case FragmentLayout::mma_a: {
      const unsigned halves = rows / 8;  // registers take turns between rows 0..7 and 8..15
      return {group + 8 * (r % halves), thread * per_register + e + r / halves * 4 * per_register};
    }
    case FragmentLayout::mma_b:
      return {thread * per_register + e + r * 4 * per_register, group};
    case FragmentLayout::mma_c:  // two neighbours in each row
      return {group + 8 * (index / 2), thread * 2 + index % 2};
    case FragmentLayout::quad_rows:
      return {quad * 8 + thread + upper, index};
    case FragmentLayout::quad_a_columns:
      return {quad * 8 + index + upper, thread};
    case FragmentLayout::quad_b_rows:
      return {quad * 4 + thread, index + upper};
    case FragmentLayout::quad_b_columns:
      return {quad * 4 + index, thread + upper};
    case FragmentLayout::quad_sums:
      return {quad * 8 + lane % 2 + (index & 2) + upper, (index & 4) + (lane & 2) + index % 2};
    case FragmentLayout::by_rows:
    case FragmentLayout::by_columns:
      break;
  }
  // Registers with room for more hold elements several times.
  const unsigned linear = (lane * registers * per_register + index) % (rows * columns);
  if (layout == FragmentLayout::by_columns) return {linear % rows, linear / rows};
  return {linear / columns, linear % columns};
}

bool add_registers(FunctionDecoder& d, const Operand& operand, Type type, bool destination,
                   std::vector<std::uint32_t>& list) {
  const Type read_as = type == Type::f64 ? Type::f64 : Type::b32;
  const auto add = [&](const Operand& element) {
    if (d.width(element, read_as) != (type == Type::f64 ? 8u : 4u)) return false;
    list.push_back(destination ? d.destination(element) : d.source(element, read_as));
    return true;
  };
  if (operand.kind != Operand::Kind::vector) return add(operand);
  for (const Operand& element : operand.elements) {
    if (!add(element)) return false;
  }
  return true;
}

std::uint64_t fragment_element(Context& w, const Fragment& f, std::uint32_t reg, unsigned lane,
                               unsigned e) {
  if (f.type == Type::f64) return r64(w, reg)[lane];
  const std::uint32_t v = r32(w, reg)[lane];
  if (f.per_register == 1) return v;
  const unsigned bits = 32 / f.per_register;
  return v >> e * bits & ((1u << bits) - 1);
}

void set_fragment_element(Context& w, const Fragment& f, std::uint32_t reg, unsigned lane,
                          unsigned e, std::uint64_t bits) {
  if (f.type == Type::f64) {
    r64(w, reg)[lane] = bits;
    return;
  }
  std::uint32_t& v = r32(w, reg)[lane];
  if (f.per_register == 1) {
    v = static_cast<std::uint32_t>(bits);
    return;
  }
  const unsigned width = 32 / f.per_register;
  const std::uint32_t keep = (1u << width) - 1;
  v = (v & ~(keep << e * width)) | (static_cast<std::uint32_t>(bits) & keep) << e * width;
}

bool set_fragments(FunctionDecoder& d, const ptx::Instruction& in, const ProductOperands& o,
                   MatrixPlan& plan) {
  const bool quads = o.a == FragmentLayout::quad_rows || o.a == FragmentLayout::quad_a_columns;
  const unsigned copies = quads ? 4 : 1;
  plan.rows = o.m * copies;
  plan.columns = o.n;
  plan.k = words_along_k(plan.a_type, o.kept);
  plan.b_rows = words_along_k(plan.b_type, o.k) * copies;
  const bool accumulator = o.d == FragmentLayout::mma_c && plan.d_type != Type::f64;
  plan.c.accumulator = plan.d.accumulator = accumulator;
  MatrixFragment* const fragments[4] = {&plan.d, &plan.a, &plan.b, &plan.c};
  const Type types[4] = {plan.d_type, plan.a_type, plan.b_type, plan.c_type};
  const FragmentLayout layouts[4] = {o.d, o.a, o.b, o.c};
  const unsigned rows[4] = {plan.rows, plan.rows, plan.b_rows, plan.rows};
  const unsigned columns[4] = {plan.columns, plan.k, plan.columns, plan.columns};
  const Role roles[4] = {Role::sum, Role::a, Role::b, Role::sum};
  for (std::size_t i = 0; i < 4; ++i) {
    if (!add_registers(d, in.operands[i], types[i], i == 0, fragments[i]->registers)) return false;
    const Fragment f{elements_per_place(types[i]), types[i], layouts[i], rows[i], columns[i]};
    if (!set_places(plan, roles[i], f, o.exact, *fragments[i])) return false;
  }
  if (plan.k != plan.b_rows / copies) return true;  // metadata say which elements meet
  plan.meets.resize(std::size_t{plan.rows} * plan.k);
  for (unsigned row = 0; row < plan.rows; ++row) {
    for (unsigned e = 0; e < plan.k; ++e) {
      plan.meets[row * plan.k + place_along_k(plan.rule, e, plan.k)] =
          static_cast<std::uint16_t>(e + (quads ? row / o.m * plan.k : 0));
    }
  }
  return true;
}

bool set_left_fragment(FunctionDecoder& d, const Operand& operand, MatrixPlan& plan) {
  const Fragment f{elements_per_place(plan.a_type), plan.a_type, FragmentLayout::mma_a, plan.rows,
                   plan.k};
  return add_registers(d, operand, plan.a_type, false, plan.a.registers) &&
         set_places(plan, Role::a, f, true, plan.a);
}

}  // namespace tilescope::emulator
