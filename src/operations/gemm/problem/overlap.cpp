#include "operations/gemm/problem/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilescope::operations {
namespace {

struct ByteRange {
  std::uintptr_t begin = 0, end = 0;
};

// Visits the bytes of each row (column) that lies in one piece, until `visit` returns true.
template <typename Visit>
bool any_vector(const ConstMatrixBatch& batch, const Visit& visit) {
  const ConstMatrixView& first = batch.first;
  const auto start = reinterpret_cast<std::uintptr_t>(first.data);
  const std::size_t element = size_of(first.type);
  const std::int64_t matrices = batch.stride == 0 ? 1 : batch.count;
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (std::int64_t v = 0; v < first.vectors(); ++v) {
      const auto offset = static_cast<std::size_t>(m * batch.stride + v * first.leading);
      const std::uintptr_t begin = start + offset * element;
      const auto bytes = static_cast<std::size_t>(first.vector_length()) * element;
      if (visit(ByteRange{begin, begin + bytes})) return true;
    }
  }
  return false;
}

ByteRange whole(const ConstMatrixBatch& batch) {
  const ConstMatrixView& first = batch.first;
  const auto start = reinterpret_cast<std::uintptr_t>(first.data);
  const std::int64_t elements = (batch.count - 1) * batch.stride +
                                (first.vectors() - 1) * first.leading + first.vector_length();
  return {start, start + static_cast<std::size_t>(elements) * size_of(first.type)};
}

bool meet(const ByteRange& one, const ByteRange& other) {
  return one.begin < other.end && other.begin < one.end;
}

struct Placed {
  ByteRange range;
  ConstMatrixView view;
  bool is_result = false;
};

}  // namespace

bool overlaps(const ConstMatrixBatch& one, const ConstMatrixBatch& other) {
  if (one.count == 0 || other.count == 0 || one.first.empty() || other.first.empty()) return false;
  if (!meet(whole(one), whole(other))) return false;
  std::vector<ByteRange> ranges;
  any_vector(other, [&](const ByteRange& range) {
    ranges.push_back(range);
    return false;
  });
  const auto begins_before = [](const ByteRange& range, std::uintptr_t at) {
    return range.begin < at;
  };
  return any_vector(one, [&](const ByteRange& range) {
    const auto next = std::lower_bound(ranges.begin(), ranges.end(), range.end, begins_before);
    return next != ranges.begin() && meet(*std::prev(next), range);
  });
}

bool any_overlaps(std::span<const MatrixView> c, std::span<const ConstMatrixView> others) {
  std::vector<Placed> placed;
  const auto place = [&](const ConstMatrixView& view, bool is_result) {
    if (!view.empty()) placed.push_back({whole({view}), view, is_result});
  };
  for (const MatrixView& view : c) place(view, true);
  for (const ConstMatrixView& view : others) place(view, false);
  std::sort(placed.begin(), placed.end(), [](const Placed& one, const Placed& other) {
    return one.range.begin < other.range.begin;
  });
  // Only matrices whose ranges meet are compared row by row.
  for (std::size_t i = 0; i < placed.size(); ++i) {
    for (std::size_t j = i + 1; j < placed.size() && placed[j].range.begin < placed[i].range.end;
         ++j) {
      if (!placed[i].is_result && !placed[j].is_result) continue;
      if (overlaps({placed[i].view}, {placed[j].view})) return true;
    }
  }
  return false;
}

}  // namespace tilescope::operations
