// tex and tld4. The sampling itself is in textures/.
#include <bit>

#include "base/half.hpp"
#include "emulator/instructions/texture_operands.hpp"
#include "emulator/textures/sampling.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::Operand;
using ptx::Type;

enum class ResultForm : std::uint8_t { words, halves, pairs };

// Code::list of a texture instruction: the object, the sampler, the results (four, or two of
// pairs), the layer, coordinates, then the level or two gradients, then offsets.
// Code::aux: its shape.
struct Form {
  unsigned coordinates;
  bool layered, cube, whole, offsets;
  LevelChoice choice;
  ResultForm result;
  unsigned component;
};

std::uint32_t packed_form(const Form& f) {
  return f.coordinates | (f.layered ? 4u : 0u) | (f.cube ? 8u : 0u) | (f.whole ? 16u : 0u) |
         (f.offsets ? 32u : 0u) | static_cast<std::uint32_t>(f.choice) << 8 |
         static_cast<std::uint32_t>(f.result) << 10 | f.component << 12;
}
Form unpacked_form(std::uint32_t aux) {
  return {aux & 3,
          (aux & 4) != 0,
          (aux & 8) != 0,
          (aux & 16) != 0,
          (aux & 32) != 0,
          static_cast<LevelChoice>(aux >> 8 & 3),
          static_cast<ResultForm>(aux >> 10 & 3),
          aux >> 12 & 3};
}

std::size_t result_count(ResultForm form) {
  return form == ResultForm::pairs ? 2 : 4;
}

void write_result(Context& w, const Code& c, ResultForm form, int lane, const Texel& texel) {
  const std::uint32_t* const to = c.list + 2;
  const auto half = [&](std::size_t i) {
    return std::uint32_t{float32_to_float16(std::bit_cast<float>(texel.bits[i]))};
  };
  for (std::size_t i = 0; i < result_count(form); ++i) {
    r32(w, to[i])[lane] = form == ResultForm::words    ? texel.bits[i]
                          : form == ResultForm::halves ? half(i)
                                                       : half(2 * i) | half(2 * i + 1) << 16;
  }
}

/// Reads a lane's operands one after the other.
class OperandReader {
 public:
  OperandReader(Context& w, const std::uint32_t* list, int lane)
      : w_(w), next_(list), lane_(lane) {}
  std::uint32_t bits() { return r32(w_, *next_++)[lane_]; }
  float real() { return std::bit_cast<float>(bits()); }

 private:
  Context& w_;
  const std::uint32_t* next_;
  int lane_;
};

SamplePoint point_of(OperandReader& reader, const Form& form) {
  SamplePoint point;
  if (form.layered) point.layer = reader.bits();
  for (unsigned i = 0; i < form.coordinates; ++i) point.at[i] = reader.real();
  point.choice = form.choice;
  if (form.choice == LevelChoice::given) point.level = reader.real();
  if (form.choice == LevelChoice::by_gradient) {
    for (unsigned i = 0; i < form.coordinates; ++i) point.dx[i] = reader.real();
    for (unsigned i = 0; i < form.coordinates; ++i) point.dy[i] = reader.real();
  }
  for (unsigned i = 0; form.offsets && i < form.coordinates; ++i) {
    point.offset[i] = static_cast<std::int32_t>(reader.bits());
  }
  return point;
}

Texel fetch_whole(OperandReader& reader, const Form& form, const TextureObject& object,
                  const Sampler& sampler, TouchedTexels* touched) {
  const std::uint32_t layer = form.layered ? reader.bits() : 0;
  std::array<std::int64_t, 3> at{};
  for (unsigned i = 0; i < form.coordinates; ++i) {
    at[i] = static_cast<std::int32_t>(reader.bits());
  }
  for (unsigned i = 0; form.offsets && i < form.coordinates; ++i) {
    at[i] += static_cast<std::int32_t>(reader.bits());
  }
  return fetch(object.image, sampler, at, layer, 0, touched);
}

/// The object's sampler with the modes of a .samplerref, or of the object bound to it.
Sampler sampler_of(Context& w, const Code& c, const TextureObject& object, int lane) {
  Sampler sampler = object.sampler;
  const std::uint64_t bound = bound_handle(w, r64(w, c.list[1])[lane]);
  const TextureObject* const other = w.block->launch().setup().textures.find(bound);
  if (other != nullptr) {
    const bool as_float = sampler.as_float, srgb = sampler.srgb;
    sampler = other->sampler;
    sampler.as_float = as_float;
    sampler.srgb = srgb;
    return sampler;
  }
  const auto byte = [&](unsigned i) { return static_cast<std::uint8_t>(bound >> (8 * i)); };
  sampler.filter = byte(0) == 0 ? Filter::point : Filter::linear;
  for (unsigned i = 0; i < 3; ++i) sampler.address[i] = static_cast<AddressMode>(byte(i + 1) & 3);
  if (byte(4) != 0) sampler.normalized = false;
  return sampler;
}

bool fits(const Form& form, const Image& image) {
  return form.cube == image.cube && form.layered == image.layered &&
         (form.cube || form.coordinates == image.dimensions);
}

