// The vectors that lie in the CPU's registers while a strip goes through a segment: eight lanes, or
// sixteen with AVX-512. A vector is half of the strip's lanes of an 8-byte register, or all of a
// 4-byte one. Vectors that were computed are written to the frame when their place is needed, or at
// the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/segment.hpp"

namespace tilescope::emulator::compiled {

/// Free for the steps of one operation.
inline constexpr int kScratch = 13, kScratch2 = 14, kScratch3 = 15;
inline constexpr int kBlend = 31;  ///< with AVX-512: of a vector of which some lanes are stored
/// Mask registers: for the steps of one operation, the upper half of a vector's lanes by their
/// width, the lanes that run where others do not, and those that have had a NaN.
inline constexpr int kMask = 1, kMask2 = 2, kUpperWords = 3, kUpperLongs = 4, kRunning = 5,
                     kNanMask = 7;
/// 4-byte lanes of a strip.
inline int strip_lanes(const Assembler& assembler) {
  return assembler.strip_bytes() / 4;
}

/// A vector: of a register, or of the number in a slot.
struct VectorName {
  std::uint32_t reg;
  int slot;  ///< kNoSlot: the register's lanes
  int half;
  friend bool operator==(const VectorName& a, const VectorName& b) {
    return a.half == b.half && a.slot == b.slot && (a.slot != kNoSlot || a.reg == b.reg);
  }
};

class VectorCache {
 public:
  /// `kept`: registers of which lanes that do not run keep their values; null: all lanes run.
  VectorCache(Assembler& assembler, const FunctionPlan& plan, const ShapeTable& shapes,
              const RegisterSet* kept)
      : a_(assembler), plan_(plan), shapes_(shapes), kept_(kept), lanes_(strip_lanes(assembler)) {}

  /// NaNs of results that nothing but code behind the segment reads become the chip's one when all
  /// strips are done, in end_nans(). One register gathers whether there are any.
  void defer_nans();
  void end_nans();

  void begin_strip(int strip);
  /// Writes what is needed behind the segment.
  void end_strip();

  /// A vector register with operand `i` of the item. `raw`: NaNs need not be the chip's one. It
  /// stays until `release`.
  int use(const Item& item, std::size_t i, int half, bool raw);
  /// The same as the last operand of an instruction: its place in the frame where it lies there and
  /// is not read again soon. `at`: the number of the item.
  Source use_once(const Item& item, int at, std::size_t i, int half, bool raw);
  /// A vector register for result `i` that starts as operand `from`, and may take its place.
  int use_as_result(const Item& item, std::size_t from, std::size_t i, int half, bool raw);
  /// A vector register for result `i`. `raw`: its NaNs may be any.
  int define(const Item& item, std::size_t i, int half, bool raw);
  void release();

 private:
  struct Entry {
    bool used = false, pinned = false, dirty = false, raw = false;
    VectorName name{};
    int next = kNever;
  };
  int find(const VectorName& name) const;
  int take();
  void write(int number);
  void make_canonical(int number);
  void write_deferred(int number);
  void store(int number);
  void load(const Item& item, std::size_t i, int half, int number);
  Place home(std::uint32_t reg, int half) const;

  static constexpr int kVectors = 32;
  static constexpr int kNans =
      12;  ///< with AVX2 the lanes that have had a NaN, where they are deferred
  /// Whether vectors may lie in the register.
  bool is_place(int number) const {
    return number < kNans || (number == kNans && (a_.has_512() || !defers_)) ||
           (number > kScratch3 && number != kBlend && a_.has_512());
  }
  Assembler& a_;
  const FunctionPlan& plan_;
  const ShapeTable& shapes_;
  const RegisterSet* kept_;
  const int lanes_;                      ///< of a strip
  std::array<Entry, kVectors> entries_;  ///< by the CPU's register
  int strip_ = 0;
  bool defers_ = false;
  std::vector<std::uint32_t> deferred_;  ///< registers, once for each time they were written
};

/// The lanes' differences as a constant, from lane `first` on: as many as a vector of a strip has.
Place differences(Assembler& assembler, const LaneShape& shape, unsigned bytes, int first);

/// The place of a number: a slot, unless it is known.
struct NumberPlace {
  int slot = kNoSlot;
  std::optional<std::uint64_t> known{};
};
/// A word or, as wide as the register, a long in memory with the number.
Place number_place(Assembler& assembler, const NumberPlace& number, unsigned width);

/// Writes a register to the frame that is kept as a number and a shape; null: uniform. `masked`:
/// only the lanes that run.
void write_lanes(Assembler& assembler, const RegisterInfo& reg, const NumberPlace& number,
                 const LaneShape* shape, bool masked = false);

/// The lanes that run, from lane `first` on, to a mask register.
void load_running(Assembler& assembler, int first);
/// Stores a strip's vector to the frame, only the lanes that run, from lane `first` on.
void store_running(Assembler& assembler, int vector, Place place, int first, bool wide);

}  // namespace tilescope::emulator::compiled
