#include "emulator/instructions/texture_operands.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilescope::emulator {

using ptx::Geometry;
using ptx::Operand;

bool coordinates_of(FunctionDecoder& d, Geometry geometry, Coordinates& result) {
  switch (geometry) {
    case Geometry::d1:
      result = {1, false, false};
      return true;
    case Geometry::d2:
      result = {2, false, false};
      return true;
    case Geometry::d3:
      result = {3, false, false};
      return true;
    case Geometry::a1d:
      result = {1, true, false};
      return true;
    case Geometry::a2d:
      result = {2, true, false};
      return true;
    case Geometry::cube:
      result = {3, false, true};
      return true;
    case Geometry::acube:
      result = {3, true, true};
      return true;
    default:
      d.refusal_ = "no CUDA array has several samples for each element";
      return false;
  }
}

namespace {

using Kind = Operand::Kind;

template <class Use>
bool for_each_element(const Operand& operand, Use use) {
  if (operand.kind != Kind::vector) return use(operand);
  return std::all_of(operand.elements.begin(), operand.elements.end(), use);
}

}  // namespace

bool append_sources(FunctionDecoder& d, const Operand& operand, ptx::Type type,
                    std::vector<std::uint32_t>& list) {
  return for_each_element(operand, [&](const Operand& element) {
    const bool constant = element.kind == Kind::immediate || element.kind == Kind::special;
    if (!constant && element.kind != Kind::reg) return false;
    list.push_back(d.source(element, type));
    return d.width(element, type) == register_bytes(type);
  });
}

bool append_results(FunctionDecoder& d, const Operand& operand, ptx::Type type,
                    std::vector<std::uint32_t>& list) {
  return for_each_element(operand, [&](const Operand& element) {
    if (element.kind != Kind::reg && element.kind != Kind::sink) return false;
    list.push_back(d.destination(element));
    return d.width(element, type) == register_bytes(type);
  });
}

namespace {

std::uint32_t object_register(FunctionDecoder& d, const Operand& operand) {
  if (operand.reg != ptx::no_index) return d.register_offset(operand.reg);
  return d.symbol_register(operand.symbol, operand.offset, 8, false);
}

bool names_object(FunctionDecoder& d, const Operand& operand) {
  if (operand.kind == Kind::reg) return d.width(operand, ptx::Type::b64) == 8;
  return operand.kind == Kind::symbol && operand.symbol.kind == ptx::SymbolKind::variable;
}

/// An address operand's base has its register in `reg`, but is no register operand.
Operand base_of(const Operand& address) {
  Operand base = address;
  base.kind = address.reg != ptx::no_index ? Kind::reg : Kind::symbol;
  base.elements.clear();
  return base;
}

}  // namespace

bool append_object(FunctionDecoder& d, const Operand& address, bool sampler,
                   std::vector<std::uint32_t>& list, const Operand*& coordinates) {
  const Operand base = base_of(address);
  if (!names_object(d, base)) return false;
  list.push_back(object_register(d, base));
  const std::size_t parts = address.elements.size();
  const bool two = sampler && parts == 2;
  if (two && !names_object(d, address.elements[0])) return false;
  if (sampler) list.push_back(two ? object_register(d, address.elements[0]) : kNone);
  coordinates = parts == 0 ? nullptr : &address.elements.back();
  return parts <= (sampler ? 2u : 1u);
}

std::uint64_t bound_handle(const Context& w, std::uint64_t value) {
  if (value >= kTextureHandles && value < kTextureHandlesEnd) return value;
  const MemoryMap& memory = w.block->launch().setup().memory;
  const Allocation* const variable = memory.find(value, sizeof value);
  if (variable == nullptr || variable->kind() != AllocationKind::module_variable) return value;
  std::uint64_t bound = 0;
  std::memcpy(&bound, variable->data() + (value - variable->address()), sizeof bound);
  return bound;
}

void report_texture(Context& w, const Code& c, FaultKind kind, LaneMask lanes, std::uint32_t reg,
                    AccessKind access) {
  Fault fault{.kind = kind,
              .instruction = c.id,
              .warp = w.warp_index,
              .lanes = lanes,
              .space = Space::global,
              .access = access,
              .bytes = 0,
              .address = bound_handle(w, r64(w, reg)[std::countr_zero(lanes)]),
              .object = {},
              .object_bytes = 0,
              .distance = 0,
              .addresses = nullptr};
  if (kind == FaultKind::freed) {
    const LaunchSetup& setup = w.block->launch().setup();
    const Image& image = setup.textures.find(fault.address)->image;
    fault.address = image.levels.front().address;
    fault.bytes = static_cast<std::uint16_t>(image.format.bytes());
    const MemoryMap::Miss miss = setup.memory.nearest(fault.address, 1);
    fault.object = miss.name;
    fault.object_bytes = miss.bytes;
  }
  w.block->report(fault);
}

LaneObjects resolve_objects(Context& w, const Code& c, std::uint32_t reg, bool surface,
                            AccessKind kind) {
  const TextureTable& textures = w.block->launch().setup().textures;
  LaneObjects result;
  for (LaneMask rest = w.mask; rest != 0;) {
    const std::uint64_t value = r64(w, reg)[std::countr_zero(rest)];
    LaneMask same = 0;
    for (LaneMask m = rest; m != 0; m &= m - 1) {
      if (r64(w, reg)[std::countr_zero(m)] == value) same |= m & -m;
    }
    rest &= ~same;
    const TextureObject* const found = textures.find(bound_handle(w, value));
    if (found == nullptr || found->surface != surface) {
      report_texture(w, c, FaultKind::bad_texture, same, reg, kind);
    } else if (found->destroyed) {
      report_texture(w, c, FaultKind::destroyed_texture, same, reg, kind);
    } else if (!textures.intact(*found)) {
      report_texture(w, c, FaultKind::freed, same, reg, kind);
    } else {
      result.mask |= same;
      for (LaneMask m = same; m != 0; m &= m - 1) result.object[std::countr_zero(m)] = found;
    }
  }
  return result;
}

void emit_touches(Context& w, const Code& c, AccessKind kind, std::size_t bytes,
                  const LaneTouches& touches) {
  for (std::size_t i = 0;; ++i) {
    LaneMask mask = 0;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const auto& of_lane = touches[static_cast<std::size_t>(lane)];
      if (i >= of_lane.size()) continue;
      mask |= LaneMask{1} << lane;
      w.addresses[lane] = of_lane[i];
    }
    if (mask == 0) return;
    const Access access{c.id,
                        w.warp_index,
                        mask,
                        static_cast<std::uint16_t>(bytes),
                        Space::global,
                        kind,
                        AccessShape::scattered,
                        MemoryOrder::weak,
                        Scope::none,
                        0,
                        w.addresses};
    for (const auto& slot : w.block->observers()) {
      if ((slot.events & kGlobalAccess) != 0) slot.observer->access(access);
    }
  }
}

void emit_request(Context& w, const Code& c, const LaneObjects& objects, const LaneTouches& touches,
                  TexelRequest request) {
  const Image* images[kWarpSize] = {};
  for (LaneMask m = objects.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    images[lane] = &objects.object[lane]->image;
  }
  request.instruction = c.id;
  request.warp = w.warp_index;
  request.lanes = w.mask;
  request.images = images;
  request.elements = touches.data();
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kGlobalAccess) != 0) slot.observer->texel_request(request);
  }
}

}  // namespace tilescope::emulator