template <bool gathers>
void run_texture(Context& w, const Code& c) {
  const Form form = unpacked_form(c.aux);
  const bool observed = (w.events & kGlobalAccess) != 0;
  LaneObjects objects = resolve_objects(w, c, c.list[0], false, AccessKind::texture_load);
  drop_lanes(w, c, objects, c.list[0], AccessKind::texture_load,
             [&](const TextureObject& object) { return fits(form, object.image); });
  LaneTouches touches;
  Sampler other;
  std::size_t bytes = 4;
  bool filter = false;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const TextureObject* const object = objects.object[lane];
    Texel texel;
    if (object != nullptr) {
      auto* const touched = observed ? &touches[static_cast<std::size_t>(lane)] : nullptr;
      OperandReader reader(w, c.list + 2 + result_count(form.result), lane);
      const Sampler& sampler =
          c.list[1] == kNone ? object->sampler : (other = sampler_of(w, c, *object, lane));
      bytes = object->image.format.bytes();
      if (form.whole) {
        texel = fetch_whole(reader, form, *object, sampler, touched);
      } else if (gathers) {
        texel = gather(object->image, sampler, point_of(reader, form), form.component, touched);
      } else {
        texel = sample(object->image, sampler, point_of(reader, form), touched);
        filter |= sampler.filter == Filter::linear;
      }
    }
    write_result(w, c, form.result, lane, texel);
    if (c.dst2 != kSinkOffset) predicate(w, c.dst2) |= LaneMask{1} << lane;  // it is resident
  }
  if (!observed) return;
  emit_request(w, c, objects, touches, {.whole = form.whole, .filter = filter});
  emit_touches(w, c, AccessKind::texture_load, bytes, touches);
}

bool result_form(const ptx::Modifiers& m, std::size_t results, ResultForm& form) {
  const Type type = m.type();
  form = type == Type::f16     ? ResultForm::halves
         : type == Type::f16x2 ? ResultForm::pairs
                               : ResultForm::words;
  return ptx::bit_width(type) <= 32 && results == result_count(form);
}

bool decode_sampling(FunctionDecoder& d, const ptx::Instruction& in, bool gathers, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  Coordinates shape;
  if (!coordinates_of(d, m.geometry, shape)) return false;
  Form form{.coordinates = shape.count,
            .layered = shape.layered,
            .cube = shape.cube,
            .whole = m.source_type() == Type::s32 && m.type_count == 2,
            .offsets = false,
            .choice = m.has(Flag::level)  ? LevelChoice::given
                      : m.has(Flag::grad) ? LevelChoice::by_gradient
                                          : LevelChoice::base,
            .result = ResultForm::words,
            .component = m.has(Flag::green)   ? 1u
                         : m.has(Flag::blue)  ? 2u
                         : m.has(Flag::alpha) ? 3u
                                              : 0u};
  if (form.whole && (form.choice != LevelChoice::base || form.cube)) {
    d.refusal_ = "whole coordinates have no level";
    return false;
  }
  const bool pair = in.operands[0].kind == Operand::Kind::pair;
  const Operand& result = pair ? in.operands[0].elements[0] : in.operands[0];
  if (pair) {
    const Operand& resident = in.operands[0].elements[1];
    if (d.width(resident, Type::pred) != 0) return false;
    code.dst2 = d.destination(resident);
  }
  std::vector<std::uint32_t> list, results, sources;
  const Operand* coordinates = nullptr;
  if (!append_object(d, in.operands[1], true, list, coordinates) || coordinates == nullptr) {
    return false;
  }
  if (!append_results(d, result, m.type(), results) ||
      !result_form(m, results.size(), form.result)) {
    return false;
  }
  list.insert(list.end(), results.begin(), results.end());
  const Type type = form.whole ? Type::s32 : Type::f32;
  // Three coordinates and those behind a layer come as four: the last means nothing.
  const auto take = [&](const Operand& operand, Type as, std::size_t count) {
    sources.clear();
    if (!append_sources(d, operand, as, sources) || sources.size() < count) return false;
    list.insert(list.end(), sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(count));
    return true;
  };
  if (!take(*coordinates, type, shape.count + (shape.layered ? 1u : 0u))) return false;
  std::size_t next = 2;
  const std::size_t more = form.choice == LevelChoice::given         ? 1
                           : form.choice == LevelChoice::by_gradient ? 2
                                                                     : 0;
  if (in.operands.size() < next + more) return false;
  for (std::size_t i = 0; i < more; ++i) {
    if (!take(in.operands[next++], Type::f32, more == 1 ? 1 : shape.count)) return false;
  }
  if (next < in.operands.size()) {
    const Operand& last = in.operands[next];
    const bool vector = last.kind == Operand::Kind::vector;
    const bool real = ptx::is_float(d.declared(last, Type::s32));
    if (in.operands.size() > next + 1 || (!vector && (shape.count != 1 || real)) || shape.cube) {
      d.refusal_ = "no CUDA texture compares depths";
      return false;
    }
    form.offsets = true;
    if (!take(last, Type::s32, shape.count)) return false;
  }
  d.set_list(code, std::move(list));
  code.aux = packed_form(form);
  code.execute = gathers ? run_texture<true> : run_texture<false>;
  return true;
}

}  // namespace

bool decode_texture(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_sampling(d, in, false, code);
}
bool decode_gather(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_sampling(d, in, true, code);
}

}  // namespace tilescope::emulator
