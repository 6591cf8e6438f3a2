#include "observe/check/cell_rows.hpp"

namespace tilescope::observe {
namespace {

bool same_warp(const RowEvent& a, const RowEvent& b) {
  return ((a.lane_0.bits ^ b.lane_0.bits) & AccessTag::kWarpBits) == 0;
}

}  // namespace

/// As WordKernels::ordered.
RowAccess::Order RowAccess::ordered(const RowEvent& earlier, const RowEvent& now) const {
  if (earlier.time < epoch_) return Order::yes;
  if (!same_warp(earlier, now)) return Order::no;
  if (earlier.time < whole_warp_ || earlier.lanes == now.lanes) return Order::yes;
  return earlier.lanes.is_apart(now.lanes) ? Order::no : Order::mixed;
}

/// As WordKernels::precedes, for all cells; false too where that is not seen at once.
bool RowAccess::precedes(const RowEvent& earlier, const RowEvent& now, bool alone) const {
  if (earlier.time < epoch_) return true;
  if (!same_warp(earlier, now)) return false;
  const bool same_thread =
      earlier.lanes == now.lanes && earlier.lane_0.thread_bits() == now.lane_0.thread_bits();
  return (alone && same_thread) || earlier.time < whole_warp_;
}

/// As RaceChecker::remember_reader; false, and nothing done, if cells differ.
bool RowAccess::remember(CellRow& row, const RowEvent& now) const {
  const Order after_first = ordered(row.first, now);
  if (after_first == Order::mixed) return false;
  if (after_first == Order::yes) {
    row.first = now;
    return true;
  }
  const bool other_warp = !same_warp(now, row.first) && same_warp(row.second, row.first);
  const Order after_second = other_warp ? Order::yes : ordered(row.second, now);
  if (after_second == Order::mixed) return false;
  if (after_second == Order::yes) row.second = now;
  return true;
}

/// False, and nothing done, if cells differ.
bool RowAccess::read(CellRow& row, const RowEvent& now) const {
  const RowEvent first = row.first, second = row.second;
  if (!precedes(row.write, now, second_ == 0) || !remember(row, now)) return false;
  if (second_ == 0 || (!same_warp(row.first, now) && !same_warp(row.second, now))) return true;
  RowEvent again = now;
  again.lanes = now.lanes.higher(second_);
  if (remember(row, again)) return true;
  row.first = first;
  row.second = second;
  return false;
}

/// The same.
bool RowAccess::write(CellRow& row, const RowEvent& now) const {
  if (!precedes(row.write, now, true) || !precedes(row.first, now, true) ||
      !precedes(row.second, now, true)) {
    return false;
  }
  row.write = now;
  return true;
}

/// change(row, event) for all rows if it does not fail for any, which it tells of several rows by
/// copies.
template <class Change>
bool RowAccess::change(CellRows& rows, std::uint32_t begin, std::uint32_t end,
                       Change change) const {
  const auto [first, last] = rows.cover(begin, end);
  if (first == nullptr) return false;
  if (last - first == 1) {
    if (!change(*first, now_)) return false;
  } else {
    for (const CellRow* row = first; row != last; ++row) {
      CellRow copy = *row;
      if (!change(copy, now_.from(row->begin - begin))) return false;
    }
    for (CellRow* row = first; row != last; ++row) change(*row, now_.from(row->begin - begin));
  }
  rows.join(first, last);
  return true;
}

bool RowAccess::read(CellRows& rows, std::uint32_t begin, std::uint32_t end) const {
  return change(rows, begin, end,
                [&](CellRow& row, const RowEvent& now) { return read(row, now); });
}

bool RowAccess::write(CellRows& rows, std::uint32_t begin, std::uint32_t end) const {
  if (second_ != 0) return false;
  return change(rows, begin, end,
                [&](CellRow& row, const RowEvent& now) { return write(row, now); });
}

}  // namespace tilescope::observe
