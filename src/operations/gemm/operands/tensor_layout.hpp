// How an operand in memory becomes boxes for the copy engine: directly, as interleaved matrices, or
// after a copy in another layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The alignment of the copy engine: bases and pitches are multiples of it.
constexpr std::int64_t copy_alignment = 16;

/// The number of interleaved matrices made of rows of this pitch, so that the pitch of each is a
/// multiple of 16 bytes: 1, 2, 4, 8 or 16.
int residue_groups(std::int64_t pitch_bytes);

/// `rows` rows of `columns` elements in device memory, `pitch` elements apart.
struct RowsInMemory {
  DataType type = DataType::float32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t pitch = 0;
  std::int64_t batch = 1, batch_stride = 0;

  std::int64_t pitch_bytes() const { return pitch * static_cast<std::int64_t>(size_of(type)); }
  /// Bytes of all matrices, without the gaps between rows.
  double bytes() const {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(batch) *
           static_cast<double>(size_of(type));
  }
  /// Whether one map can describe all matrices of the batch.
  bool batch_fits_map() const {
    return batch == 1 ||
           batch_stride * static_cast<std::int64_t>(size_of(type)) % copy_alignment == 0;
  }
};

/// An operand of `rows` x `columns` in its memory order: its rows in memory are columns if it is
/// column-major.
RowsInMemory rows_in_memory(const GemmOperand& operand, std::int64_t rows, std::int64_t columns,
                            std::int64_t batch);

/// The product C^T = B^T A^T, whose C is column-major and otherwise as in the problem.
GemmProblem transposed(const GemmProblem& problem);

/// The maps of every `groups`-th row. A map's base is rounded down to 16 bytes; `shifts` are the
/// elements by which columns lie further than the map says.
struct ResidueMaps {
  std::vector<TensorMap> maps;
  std::vector<std::int32_t> shifts;
};
/// `box_columns` x `box_rows` elements are copied at a time.
ResidueMaps residue_maps(Device& device, const RowsInMemory& matrix, DeviceAddress address,
                         int groups, std::uint32_t box_columns, std::uint32_t box_rows,
                         Swizzle swizzle = Swizzle::bytes_128);

/// The device address of the map of group `group`, and the elements that its rounding skips: the
/// arithmetic of residue_maps(), for any address.
struct ResidueBase {
  DeviceAddress address = 0;
  std::int32_t shift = 0;
};
ResidueBase residue_base(const RowsInMemory& matrix, DeviceAddress address, int group);

/// Transposes matrices of 8-, 16- or 32-bit elements in device memory.
class Transposition {
 public:
  Transposition(Device& device, DataType type);
  /// Queues to[column][row] = from[row][column]. The rows of `to` are `to_pitch` elements apart,
  /// matrices of a batch `to_stride`; the pitch and the address are multiples of 16 bytes. Anything
  /// may be written up to the next multiple of 64 after the last row of `from`, but not beyond the
  /// pitch.
  void run(const RowsInMemory& from, DeviceAddress from_address, DeviceAddress to,
           std::int64_t to_pitch, std::int64_t to_stride, const Stream& stream) const;

 private:
  Device& device_;
  Kernel kernel_;
};

/// Whether a product lets the next grid begin before it ends. Not if that may be a kernel that
/// copies operands, as the next product's like this one: all of its blocks would gather on the few
/// SMs that are free early.
inline bool lets_next_grid_begin(bool copies_operands, bool adds_parts_next) {
  return adds_parts_next || !copies_operands;
}

/// A copy of a matrix with rows of whole 16-byte chunks, optionally transposed.
class Repacking {
 public:
  Repacking(Device& device, const RowsInMemory& from, bool transposed);
  const RowsInMemory& result() const { return to_; }
  DeviceAddress address() const { return buffer_.address(); }
  /// `overlaps`: whether it may begin while what came before in the stream still runs, and so may
  /// the product behind it.
  void run(DeviceAddress from, const Stream& stream, bool overlaps = true) const;

  /// An operand of a product: its copy, if there is one, and its own address.
  struct Operand {
    const Repacking* copy = nullptr;
    DeviceAddress from = 0;
  };
  /// Queues the copies of both operands, of equal type and batch: one launch for those that are not
  /// transposed.
  static void run_both(const Operand& a, const Operand& b, const Stream& stream);

 private:
  static void copy_rows(std::span<const Operand> operands, bool follows_turning, bool overlaps,
                        const Stream& stream);

  Device& device_;
  RowsInMemory from_, to_;
  std::optional<Transposition> transposition_;
  Buffer buffer_;
  Kernel kernel_;  // copies rows; unused if they are transposed
};

}  // namespace tilescope::operations
