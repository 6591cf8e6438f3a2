#include "operations/gemm/operands/tensor_layout.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return groups_of(value, step) * step;
}

RowsInMemory repacked(const RowsInMemory& from, bool transposed) {
  RowsInMemory to = from;
  if (transposed) std::swap(to.rows, to.columns);
  // Rows that begin with a cache line are read in whole lines.
  constexpr std::int64_t line = 128;
  to.pitch = rounded_up(std::max<std::int64_t>(to.columns, 1),
                        line / static_cast<std::int64_t>(size_of(from.type)));
  to.batch_stride = to.rows * to.pitch;
  return to;
}

constexpr int threads = 256;  // of a block of either kernel

KernelRequest repack_request(std::string_view kernel, DataType type) {
  KernelRequest request = embedded_request("gemm/repack.cu");
  request.kernel = kernel;
  request.defines.emplace_back("WORD", size_of(type) == 1   ? "unsigned char"
                                       : size_of(type) == 2 ? "unsigned short"
                                                            : "unsigned int");
  return request;
}

// Matches kernels/gemm/repack.cu and row_copy.cuh.
struct RowCopy {
  DeviceAddress from, to;
  std::int64_t from_pitch, to_pitch;
  std::int32_t rows, columns, band;
  std::uint32_t chunks;
  Divisor by_chunks;
};
struct Part {
  RowCopy copy;
  std::int64_t from_stride, to_stride;
};
struct Parts {
  std::array<Part, 2> at;
  std::uint32_t blocks_of_first;
  std::int32_t follows_turning;
};

Part part_of(const RowsInMemory& from, DeviceAddress from_address, const RowsInMemory& to,
             DeviceAddress to_address) {
  constexpr std::int64_t most_chunks = std::int64_t{1} << 30U;  // of a band
  const std::int64_t chunk = copy_alignment / static_cast<std::int64_t>(size_of(from.type));
  const std::int64_t chunks = std::max<std::int64_t>(1, groups_of(from.columns, chunk));
  const std::int64_t band = std::min(from.rows, most_chunks / chunks);
  return {.copy = {.from = from_address,
                   .to = to_address,
                   .from_pitch = from.pitch,
                   .to_pitch = to.pitch,
                   .rows = static_cast<std::int32_t>(from.rows),
                   .columns = static_cast<std::int32_t>(from.columns),
                   .band = static_cast<std::int32_t>(std::max<std::int64_t>(1, band)),
                   .chunks = static_cast<std::uint32_t>(chunks),
                   .by_chunks = divisor_of(chunks)},
          .from_stride = from.batch_stride,
          .to_stride = to.batch_stride};
}

}  // namespace

RowsInMemory rows_in_memory(const GemmOperand& operand, std::int64_t rows, std::int64_t columns,
                            std::int64_t batch) {
  const bool row_major = operand.order == Order::row_major;
  return {.type = operand.type,
          .rows = row_major ? rows : columns,
          .columns = row_major ? columns : rows,
          .pitch = operand.leading,
          .batch = batch,
          .batch_stride = operand.batch_stride};
}

GemmProblem transposed(const GemmProblem& problem) {
  GemmProblem result = problem;
  std::swap(result.shape.m, result.shape.n);
  std::swap(result.a, result.b);
  std::swap(result.scale_a, result.scale_b);
  for (GemmOperand* operand : {&result.a, &result.b}) {
    operand->order = operand->order == Order::row_major ? Order::column_major : Order::row_major;
  }
  result.bias_per_row = !problem.bias_per_row;
  return result;
}

int residue_groups(std::int64_t pitch_bytes) {
  return static_cast<int>(copy_alignment / std::gcd(pitch_bytes, copy_alignment));
}

ResidueBase residue_base(const RowsInMemory& matrix, DeviceAddress address, int group) {
  const DeviceAddress start = address + static_cast<DeviceAddress>(group) *
                                            static_cast<DeviceAddress>(matrix.pitch_bytes());
  const DeviceAddress skipped = start % copy_alignment;
  return {start - skipped, static_cast<std::int32_t>(skipped / size_of(matrix.type))};
}

