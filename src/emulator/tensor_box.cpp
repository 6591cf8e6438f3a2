#include "emulator/tensor_box.hpp"

#include <algorithm>
#include <utility>

#include "emulator/swizzle.hpp"

namespace tilescope::emulator {
namespace {

constexpr std::uint32_t kChunkBytes = 16;

using Position = std::array<std::int64_t, kMostTensorDimensions>;

/// Collects the rows of a box, in the order in which they lie in shared memory.
class Pieces {
 public:
  Pieces(const TensorBox& box, bool stores)
      : map_(box.map),
        unit_(box.map.unit_bytes()),
        chunks_(1u << static_cast<unsigned>(box.map.swizzle)),
        end_(static_cast<std::int64_t>(box.map.extents[0])),
        padded_end_(end_),
        row_(box.shared) {
    const std::int64_t chunk = kChunkBytes / unit_;
    if (stores && chunk > 1) padded_end_ = (end_ + chunk - 1) / chunk * chunk;
  }

  /// A row of `count` units along the innermost dimension from `at` on, `step` apart. `goes_on`: it
  /// continues the last one.
  void add_row(const Position& at, unsigned count, unsigned step, bool goes_on = false) {
    bool outside = false;
    std::uint64_t address = map_.address;
    for (std::size_t d = 1; d < map_.rank; ++d) {
      outside = outside || at[d] < 0 || at[d] >= static_cast<std::int64_t>(map_.extents[d]);
      address += static_cast<std::uint64_t>(at[d]) * map_.strides[d - 1];
    }
    shared_ = row_;
    begins_row_ = !goes_on;
    for (unsigned i = 0; i < count;) {
      const std::int64_t x = at[0] + std::int64_t{i} * step;
      const bool beyond = outside || x < 0 || x >= padded_end_;
      const std::int64_t until = x < 0 ? 0 : x < end_ ? end_ : x < padded_end_ ? padded_end_ : x;
      std::int64_t same = outside || (beyond && x >= 0) ? count : step == 1 ? until - x : 1;
      same = std::min<std::int64_t>(same, count - i);
      add({address + static_cast<std::uint64_t>(x) * unit_, 0,
           static_cast<std::uint32_t>(same) * unit_, beyond, !beyond && x >= end_});
      i += static_cast<unsigned>(same);
    }
    row_ += static_cast<std::uint32_t>(map_.row_pitch());
  }

  std::vector<BulkPiece> take() { return std::move(pieces_); }

 private:
  /// Adds bytes at shared_; a swizzled stretch chunk by chunk.
  void add(BulkPiece piece) {
    for (std::uint32_t bytes = piece.bytes; bytes != 0; bytes -= piece.bytes) {
      piece.bytes = chunks_ == 1 ? bytes : std::min(bytes, kChunkBytes - shared_ % kChunkBytes);
      piece.to = swizzled(shared_, chunks_);
      append(piece);
      piece.from += piece.bytes;
      shared_ += piece.bytes;
    }
  }

  void append(BulkPiece piece) {
    piece.begins_row = std::exchange(begins_row_, false);
    if (!pieces_.empty() && !piece.begins_row) {
      BulkPiece& last = pieces_.back();
      if (last.filled == piece.filled && last.padding == piece.padding &&
          last.to + last.bytes == piece.to &&
          (piece.filled || last.from + last.bytes == piece.from)) {
        last.bytes += piece.bytes;
        return;
      }
    }
    pieces_.push_back(piece);
  }

  const TensorMapImage& map_;
  std::uint32_t unit_;
  unsigned chunks_;
  std::int64_t end_, padded_end_;  ///< of the innermost dimension, in units
  std::uint32_t row_;              ///< where the next row begins, before swizzling
  std::uint32_t shared_ = 0;       ///< where its next byte lies
  bool begins_row_ = true;         ///< nothing of the row has been added yet
  std::vector<BulkPiece> pieces_;
};

unsigned step_of(const TensorMapImage& map, std::size_t d) {
  return d == 0 && !map.is_interleaved() ? 1 : map.element_strides[d];
}

void add_tile(const TensorBox& box, Pieces& pieces) {
  const TensorMapImage& map = box.map;
  std::array<unsigned, kMostTensorDimensions> index{};
  for (;;) {
    Position at{};
    for (std::size_t d = 0; d < map.rank; ++d) {
      at[d] = box.coordinates[d] + std::int64_t{index[d]} * step_of(map, d);
    }
    pieces.add_row(at, map.box_units(0), step_of(map, 0));
    std::size_t d = 1;
    while (d < map.rank && ++index[d] == map.box_units(d)) index[d++] = 0;
    if (d >= map.rank) return;
  }
}

/// Columns of pixels: the box of pixels is walked innermost dimension first, then image by image.
void add_columns(const TensorBox& box, Pieces& pieces) {
  const TensorMapImage& map = box.map;
  const std::size_t first = map.is_interleaved() ? 0 : 1;  // spatial dimension
  const std::size_t spatial = map.rank - 2u;
  Position pixel{};
  for (std::size_t d = 0; d < map.rank; ++d) pixel[d] = box.coordinates[d];
  bool wraps = true;
  for (unsigned p = 0; p < map.pixels; ++p) {
    Position at = pixel;
    for (std::size_t i = 0; i < spatial; ++i) at[first + i] += box.offsets[i];
    // Interleaved pixels side by side are units of one row.
    pieces.add_row(at, static_cast<unsigned>(map.row_units()), 1, map.is_interleaved() && !wraps);
    std::size_t i = 0;
    for (; i < spatial; ++i) {
      const std::size_t d = first + i;
      pixel[d] += map.element_strides[d];
      if (pixel[d] < static_cast<std::int64_t>(map.extents[d]) + map.upper[i]) break;
      pixel[d] = map.lower[i];
    }
    wraps = i != 0;
    if (i == spatial) pixel[map.rank - 1u] += map.element_strides[map.rank - 1u];
  }
}

std::vector<BulkPiece> pieces_of(const TensorBox& box, bool stores) {
  Pieces pieces(box, stores);
  if (box.map.mode == TensorMode::im2col) {
    add_columns(box, pieces);
  } else {
    add_tile(box, pieces);
  }
  return pieces.take();
}

}  // namespace

std::vector<BulkPiece> load_pieces(const TensorBox& box) {
  return pieces_of(box, false);
}

std::vector<BulkPiece> store_pieces(const TensorBox& box) {
  std::vector<BulkPiece> pieces = pieces_of(box, true);
  std::erase_if(pieces, [](const BulkPiece& piece) { return piece.filled; });
  for (BulkPiece& piece : pieces) std::swap(piece.from, piece.to);
  return pieces;
}

}  // namespace tilescope::emulator
