// The second step of a segment: vectors, eight lanes at a time through all operations.
#pragma once

#include <array>
#include <vector>

#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {

class StripEmitter {
 public:
  StripEmitter(Assembler& assembler, const FunctionPlan& plan, const ShapeTable& shapes,
               const Segment& segment)
      : a_(assembler),
        plan_(plan),
        shapes_(shapes),
        segment_(segment),
        cache_(assembler, plan, shapes) {}

  void emit();

 private:
  void choose_pointers();
  void operation(const Item& item);
  void halves(const Item& item);
  void half_of(const Item& item, int half);
  void bitwise(const Item& item, int half);
  void select(const Item& item, int half);
  void choose_mask(const Item& item, std::size_t predicate, int half);
  void compare(const Item& item);
  bool compare_half(const Item& item, int half);
  void store_predicate(const Item& item);
  void predicate_logic(const Item& item);
  Place predicate_byte(const Item& item, std::size_t i) const;
  void real(const Item& item, int half);
  void binary(VectorCode code, const Item& item, int half, bool raw);

  // integers: strip_integers.cpp
  void product(const Item& item, int half);
  void long_product(int result, int a, int b);
  void wide_product(const Item& item);
  void high_product(const Item& item);
  void divide(const Item& item);
  void shift(const Item& item, int half);
  void change_width(const Item& item);
  void extend_low(const Item& item, int half);

  // loads: strip_loads.cpp
  void find_rows();
  bool may_be_early(std::size_t first, std::size_t item) const;
  void load(const Item& item);
  bool is_spread(const Item& item) const;
  bool load_row(const Item& item);
  void load_spread(const Item& item, const int* to);
  void load_words(const Item& item, std::size_t element, int to);
  void load_four_words(int to, Gpr pointer, const std::int64_t* at_lane);
  void load_longs(const Item& item, std::size_t element, int half, int to);
  void load_narrow(const Item& item, std::size_t element, int to);
  int number_of(const Item& item) const { return static_cast<int>(&item - segment_.items.data()); }
  Gpr pointer(const Item& item);
  std::int64_t displacement(const Item& item, std::size_t element, int lane) const;

  Assembler& a_;
  const FunctionPlan& plan_;
  const ShapeTable& shapes_;
  const Segment& segment_;
  VectorCache cache_;
  std::vector<int> pointers_;  ///< by group: a register that has its pointer, or -1
  /// Loads of neighbouring words through the same register, in ascending order of their words.
  struct Row {
    std::array<std::size_t, 4> items;
    bool loaded = false;  ///< for this strip
  };
  std::vector<Row> rows_;
  std::vector<int> row_of_;  ///< by item; -1: none
  int strip_ = 0;
};

}  // namespace tilescope::emulator::compiled
