// The records of neighbouring cells.
//
// Eight cells lie together, each part of their records in one vector of eight words: so a warp's
// access to neighbouring cells takes a few vector instructions for each eight of them, and a single
// cell still lies in few cache lines.
#pragma once

#include <cstdint>
#include <memory>

#include "observe/access_tag.hpp"

namespace tilescope::observe {

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
  explicit CellRecords(std::uint32_t cells)
      : groups_(std::make_unique<Group[]>(cells / kTogether)) {}
  explicit operator bool() const { return groups_ != nullptr; }

  Group& group(std::uint32_t cell) { return groups_[cell / kTogether]; }
  Cell operator[](std::uint32_t cell) const {
    const auto event = [&](Part time, Part tag) {
      return Event{at(cell, time), AccessTag{at(cell, tag)}};
    };
    return {event(write_time, write_tag),
            event(atomic_time, atomic_tag),
            {event(first_time, first_tag), event(second_time, second_tag)}};
  }
  void set(std::uint32_t cell, const Cell& to) {
    const auto event = [&](Part time, Part tag, const Event& value) {
      at(cell, time) = value.time;
      at(cell, tag) = value.tag.bits;
    };
    event(write_time, write_tag, to.write);
    event(atomic_time, atomic_tag, to.atomic);
    event(first_time, first_tag, to.reader[0]);
    event(second_time, second_tag, to.reader[1]);
  }
  std::uint32_t& at(std::uint32_t cell, Part part) {
    return groups_[cell / kTogether].parts[part][cell % kTogether];
  }
  const std::uint32_t& at(std::uint32_t cell, Part part) const {
    return groups_[cell / kTogether].parts[part][cell % kTogether];
  }

 private:
  std::unique_ptr<Group[]> groups_;
};

}  // namespace tilescope::observe
