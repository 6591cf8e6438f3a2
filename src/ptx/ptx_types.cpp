#include "ptx/ptx_types.hpp"

namespace tilescope::ptx {

unsigned bit_width(Type type) {
  switch (type) {
    case Type::b1:
      return 1;
    case Type::u4:
    case Type::s4:
    case Type::e2m1:
      return 4;
    case Type::b8:
    case Type::u8:
    case Type::s8:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e3m2:
    case Type::e2m3:
    case Type::ue8m0:
    case Type::e2m1x2:
      return 8;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
    case Type::e3m2x2:
    case Type::e2m3x2:
    case Type::ue8m0x2:
      return 16;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::tf32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::u16x2:
    case Type::s16x2:
      return 32;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
    case Type::f32x2:
      return 64;
    case Type::b128:
      return 128;
    case Type::none:
    case Type::pred:
    case Type::texref:
    case Type::samplerref:
    case Type::surfref:
      return 0;
  }
  return 0;
}

unsigned byte_size(Type type) {
  if (type == Type::texref || type == Type::samplerref || type == Type::surfref) return 8;
  return (bit_width(type) + 7) / 8;
}

bool is_float(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f32:
    case Type::f64:
    case Type::bf16:
    case Type::tf32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::f32x2:
      return true;
    default:
      return type >= Type::e4m3 && type <= Type::ue8m0x2;
  }
}

bool is_signed(Type type) {
  return (type >= Type::s4 && type <= Type::s64) || type == Type::s16x2;
}

bool is_unsigned(Type type) {
  return (type >= Type::u4 && type <= Type::u64) || type == Type::u16x2;
}

bool is_untyped(Type type) {
  return type >= Type::b1 && type <= Type::b128;
}

}  // namespace tilescope::ptx
