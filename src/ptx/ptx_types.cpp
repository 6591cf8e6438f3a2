#include "ptx/ptx_types.hpp"

#include <iterator>

namespace tilescope::ptx {
namespace {

struct TypeFacts {
  std::string_view name;
  unsigned bits;
};
/// By the value of Type.
// clang-format off
constexpr TypeFacts types[] = {
    {"", 0}, {"b1", 1}, {"b8", 8}, {"b16", 16}, {"b32", 32}, {"b64", 64}, {"b128", 128},
    {"u2", 2}, {"u4", 4}, {"u8", 8}, {"u16", 16}, {"u32", 32}, {"u64", 64},
    {"s2", 2}, {"s4", 4}, {"s8", 8}, {"s16", 16}, {"s32", 32}, {"s64", 64},
    {"f16", 16}, {"f32", 32}, {"f64", 64}, {"bf16", 16}, {"tf32", 32},
    {"f16x2", 32}, {"bf16x2", 32}, {"f32x2", 64}, {"u16x2", 32}, {"s16x2", 32},
    {"e4m3", 8}, {"e5m2", 8}, {"e3m2", 8}, {"e2m3", 8}, {"e2m1", 4}, {"ue8m0", 8},
    {"e4m3x2", 16}, {"e5m2x2", 16}, {"e3m2x2", 16}, {"e2m3x2", 16}, {"e2m1x2", 8},
    {"ue8m0x2", 16},
    {"pred", 0}, {"texref", 0}, {"samplerref", 0}, {"surfref", 0},
};
// clang-format on
static_assert(std::size(types) == static_cast<std::size_t>(Type::surfref) + 1);

}  // namespace

unsigned bit_width(Type type) {
  return types[static_cast<std::size_t>(type)].bits;
}

std::string_view name(Type type) {
  return types[static_cast<std::size_t>(type)].name;
}

unsigned byte_size(Type type) {
  if (type == Type::texref || type == Type::samplerref || type == Type::surfref) return 8;
  return (bit_width(type) + 7) / 8;
}

bool is_float(Type type) {
  return (type >= Type::f16 && type <= Type::f32x2) ||
         (type >= Type::e4m3 && type <= Type::ue8m0x2);
}

bool is_signed(Type type) {
  return (type >= Type::s2 && type <= Type::s64) || type == Type::s16x2;
}

bool is_unsigned(Type type) {
  return (type >= Type::u2 && type <= Type::u64) || type == Type::u16x2;
}

bool is_untyped(Type type) {
  return type >= Type::b1 && type <= Type::b128;
}

}  // namespace tilescope::ptx
