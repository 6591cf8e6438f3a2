// tensormap.replace and tensormap.cp_fenceproxy: tensor maps that kernels make.
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/bulk_operands.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"
#include "emulator/tensor_map_image.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::Type;

/// Sets the field that `flag` names; `which` is its dimension.
void replace_field(TensorMapImage& map, Flag flag, std::size_t which, std::uint64_t value) {
  switch (flag) {
    case Flag::global_address:
      map.address = value;
      break;
    case Flag::rank:  // one less than the number of dimensions
      map.rank = static_cast<std::uint8_t>(value + 1);
      break;
    case Flag::box_dim:
      map.box[which] = static_cast<std::uint16_t>(std::min<std::uint64_t>(value, 0xffff));
      break;
    case Flag::global_dim:
      map.extents[which] = value;
      break;
    case Flag::global_stride:
      map.strides[which] = value;
      break;
    case Flag::element_stride:
      map.element_strides[which] = static_cast<std::uint8_t>(std::min<std::uint64_t>(value, 0xff));
      break;
    case Flag::elemtype:
      map.type = static_cast<TensorElement>(value);
      break;
    case Flag::interleave_layout:
      map.interleave = static_cast<TensorInterleave>(value);
      break;
    case Flag::swizzle_mode:
      map.swizzle = static_cast<TensorSwizzle>(value);
      break;
    default:
      map.fill = static_cast<TensorFill>(value);
  }
}

// Code::list: the new value, as BulkOperands has it. dst2: the field's Flag; offset: that of the
// address; b: the dimension; c: factor of the value.
void replace(Context& w, const Code& c) {
  constexpr unsigned kLastWord = sizeof(TensorMapImage) - 8;
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const LaneTargets first = resolve_lanes(w, c, addresses, w.mask, c.space, 8,
                                          alignof(TensorMapImage), AccessKind::store);
  for (std::uint64_t& address : addresses) address += kLastWord;
  const LaneTargets last =
      resolve_lanes(w, c, addresses, first.mask, c.space, 8, 8, AccessKind::store);
  for (LaneMask m = last.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    TensorMapImage map;
    std::memcpy(&map, first.host[lane], sizeof map);
    if (map.magic == 0) map.magic = TensorMapImage::kMagic;  // from zeros, field by field
    replace_field(map, static_cast<Flag>(c.dst2), c.b, bulk_value(w, c, 0, lane) * c.c);
    std::memcpy(first.host[lane], &map, sizeof map);
  }
}

/// The whole warp copies the 128 bytes, a word each lane. list: the addresses.
void copy_map(Context& w, const Code& c) {
  std::uint64_t to[32], from[32];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto word = static_cast<std::uint64_t>(lane) * 4;
    to[lane] = bulk_value(w, c, 0, lane) + word;
    from[lane] = bulk_value(w, c, 1, lane) + word;
  }
  const LaneTargets sources = resolve_lanes(
      w, c, from, w.mask, static_cast<std::uint8_t>(Space::shared), 4, 4, AccessKind::load);
  const LaneTargets targets =
      resolve_lanes(w, c, to, sources.mask, c.space, 4, 4, AccessKind::store);
  for (LaneMask m = targets.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::memcpy(targets.host[lane], sources.host[lane], 4);
  }
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kProtocol) == 0) continue;
    slot.observer->proxy_fence({c.id, w.warp_index, w.mask, ProxyFenceKind::tensor_map_release});
  }
}

constexpr Flag kFields[] = {
    Flag::global_address, Flag::rank,           Flag::box_dim,  Flag::global_dim,
    Flag::global_stride,  Flag::element_stride, Flag::elemtype, Flag::interleave_layout,
    Flag::swizzle_mode,   Flag::fill_mode};

/// How many dimensions a field has; 0: it is one number.
std::size_t dimensions_of(Flag field) {
  if (field == Flag::global_stride) return kMostTensorDimensions - 1;
  const bool each =
      field == Flag::box_dim || field == Flag::global_dim || field == Flag::element_stride;
  return each ? kMostTensorDimensions : 0;
}

}  // namespace

bool decode_tensormap_replace(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const auto field =
      std::find_if(std::begin(kFields), std::end(kFields), [&](Flag flag) { return m.has(flag); });
  if (field == std::end(kFields) || !m.has(Flag::tile) || !set_space(m.space, code)) return false;
  const std::size_t dimensions = dimensions_of(*field);
  if (in.operands.size() != (dimensions == 0 ? 2U : 3U)) return false;
  if (dimensions != 0) {
    const ptx::Operand& which = in.operands[1];
    if (which.kind != ptx::Operand::Kind::immediate || which.bits >= dimensions) return false;
    code.b = static_cast<std::uint32_t>(which.bits);
  }
  BulkOperands list(d);
  list.number(in.operands.back(), m.type());
  list.finish(code);
  // Before PTX 8.5 the instruction takes strides in units of 16 bytes.
  const bool old = d.module().version_major < 8 ||
                   (d.module().version_major == 8 && d.module().version_minor < 5);
  code.c = *field == Flag::global_stride && old ? 16 : 1;
  code.dst2 = static_cast<std::uint32_t>(*field);
  code.bytes = 8;
  unsigned address_bytes = 8;
  d.address(in.operands[0], code.space == kGenericSpace, code, address_bytes);
  if (address_bytes == 8) code.aux |= kAddress64;
  code.execute = replace;
  return true;
}

bool decode_tensormap_copy(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  if (m.source_space != ptx::Space::shared || in.operands[2].bits != sizeof(TensorMapImage) ||
      !set_space(m.space, code)) {
    return false;
  }
  set_order(m, code);
  BulkOperands list(d);
  list.address(in.operands[0], code.space == kGenericSpace);
  list.address(in.operands[1]);
  list.finish(code);
  code.bytes = 4;
  code.execute = copy_map;
  return true;
}

}  // namespace tilescope::emulator
