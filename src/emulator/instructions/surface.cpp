// suld, sust and sured. The places that coordinates name are found in textures/.
#include <bit>
#include <cstring>

#include "emulator/atomic_update.hpp"
#include "emulator/instructions/texture_operands.hpp"
#include "emulator/textures/surfaces.hpp"
#include "emulator/textures/texels.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::Operand;
using ptx::Type;

// Code::list of a surface instruction: the object, the layer, coordinates, then the data. Code::aux
// has its shape; Code::bytes those of one element of the data.
struct SurfaceShape {
  unsigned coordinates, data;
  bool layered, formatted, wide;
  SurfaceBounds bounds;
};

std::uint32_t packed_shape(const SurfaceShape& s) {
  return s.coordinates | (s.layered ? 4u : 0u) | (s.formatted ? 8u : 0u) | (s.wide ? 16u : 0u) |
         static_cast<std::uint32_t>(s.bounds) << 6 | s.data << 8;
}
SurfaceShape shape_in(std::uint32_t aux) {
  return {aux & 3,        aux >> 8,        (aux & 4) != 0,
          (aux & 8) != 0, (aux & 16) != 0, static_cast<SurfaceBounds>(aux >> 6 & 3)};
}

/// The places of a warp's lanes; null where nothing is to be accessed.
struct SurfaceTargets {
  std::uint8_t* host[kWarpSize] = {};
  const TextureObject* object[kWarpSize] = {};
};

SurfacePoint surface_point(Context& w, const Code& c, const SurfaceShape& shape, int lane) {
  SurfacePoint point;
  const std::uint32_t* next = c.list + 1;
  if (shape.layered) point.layer = r32(w, *next++)[lane];
  for (unsigned i = 0; i < shape.coordinates; ++i) {
    point.at[i] = static_cast<std::int32_t>(r32(w, *next++)[lane]);
  }
  return point;
}

const std::uint32_t* data_of(const Code& c, const SurfaceShape& shape) {
  return c.list + 1 + (shape.layered ? 1 : 0) + shape.coordinates;
}

void report_outside(Context& w, const Code& c, const SurfaceShape& shape, const Image& image,
                    const SurfacePoint& point, LaneMask lanes, AccessKind kind) {
  const ImageLevel& level = image.levels.front();
  SurfaceCoordinates miss;
  miss.dimensions = shape.coordinates + (shape.layered ? 1 : 0);
  miss.at = point.at;
  miss.extent = {level.width, level.height, level.depth};
  if (!shape.formatted) miss.at[0] /= static_cast<int>(image.format.bytes());
  if (!shape.formatted && point.at[0] < 0) miss.at[0] = std::min(miss.at[0], -1);
  if (shape.layered) {
    miss.at[shape.coordinates] = static_cast<std::int32_t>(point.layer);
    miss.extent[shape.coordinates] = level.depth;
  }
  w.block->report({.kind = FaultKind::outside_surface,
                   .instruction = c.id,
                   .warp = w.warp_index,
                   .lanes = lanes,
                   .space = Space::global,
                   .access = kind,
                   .bytes = static_cast<std::uint16_t>(image.format.bytes()),
                   .address = 0,
                   .object = {},
                   .object_bytes = 0,
                   .distance = 0,
                   .addresses = nullptr,
                   .surface = miss});
}

/// Bytes that an access of an object moves.
unsigned access_bytes(const Code& c, const SurfaceShape& shape, const Image& image) {
  return shape.formatted ? static_cast<unsigned>(image.format.bytes()) : c.bytes * shape.data;
}

bool fits_surface(const SurfaceShape& shape, const Image& image) {
  const bool slices = image.layered || image.cube;  // faces are layers
  return shape.layered == slices && shape.coordinates == image.dimensions;
}

SurfaceTargets resolve_surfaces(Context& w, const Code& c, const SurfaceShape& shape,
                                AccessKind kind) {
  LaneObjects objects = resolve_objects(w, c, c.list[0], true, kind);
  drop_lanes(w, c, objects, c.list[0], kind,
             [&](const TextureObject& object) { return fits_surface(shape, object.image); });
  SurfaceTargets targets;
  LaneTouches touches;
  LaneMask outside = 0, misaligned = 0;
  unsigned bytes = 1;
  for (LaneMask m = objects.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Image& image = objects.object[lane]->image;
    bytes = access_bytes(c, shape, image);
    const SurfacePoint point = surface_point(w, c, shape, lane);
    const SurfacePlace place = surface_place(image, point, bytes, shape.formatted, shape.bounds);
    if (!place.inside) {
      if (shape.bounds == SurfaceBounds::trap) outside |= m & -m;
      continue;
    }
    const ImageLevel& level = image.levels.front();
    w.addresses[lane] = level.address + place.offset;
    if (w.addresses[lane] % bytes != 0) {
      misaligned |= m & -m;
      continue;
    }
    targets.object[lane] = objects.object[lane];
    targets.host[lane] = const_cast<std::uint8_t*>(level.data) + place.offset;
    touches[static_cast<std::size_t>(lane)].push_back(w.addresses[lane]);
  }
  if (outside != 0) {
    const int first = std::countr_zero(outside);
    report_outside(w, c, shape, objects.object[first]->image, surface_point(w, c, shape, first),
                   outside, kind);
  }
  if (misaligned != 0) {
    w.block->report({.kind = FaultKind::misaligned,
                     .instruction = c.id,
                     .warp = w.warp_index,
                     .lanes = misaligned,
                     .space = Space::global,
                     .access = kind,
                     .bytes = static_cast<std::uint16_t>(bytes),
                     .address = w.addresses[std::countr_zero(misaligned)],
                     .object = {},
                     .object_bytes = 0,
                     .distance = 0,
                     .addresses = w.addresses});
  }
  if ((w.events & kGlobalAccess) == 0) return targets;
  if (kind != AccessKind::surface_reduction) {
    emit_request(w, c, objects, touches, {.surface = true, .whole = true});
  }
  emit_touches(w, c, kind, bytes, touches);
  return targets;
}

