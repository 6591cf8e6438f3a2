// ld, ldu, st.
#include <bit>
#include <cstring>

#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/lane_key.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

// Parameters of a kernel are the same for every lane; aux as for loads.
void load_parameter(Context& w, const Code& c) {
  const unsigned element = c.aux & kElementBytes, slot = (c.aux >> kSlotBytesShift) & 63;
  const unsigned count = (c.aux >> kElementCountShift) & 0xff;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t value[2] = {0, 0};
    std::memcpy(value, w.parameters + c.offset + i * element, element);
    if ((c.aux & kSignExtend) != 0) {
      const unsigned shift = 64 - element * 8;
      value[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(value[0] << shift) >> shift);
    }
    if ((c.aux & kNarrowRegister) != 0) value[0] &= 0xffff;
    const std::uint32_t dst = count == 1 ? c.dst : c.list[i];
    for (LaneMask m = w.mask; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (slot == 4) {
        r32(w, dst)[lane] = static_cast<std::uint32_t>(value[0]);
      } else {
        r64(w, dst)[lane] = value[0];
        if (slot == 16) r64(w, dst)[kWarpSize + lane] = value[1];
      }
    }
  }
}

// Parameters of functions and of calls: bytes of the frame, lane after lane. c.a is the storage,
// c.b its bytes per lane.
template <bool store>
void call_parameter(Context& w, const Code& c) {
  const unsigned element = c.aux & kElementBytes, slot = (c.aux >> kSlotBytesShift) & 63;
  const unsigned count = (c.aux >> kElementCountShift) & 0xff;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t reg = count == 1 ? c.dst : c.list[i];
    for (LaneMask m = w.mask; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      std::uint8_t* at = w.frame + c.a + static_cast<unsigned>(lane) * c.b + c.offset + i * element;
      std::uint64_t value[2] = {0, 0};
      if (store) {
        value[0] = slot == 4 ? r32(w, reg)[lane] : r64(w, reg)[lane];
        if (slot == 16) value[1] = r64(w, reg)[kWarpSize + lane];
        std::memcpy(at, value, element);
        continue;
      }
      std::memcpy(value, at, element);
      if ((c.aux & kSignExtend) != 0) {
        const unsigned shift = 64 - element * 8;
        value[0] =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(value[0] << shift) >> shift);
      }
      if ((c.aux & kNarrowRegister) != 0) value[0] &= 0xffff;
      if (slot == 4) {
        r32(w, reg)[lane] = static_cast<std::uint32_t>(value[0]);
      } else {
        r64(w, reg)[lane] = value[0];
        if (slot == 16) r64(w, reg)[kWarpSize + lane] = value[1];
      }
    }
  }
}

struct Shape {
  const ptx::Operand* data;
  unsigned element = 0, count = 1, slot = 4;
};

/// Elements and register width of the data operand; false if registers of several widths mix.
bool shape_of(FunctionDecoder& d, const ptx::Instruction& in, const ptx::Operand& data,
              Shape& shape) {
  const ptx::Type type = in.modifiers.type();
  shape.data = &data;
  shape.element = ptx::byte_size(type);
  shape.count = in.modifiers.vector;
  const bool vector = data.kind == ptx::Operand::Kind::vector;
  if (vector != (shape.count > 1) || (vector && data.elements.size() != shape.count)) return false;
  shape.slot = 0;
  const auto consider = [&](const ptx::Operand& operand) {
    if (operand.kind == ptx::Operand::Kind::sink) return true;
    const unsigned width = d.width(operand, type);
    if (width == 0 || (shape.slot != 0 && shape.slot != width)) return false;
    shape.slot = width;
    return true;
  };
  if (vector) {
    for (const ptx::Operand& element : data.elements) {
      if (!consider(element)) return false;
    }
  } else if (!consider(data)) {
    return false;
  }
  if (shape.slot == 0) shape.slot = shape.element <= 4 ? 4 : shape.element;
  return shape.element <= 16 && shape.slot >= (shape.element <= 4 ? 4 : shape.element);
}

void set_data(FunctionDecoder& d, const ptx::Instruction& in, const Shape& shape, bool store,
              Code& code) {
  const ptx::Type type = in.modifiers.type();
  const auto offset = [&](const ptx::Operand& operand) {
    return store ? d.source(operand, type) : d.destination(operand);
  };
  if (shape.count > 1) {
    std::vector<std::uint32_t> list;
    for (const ptx::Operand& element : shape.data->elements) list.push_back(offset(element));
    d.set_list(code, std::move(list));
  } else {
    (store ? code.b : code.dst) = offset(*shape.data);
  }
  const bool sign = ptx::is_signed(type) && !store;
  code.aux = shape.element | shape.count << kElementCountShift | shape.slot << kSlotBytesShift;
  const ptx::Type declared = d.declared(*shape.data, type);
  const bool narrow = !store && ptx::bit_width(declared) == 16 && shape.count == 1;
  if (sign && shape.element < shape.slot && shape.element * 8 < ptx::bit_width(declared)) {
    code.aux |= kSignExtend;
  }
  if (narrow && (code.aux & kSignExtend) != 0) code.aux |= kNarrowRegister;
}

