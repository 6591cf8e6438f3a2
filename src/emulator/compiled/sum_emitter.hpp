// Code that counts the accesses of a segment, and marks the bytes of global memory that they touch,
// for observers that take accesses added up. It stands behind the segment's checks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "emulator/compiled/access_sums.hpp"
#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/segment.hpp"

namespace tilescope::emulator::compiled {

class SumEmitter {
 public:
  SumEmitter(Assembler& assembler, const ShapeTable& shapes, const Segment& segment,
             SumNumbers& numbers, RegionSums& sums)
      : a_(assembler), shapes_(shapes), segment_(segment), numbers_(numbers), sums_(sums) {}

  void emit();
  /// Behind the region's code: calls for what is new.
  void emit_calls();

 private:
  SummedAccess access_of(const Item& item, std::size_t i) const;
  std::unique_ptr<SumGroup> copy_of(const Item& item) const;
  bool has_one_entry(const AccessGroup& group) const;
  void count_groups();
  void count(std::unique_ptr<SumGroup> group);
  void choose_entry(const SumGroup& group);
  void load_low_bits(Gpr to, const SummedAccess& access, std::int64_t offset);
  void load_address(const AccessGroup& group, std::int64_t offset);
  void mark(const AccessGroup& group, const std::vector<std::int64_t>& offsets, bool write);
  void mark_runs(const AccessGroup& group, std::vector<MarkGroup::Run> runs, bool write);
  void store_words(std::uint64_t words, Label goes_on);
  void mark_few(const AccessGroup& group, std::uint64_t bytes, Label enter);
  void mark_many(const AccessGroup& group, std::uint64_t bytes, Label enter);
  void test_bytes(std::int64_t bytes, Label enter);
  void mark_recent(Label enter);

  Assembler& a_;
  const ShapeTable& shapes_;
  const Segment& segment_;
  SumNumbers& numbers_;
  RegionSums& sums_;
  std::vector<std::function<void()>> calls_;
};

}  // namespace tilescope::emulator::compiled
