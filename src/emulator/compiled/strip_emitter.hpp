// The second step of a segment: vectors, a strip of lanes at a time through all operations.
#pragma once

#include <array>
#include <vector>

#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {

class StripEmitter {
 public:
  /// `kept`: as in VectorCache.
  StripEmitter(Assembler& assembler, const FunctionPlan& plan, const ShapeTable& shapes,
               const Segment& segment, const RegisterSet* kept)
      : a_(assembler),
        plan_(plan),
        shapes_(shapes),
        segment_(segment),
        kept_(kept),
        lanes_(strip_lanes(assembler)),
        cache_(assembler, plan, shapes, kept) {}

  void emit();

 private:
  void choose_pointers();
  void operation(const Item& item);
  void store_early(const Item& item);
  void halves(const Item& item);
  void half_of(const Item& item, int half);
  void bitwise(const Item& item, int half);
  void select(const Item& item, int half);
  void choose_mask(const Item& item, std::size_t predicate, int half);
  void select_512(const Item& item, int half, int result, int a, int b);
  void with_constant(VectorCode code, int result, int a, bool wide, std::uint64_t bits);
  void compare(const Item& item);
  void compare_512(const Item& item);
  bool compare_half(const Item& item, int half);
  bool is_kept(const Item& item) const;
  void store_predicate(const Item& item);
  void predicate_logic(const Item& item);
  Place predicate_byte(const Item& item, std::size_t i) const;
  Place predicate_result(const Item& item) const;
  void real(const Item& item, int half);
  void binary(VectorCode code, const Item& item, int half, bool raw);

  // integers: strip_integers.cpp
  void product(const Item& item, int half);
  void long_product(int result, int a, int b);
  void join_low(int result, int low, int high);
  void upper_half(int to, int from);
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
  void insert_four(int to, Source four, int part);
  bool load_run(int to, Gpr pointer, const std::int64_t* at_lane, int lanes, int bytes);
  bool load_two_runs(int to, Gpr pointer, const std::int64_t* at_lane, int lanes, int bytes);
  bool load_runs(int to, Gpr pointer, const std::int64_t* at_lane, int lanes, int bytes, int first);
  bool runs(int lane) const { return (segment_.lanes >> lane & 1) != 0; }
  int upper_mask(int bytes);
  void load_longs(const Item& item, std::size_t element, int half, int to);
  void load_narrow(const Item& item, std::size_t element, int to);
  int number_of(const Item& item) const { return static_cast<int>(&item - segment_.items.data()); }
  Gpr pointer(const Item& item);
  std::int64_t displacement(const Item& item, std::size_t element, int lane) const;

  Assembler& a_;
  const FunctionPlan& plan_;
  const ShapeTable& shapes_;
  const Segment& segment_;
  const RegisterSet* kept_;
  const int lanes_;  ///< of a strip
  VectorCache cache_;
  std::vector<int> pointers_;  ///< by group: a register that has its pointer, or -1
  /// Loads of neighbouring words through the same register, in ascending order of their words.
  struct Row {
    std::array<std::size_t, 4> items;
    bool loaded = false;  ///< for this strip
  };
  std::vector<Row> rows_;
  std::vector<int> row_of_;  ///< by item; -1: none
  bool has_upper_words_ = false, has_upper_longs_ = false;
  int strip_ = 0;
};

}  // namespace tilescope::emulator::compiled