bool decode_parameter(FunctionDecoder& d, const ptx::Instruction& in, const ptx::Operand& address,
                      const Shape& shape, bool store, Code& code) {
  const std::uint64_t bytes = std::uint64_t{shape.element} * shape.count;
  const auto offset = static_cast<std::uint64_t>(address.offset);
  if (const ParameterSlot* slot = d.parameter_slot(address.symbol)) {
    set_data(d, in, shape, store, code);
    if (store && shape.count == 1) code.dst = code.b;
    if (offset > slot->bytes || bytes > slot->bytes - offset) {
      d.refusal_ = "it lies outside the parameter";
      return false;
    }
    code.a = slot->offset;
    code.b = slot->bytes;
    code.offset = address.offset;
    code.execute = store ? call_parameter<true> : call_parameter<false>;
    return true;
  }
  if (store || address.symbol.kind != ptx::SymbolKind::parameter) return false;
  set_data(d, in, shape, store, code);
  const std::uint64_t at = d.symbol_address(address.symbol, false) + offset;
  const std::uint64_t size = d.function().parameter_bytes;
  if (at > size || bytes > size - at) {
    d.refusal_ = "it lies outside the kernel's parameters";
    return false;
  }
  code.offset = static_cast<std::int64_t>(at);
  code.execute = load_parameter;
  return true;
}

Execute fast_access(const Code& code, const Shape& shape, bool store, unsigned address_bytes) {
  MemoryKey key;
  key.store = store;
  key.bytes = static_cast<std::uint8_t>(shape.element);
  key.elements = static_cast<std::uint8_t>(shape.count);
  if (shape.slot != (shape.element <= 4 ? 4 : 8)) return nullptr;
  key.sign_extend = (code.aux & kSignExtend) != 0;
  key.extend_to = (code.aux & kNarrowRegister) != 0 ? 16 : 32;
  if (code.space == kGenericSpace) {
    key.address = LaneAddress::generic64;
  } else if (code.space == kClusterSpace ||
             code.space == static_cast<std::uint8_t>(Space::shared)) {
    key.address = address_bytes == 4 ? LaneAddress::shared32 : LaneAddress::shared64;
  } else if (code.space == static_cast<std::uint8_t>(Space::global)) {
    key.address = LaneAddress::global64;
  } else if (code.space == static_cast<std::uint8_t>(Space::constant)) {
    key.address = LaneAddress::constant64;
  } else {
    return nullptr;
  }
  if (address_bytes != 8 && key.address != LaneAddress::shared32) return nullptr;
  return lane_kernels().memory(key);
}

bool decode_access(FunctionDecoder& d, const ptx::Instruction& in, bool store, Code& code) {
  const ptx::Operand& address = in.operands[store ? 0 : 1];
  Shape shape;
  if (!shape_of(d, in, in.operands[store ? 1 : 0], shape)) return false;
  const bool parameter = in.modifiers.space == ptx::Space::param ||
                         in.modifiers.space == ptx::Space::param_entry ||
                         in.modifiers.space == ptx::Space::param_func;
  if (parameter && address.reg == ptx::no_index) {
    return decode_parameter(d, in, address, shape, store, code);
  }
  if (!set_space(in.modifiers.space, code)) return false;
  set_data(d, in, shape, store, code);
  set_order(in.modifiers, code);
  code.bytes = static_cast<std::uint16_t>(shape.element * shape.count);
  code.access = static_cast<std::uint8_t>(store ? AccessKind::store : AccessKind::load);
  unsigned address_bytes = 8;
  d.address(address, code.space == kGenericSpace, code, address_bytes);
  if (address_bytes == 8) code.aux |= kAddress64;
  code.execute = fast_access(code, shape, store, address_bytes);
  if (code.execute != nullptr) {
    code.slot = d.next_pattern_slot();
  } else {
    code.execute = store ? slow_store : slow_load;
  }
  return true;
}

}  // namespace

bool decode_load(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_access(d, in, false, code);
}
bool decode_store(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_access(d, in, true, code);
}

}  // namespace tilescope::emulator
