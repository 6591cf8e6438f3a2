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

/// Bytes of what the copy engine addresses: bases and pitches are multiples of it.
constexpr std::int64_t copy_alignment = 16;

/// How many interleaved matrices rows of this pitch make, so that each has a pitch that 16 bytes
/// divide: 1, 2, 4 or 8.
int residue_groups(std::int64_t pitch_bytes);

/// `rows` rows of `columns` elements in device memory, `pitch` elements apart.
struct RowsInMemory {
  DataType type = DataType::float32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t pitch = 0;
  std::int64_t batch = 1, batch_stride = 0;
  bool reads_ahead = true;  ///< as in TensorMapRequest

  std::int64_t pitch_bytes() const { return pitch * static_cast<std::int64_t>(size_of(type)); }
  /// Whether one map can describe all matrices of the batch.
  bool batch_fits_map() const {
    return batch == 1 ||
           batch_stride * static_cast<std::int64_t>(size_of(type)) % copy_alignment == 0;
  }
};

/// An operand of `rows` x `columns` as it lies: its rows in memory are columns where it is
/// column-major.
RowsInMemory rows_in_memory(const GemmOperand& operand, std::int64_t rows, std::int64_t columns,
                            std::int64_t batch);

/// The maps of every `groups`-th row, and by how many elements a column lies further in each than
/// its map says, because the map's base was rounded down to 16 bytes.
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

/// Transposes matrices of 16- or 32-bit elements in device memory.
class Turning {
 public:
  Turning(Device& device, DataType type);
  /// Queues to[column][row] = from[row][column]. The rows of `to` are `to_pitch` elements apart,
  /// matrices of a batch `to_stride`; 16 bytes divide the pitch and the address. Up to the next
  /// multiple of 64 after the last row of `from`, but not beyond the pitch, anything is written.
  void run(const RowsInMemory& from, DeviceAddress from_address, DeviceAddress to,
           std::int64_t to_pitch, std::int64_t to_stride, const Stream& stream) const;

 private:
  Device& device_;
  Kernel kernel_;
};

/// A copy of a matrix with rows of whole 16-byte chunks, turned or not.
class Repacking {
 public:
  Repacking(Device& device, const RowsInMemory& from, bool turned);
  const RowsInMemory& result() const { return to_; }
  DeviceAddress address() const { return buffer_.address(); }
  void run(DeviceAddress from, const Stream& stream) const;

  /// An operand of a product: its copy, if there is one, and where it lies itself.
  struct Operand {
    const Repacking* copy = nullptr;
    DeviceAddress from = 0;
  };
  /// Queues the copies of both operands, of equal type and batch: one launch for those that are
  /// not turned.
  static void run_both(const Operand& a, const Operand& b, const Stream& stream);

 private:
  static void copy_rows(std::span<const Operand> operands, bool follows_turning,
                        const Stream& stream);

  Device& device_;
  RowsInMemory from_, to_;
  std::optional<Turning> turning_;
  Buffer buffer_;
  Kernel kernel_;  // that copies rows, where they are not turned
};

}  // namespace tilescope::operations