std::uint64_t data_bits(Context& w, const SurfaceShape& shape, std::uint32_t reg, int lane) {
  return shape.wide ? r64(w, reg)[lane] : r32(w, reg)[lane];
}

void surface_load(Context& w, const Code& c) {
  const SurfaceShape shape = shape_in(c.aux);
  const SurfaceTargets targets = resolve_surfaces(w, c, shape, AccessKind::surface_load);
  const std::uint32_t* const to = data_of(c, shape);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint8_t* const from = targets.host[lane];
    Texel texel;
    if (from != nullptr && shape.formatted) {
      texel = read_texel(targets.object[lane]->image.format, from, false, false);
    }
    for (unsigned i = 0; i < shape.data; ++i) {
      std::uint64_t bits = shape.formatted ? texel.bits[i] : 0;
      if (from != nullptr && !shape.formatted) std::memcpy(&bits, from + i * c.bytes, c.bytes);
      if (shape.wide) {
        r64(w, to[i])[lane] = bits;
      } else {
        r32(w, to[i])[lane] = static_cast<std::uint32_t>(bits);
      }
    }
  }
}

void surface_store(Context& w, const Code& c) {
  const SurfaceShape shape = shape_in(c.aux);
  const SurfaceTargets targets = resolve_surfaces(w, c, shape, AccessKind::surface_store);
  const std::uint32_t* const from = data_of(c, shape);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* const to = targets.host[lane];
    if (to == nullptr) continue;
    Texel texel;
    for (unsigned i = 0; i < shape.data; ++i) {
      const std::uint64_t bits = data_bits(w, shape, from[i], lane);
      texel.bits[i] = static_cast<std::uint32_t>(bits);
      if (!shape.formatted) std::memcpy(to + i * c.bytes, &bits, c.bytes);
    }
    if (shape.formatted) write_texel(targets.object[lane]->image.format, to, texel);
  }
}

// Code::offset: the operation; Code::order: whether the numbers have signs.
void surface_reduction(Context& w, const Code& c) {
  const SurfaceShape shape = shape_in(c.aux);
  const SurfaceTargets targets = resolve_surfaces(w, c, shape, AccessKind::surface_reduction);
  const std::uint32_t reg = *data_of(c, shape);
  const auto operation = static_cast<ptx::ReduceOp>(c.offset);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* const to = targets.host[lane];
    if (to == nullptr) continue;
    const bool has_sign = shape.formatted
                              ? targets.object[lane]->image.format.kind == TexelKind::integer
                              : c.order != 0;
    const Type type =
        shape.wide ? (has_sign ? Type::s64 : Type::u64) : (has_sign ? Type::s32 : Type::u32);
    AtomicUpdate{operation, type}.apply(to, ptx::byte_size(type), w.atomic_changes,
                                        data_bits(w, shape, reg, lane));
  }
}

/// Sets list, aux and bytes. `address` and `data` are the two operands.
bool decode_shape(FunctionDecoder& d, const ptx::Instruction& in, const Operand& address,
                  const Operand& data, bool load, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  Coordinates coordinates;
  if (!coordinates_of(d, m.geometry, coordinates) || coordinates.cube) return false;
  SurfaceShape shape{
      .coordinates = coordinates.count,
      .data = data.kind == Operand::Kind::vector ? static_cast<unsigned>(data.elements.size()) : 1,
      .layered = coordinates.layered,
      .formatted = m.has(Flag::surface_pixels),
      .wide = ptx::bit_width(m.type()) == 64,
      .bounds = m.has(Flag::surface_zero)               ? SurfaceBounds::zero
                : m.shift_mode == ptx::ShiftMode::clamp ? SurfaceBounds::clamp
                                                        : SurfaceBounds::trap};
  std::vector<std::uint32_t> list, sources;
  const Operand* at = nullptr;
  if (!append_object(d, address, false, list, at) || at == nullptr) return false;
  const std::size_t wanted = shape.coordinates + (shape.layered ? 1u : 0u);
  if (!append_sources(d, *at, Type::s32, sources) || sources.size() < wanted ||
      shape.data != m.vector || shape.data > 4) {
    return false;
  }
  list.insert(list.end(), sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(wanted));
  const bool taken =
      load ? append_results(d, data, m.type(), list) : append_sources(d, data, m.type(), list);
  if (!taken) return false;
  d.set_list(code, std::move(list));
  code.aux = packed_shape(shape);
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(m.type()));
  return std::has_single_bit(unsigned{code.bytes} * shape.data) && code.bytes * shape.data <= 16;
}

}  // namespace

bool decode_surface_load(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.execute = surface_load;
  return decode_shape(d, in, in.operands[1], in.operands[0], true, code);
}

bool decode_surface_store(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.execute = surface_store;
  return decode_shape(d, in, in.operands[0], in.operands[1], false, code);
}

bool decode_surface_reduction(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  using enum ptx::ReduceOp;
  const ptx::ReduceOp operation = in.modifiers.reduce;
  code.execute = surface_reduction;
  code.offset = static_cast<std::int64_t>(operation);
  code.order = ptx::is_signed(in.modifiers.type()) ? 1 : 0;
  const bool known = operation == add || operation == min || operation == max ||
                     operation == and_ || operation == or_;
  return known && ptx::bit_width(in.modifiers.type()) >= 32 &&
         decode_shape(d, in, in.operands[0], in.operands[1], false, code);
}

}  // namespace tilescope::emulator