ResidueMaps residue_maps(Device& device, const RowsInMemory& matrix, DeviceAddress address,
                         int groups, std::uint32_t box_columns, std::uint32_t box_rows,
                         Swizzle swizzle) {
  ResidueMaps result;
  const auto element = static_cast<std::int64_t>(size_of(matrix.type));
  for (int g = 0; g < groups; ++g) {
    // A residue without rows: its map is never used, so any map is fine.
    const bool is_empty = g >= matrix.rows;
    const ResidueBase base = residue_base(matrix, address, is_empty ? 0 : g);
    const std::int64_t pitch = rounded_up(matrix.pitch_bytes() * groups, copy_alignment);
    result.shifts.push_back(base.shift);
    result.maps.push_back(device.tensor_map(
        {.address = base.address,
         .type = matrix.type,
         .extents = {static_cast<std::uint64_t>(base.shift + matrix.columns),
                     static_cast<std::uint64_t>(is_empty ? 1 : groups_of(matrix.rows - g, groups)),
                     static_cast<std::uint64_t>(matrix.batch)},
         .pitches = {static_cast<std::uint64_t>(pitch),
                     static_cast<std::uint64_t>(matrix.batch > 1 ? matrix.batch_stride * element
                                                                 : pitch)},
         .box = {box_columns, box_rows, 1},
         .swizzle = swizzle}));
  }
  return result;
}

Transposition::Transposition(Device& device, DataType type)
    : device_(device), kernel_(device.load(repack_request("transpose_rows", type))) {}

void Transposition::run(const RowsInMemory& from, DeviceAddress from_address, DeviceAddress to,
                        std::int64_t to_pitch, std::int64_t to_stride, const Stream& stream) const {
  constexpr std::int64_t most_blocks_down = 65535;
  constexpr std::int64_t side = 64;  // of a tile, as in the kernel
  Launch launch;
  launch.grid = {static_cast<std::uint32_t>(groups_of(from.rows, side)),
                 static_cast<std::uint32_t>(
                     std::clamp<std::int64_t>(groups_of(from.columns, side), 1, most_blocks_down)),
                 static_cast<std::uint32_t>(from.batch)};
  launch.block = {threads};
  device_.launch(kernel_, launch,
                 KernelArguments::of(from_address, to, from.rows, from.columns, from.pitch,
                                     to_pitch, from.batch_stride, to_stride),
                 stream);
}

Repacking::Repacking(Device& device, const RowsInMemory& from, bool transposed)
    : device_(device), from_(from), to_(repacked(from, transposed)) {
  const auto bytes = static_cast<std::size_t>(to_.batch * to_.batch_stride) * size_of(to_.type);
  buffer_ = device.allocate(bytes, "a repacked operand");
  if (transposed) {
    transposition_.emplace(device, from.type);
  } else {
    kernel_ = device.load(repack_request("copy_rows", from.type));
  }
}

void Repacking::run(DeviceAddress from, const Stream& stream, bool overlaps) const {
  if (transposition_) {
    transposition_->run(from_, from, buffer_.address(), to_.pitch, to_.batch_stride, stream);
  } else {
    const Operand alone{.copy = this, .from = from};
    copy_rows({&alone, 1}, false, overlaps, stream);
  }
}

void Repacking::run_both(const Operand& a, const Operand& b, const Stream& stream) {
  std::vector<Operand> copied;
  bool has_transposed = false;
  for (const Operand& operand : {a, b}) {
    if (!operand.copy) continue;
    if (operand.copy->transposition_) {
      operand.copy->run(operand.from, stream);
      has_transposed = true;
    } else {
      copied.push_back(operand);
    }
  }
  if (!copied.empty()) copy_rows(copied, has_transposed, true, stream);
}

void Repacking::copy_rows(std::span<const Operand> operands, bool follows_turning, bool overlaps,
                          const Stream& stream) {
  const Repacking& first = *operands.front().copy;
  Parts parts{};
  parts.follows_turning = follows_turning ? 1 : 0;
  std::int64_t blocks = 0, bands = 1;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Repacking& copy = *operands[i].copy;
    parts.at[i] = part_of(copy.from_, operands[i].from, copy.to_, copy.address());
    const RowCopy& rows = parts.at[i].copy;
    blocks += groups_of(std::int64_t{rows.band} * rows.chunks, threads);
    bands = std::max(bands, groups_of(rows.rows, rows.band));
    if (i == 0) parts.blocks_of_first = static_cast<std::uint32_t>(blocks);
  }
  Launch launch = flat_launch(blocks, threads);
  launch.grid.y = static_cast<std::uint32_t>(bands);
  launch.grid.z = static_cast<std::uint32_t>(first.from_.batch);
  launch.overlaps_previous = overlaps;
  first.device_.launch(first.kernel_, launch, KernelArguments::of(parts), stream);
}

}  // namespace tilescope::operations
