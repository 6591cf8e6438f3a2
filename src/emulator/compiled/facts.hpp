// How each operation changes the facts about registers (register_facts.hpp): which registers are
// kept as one number and a shape (lane_shape.hpp), and how the operation is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/compiled/function_plan.hpp"
#include "emulator/compiled/known_lanes.hpp"
#include "emulator/compiled/register_facts.hpp"

namespace tilescope::emulator::compiled {

/// A parameter of the kernel whose value is known when the code is compiled.
struct KnownParameter {
  std::int64_t offset = 0;
  std::uint8_t width = 4;
  std::uint64_t value = 0;
};
using KnownParameters = std::vector<KnownParameter>;

/// The way in which an operation is compiled.
enum class Way : std::uint8_t {
  scalar,  ///< results of known shape: one number each
  vector,  ///< lane by lane, eight at a time
  access,  ///< memory through an address of known shape
  call,    ///< by the interpreter's executor
};

/// The value of a result may follow from those of the operands.
bool gives_values(Act act);

class FactRules {
 public:
  /// `wanted`: registers whose shape is worth knowing.
  FactRules(const FunctionPlan& plan, ShapeTable& shapes, const std::vector<bool>& wanted,
            const KnownParameters& parameters)
      : plan_(plan), shapes_(shapes), wanted_(wanted), parameters_(parameters) {}

  ShapeNumber shape(const Facts& facts, std::uint32_t reg) const;
  unsigned zeros(const Facts& facts, std::uint32_t reg) const;
  /// The number that all lanes of the register hold, if it is known when the code is compiled.
  std::optional<std::uint64_t> value(const Facts& facts, std::uint32_t reg) const;
  /// The number of a register of known shape, of a predicate a bit for each lane, if it is known
  /// when the code is compiled.
  std::optional<std::uint64_t> number(const Facts& facts, std::uint32_t reg) const;
  /// The shape and the number of the result, if they follow from operands that are all known.
  std::optional<RegisterFact> known(const Operation& operation, const Facts& facts) const;
  /// The uniform operand whose value would give the result a shape; kNoRegister: there is none.
  std::uint32_t helpful_value(const Operation& operation, const Facts& facts) const;
  /// The shift leaves nothing but the sign of a register whose lanes differ. The code then tests
  /// that no lane is negative: divisions of indices by powers of two begin so.
  bool spreads_sign(const Operation& operation, const Facts& facts) const;
  /// A comparison of integers that only branches depend on, one of them uniform, the other of known
  /// shape; or bits of two registers of known shape together, of which only the sign is read. The
  /// code then tests that all lanes give the same result, and is left where they do not.
  bool is_one_for_all(const Operation& operation, const Facts& facts) const;
  /// From now on only some lanes run. `accesses`: accesses of known shape have code.
  void begin_masked(bool accesses) { masked_ = true, masked_accesses_ = accesses; }
  void end_masked() { masked_ = false; }
  /// From now on lanes may part: no comparison is one for all.
  void let_part(bool may) { may_part_ = may; }
  Way way(const Operation& operation, const Facts& facts) const;
  /// The lanes store one element each, which follow each other.
  bool stores_neighbours(const Operation& operation, const Facts& facts) const;
  /// `facts` become those behind the operation.
  void apply(const Operation& operation, Facts& facts) const;

 private:
  ShapeNumber result_shape(const Operation& operation, const Facts& facts) const;
  ShapeNumber product_shape(const Operation& operation, const Facts& facts, bool wide) const;
  std::optional<std::uint64_t> result_value(const Operation& operation, const Facts& facts) const;
  LaneValues lanes(const Facts& facts, std::uint32_t reg) const;
  unsigned result_zeros(const Operation& operation, const Facts& facts) const;
  ShapeNumber bitwise_shape(const Operation& operation, const Facts& facts) const;
  ShapeNumber shifted_shape(const Operation& operation, const Facts& facts) const;
  bool has_one_sign(const Operation& operation, const Facts& facts) const;
  bool has_bits_apart(const Facts& facts, std::uint32_t reg, unsigned bits) const;
  bool is_regular_access(const Operation& operation, std::size_t i, const Facts& facts) const;
  bool has_masked_code(const Operation& operation, const Facts& facts) const;

  const FunctionPlan& plan_;
  ShapeTable& shapes_;
  const std::vector<bool>& wanted_;
  const KnownParameters& parameters_;
  bool masked_ = false, masked_accesses_ = false, may_part_ = false;
};

}  // namespace tilescope::emulator::compiled
