// txq, suq and istypep: the properties of textures and surfaces.
#include <bit>

#include "emulator/instructions/texture_operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;

// Code::offset: the property, a ptx::Flag. Code::a: the object; Code::b: the level, or kNone.
// Code::aux: whether a surface is asked for.
std::uint32_t property(const TextureObject& object, Flag what, std::uint32_t level) {
  const Image& image = object.image;
  const auto last = static_cast<std::uint32_t>(image.levels.size() - 1);
  const ImageLevel& at = image.levels[std::min(level, last)];
  const auto address = [&](std::size_t axis) {
    return static_cast<std::uint32_t>(object.sampler.address[axis]);
  };
  switch (what) {
    case Flag::width:
      return at.width;
    case Flag::height:
      return image.dimensions >= 2 ? at.height : 0;
    case Flag::depth:
      return image.dimensions == 3 ? at.depth : 0;
    case Flag::array_size:
      return image.layered ? image.layers : 0;
    case Flag::num_mipmap_levels:
      return last + 1;
    case Flag::num_samples:
      return 1;
    case Flag::normalized_coords:
      return object.sampler.normalized ? 1 : 0;
    case Flag::filter_mode:
      return static_cast<std::uint32_t>(object.sampler.filter);
    case Flag::addr_mode_0:
      return address(0);
    case Flag::addr_mode_1:
      return address(1);
    case Flag::addr_mode_2:
      return address(2);
    case Flag::memory_layout:
      return image.linear ? 1 : 0;
    default:
      return 0;
  }
}

void query(Context& w, const Code& c) {
  const bool surface = c.aux != 0;
  const LaneObjects objects = resolve_objects(
      w, c, c.a, surface, surface ? AccessKind::surface_load : AccessKind::texture_load);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const TextureObject* const object = objects.object[lane];
    const std::uint32_t level = c.b == kNone ? 0 : r32(w, c.b)[lane];
    r32(w, c.dst)[lane] =
        object == nullptr ? 0 : property(*object, static_cast<Flag>(c.offset), level);
  }
}

bool decode_query(FunctionDecoder& d, const ptx::Instruction& in, bool surface, Code& code) {
  static constexpr Flag kProperties[] = {Flag::width,
                                         Flag::height,
                                         Flag::depth,
                                         Flag::array_size,
                                         Flag::num_samples,
                                         Flag::filter_mode,
                                         Flag::addr_mode_0,
                                         Flag::addr_mode_1,
                                         Flag::addr_mode_2,
                                         Flag::memory_layout,
                                         Flag::normalized_coords,
                                         Flag::num_mipmap_levels};
  const ptx::Modifiers& m = in.modifiers;
  const Flag* asked = nullptr;
  for (const Flag& flag : kProperties) {
    if (m.has(flag)) asked = &flag;
  }
  if (asked == nullptr) {
    d.refusal_ = "the codes of channels are those of a language that CUDA is not";
    return false;
  }
  std::vector<std::uint32_t> list;
  const ptx::Operand* none = nullptr;
  if (!append_object(d, in.operands[1], false, list, none) || none != nullptr) return false;
  code.a = list.front();
  if (in.operands.size() > 2 && !append_sources(d, in.operands[2], ptx::Type::b32, list)) {
    return false;
  }
  if (!append_results(d, in.operands[0], ptx::Type::b32, list)) return false;
  code.b = in.operands.size() > 2 ? list[1] : kNone;
  code.dst = list.back();
  code.offset = static_cast<std::int64_t>(*asked);
  code.aux = surface ? 1 : 0;
  code.execute = query;
  return true;
}

// Code::aux: the kind of reference: 0 texture, 1 surface, 2 sampler.
void is_type(Context& w, const Code& c) {
  const TextureTable& textures = w.block->launch().setup().textures;
  std::uint32_t& result = predicate(w, c.dst);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const TextureObject* const object =
        textures.find(bound_handle(w, r64(w, c.a)[std::countr_zero(m)]));
    const bool is = object != nullptr && c.aux != 2 && object->surface == (c.aux == 1);
    result = is ? result | (m & -m) : result & ~(m & -m);
  }
}

}  // namespace

bool decode_texture_query(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_query(d, in, false, code);
}
bool decode_surface_query(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_query(d, in, true, code);
}

bool decode_istypep(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  std::vector<std::uint32_t> list;
  if (!append_sources(d, in.operands[1], ptx::Type::b64, list)) return false;
  code.dst = d.destination(in.operands[0]);
  code.a = list.front();
  code.aux = in.modifiers.has(Flag::samplerref) ? 2 : in.modifiers.has(Flag::surfref) ? 1 : 0;
  code.execute = is_type;
  return true;
}

}  // namespace tilescope::emulator
