// The records of neighbouring cells.
//
// Eight cells lie together, each part of their records in one vector of eight words: so a warp's
// access to neighbouring cells takes a few vector instructions for each eight of them, and a single
// cell still lies in few cache lines.
#pragma once

#include <cstdint>

#include "observe/access_tag.hpp"
#include "observe/check/group_array.hpp"

namespace tilescope::observe {

/// The bytes of a page of memory, whose records lie together in a ShadowPage.
inline constexpr std::uint32_t kPageBytes = 256;

class CellRecords {
 public:
  static constexpr std::uint32_t kTogether = 8;
  /// In the order of memory: parts that one access needs are neighbours.
  enum Part : std::uint8_t {
    first_time,  ///< Cell::reader[0]
    first_tag,
    second_time,  ///< Cell::reader[1]
    second_tag,
    write_time,
    atomic_time,
    write_tag,
    atomic_tag,
    kParts
  };
  struct alignas(64) Group {
    std::uint32_t parts[kParts][kTogether];
  };

  CellRecords() = default;
  /// A multiple of 8 cells, all of them untouched.
  explicit CellRecords(std::uint32_t cells) : groups_(cells / kTogether), cells_(cells) {}
  std::uint32_t size() const { return cells_; }
  explicit operator bool() const { return bool(groups_); }

  Group& group(std::uint32_t cell) { return groups_[cell / kTogether]; }
  Cell operator[](std::uint32_t cell) const {
    return {write(cell), atomic(cell), {first(cell), second(cell)}};
  }
  void set(std::uint32_t cell, const Cell& to) {
    set_write(cell, to.write);
    set_atomic(cell, to.atomic);
    set_readers(cell, to.reader);
  }
  // The parts of a cell's record.
  Event write(std::uint32_t cell) const { return event(cell, write_time, write_tag); }
  Event atomic(std::uint32_t cell) const { return event(cell, atomic_time, atomic_tag); }
  Event first(std::uint32_t cell) const { return event(cell, first_time, first_tag); }
  Event second(std::uint32_t cell) const { return event(cell, second_time, second_tag); }
  void set_write(std::uint32_t cell, const Event& to) { set(cell, write_time, write_tag, to); }
  void set_atomic(std::uint32_t cell, const Event& to) { set(cell, atomic_time, atomic_tag, to); }
  void set_readers(std::uint32_t cell, const Event (&to)[2]) {
    set(cell, first_time, first_tag, to[0]);
    set(cell, second_time, second_tag, to[1]);
  }
  std::uint32_t& at(std::uint32_t cell, Part part) {
    return groups_[cell / kTogether].parts[part][cell % kTogether];
  }
  const std::uint32_t& at(std::uint32_t cell, Part part) const {
    return groups_[cell / kTogether].parts[part][cell % kTogether];
  }

 private:
  Event event(std::uint32_t cell, Part time, Part tag) const {
    return {at(cell, time), AccessTag{at(cell, tag)}};
  }
  void set(std::uint32_t cell, Part time, Part tag, const Event& to) {
    at(cell, time) = to.time;
    at(cell, tag) = to.tag.bits;
  }

  GroupArray<Group> groups_;
  std::uint32_t cells_ = 0;
};

}  // namespace tilescope::observe
