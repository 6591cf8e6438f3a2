#include "compile/host_types.hpp"

#include <map>

namespace tilescope::compile {

std::optional<ElementType> element_type(std::string_view word) {
  static const std::map<std::string_view, ElementType> types = {
      {"bool", {"bool", 1}},          {"char", {"i8", 1}},
      {"short", {"i16", 2}},          {"int", {"i32", 4}},
      {"unsigned", {"u32", 4}},       {"long", {"i64", 8}},
      {"float", {"f32", 4}},          {"double", {"f64", 8}},
      {"half", {"f16", 2}},           {"__half", {"f16", 2}},
      {"int8_t", {"i8", 1}},          {"uint8_t", {"u8", 1}},
      {"int16_t", {"i16", 2}},        {"uint16_t", {"u16", 2}},
      {"int32_t", {"i32", 4}},        {"uint32_t", {"u32", 4}},
      {"int64_t", {"i64", 8}},        {"uint64_t", {"u64", 8}},
      {"size_t", {"u64", 8}},         {"uint", {"u32", 4}},
      {"uchar", {"u8", 1}},           {"ushort", {"u16", 2}},
      {"__nv_bfloat16", {"bf16", 2}}, {"float2", {"f32", 4, 2}},
      {"float3", {"f32", 4, 3}},      {"float4", {"f32", 4, 4}},
      {"int2", {"i32", 4, 2}},        {"int3", {"i32", 4, 3}},
      {"int4", {"i32", 4, 4}},        {"uint2", {"u32", 4, 2}},
      {"uint3", {"u32", 4, 3}},       {"uint4", {"u32", 4, 4}},
      {"double2", {"f64", 8, 2}},     {"uchar3", {"u8", 1, 3}},
      {"uchar4", {"u8", 1, 4}}};
  const auto found = types.find(word);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ElementType> element_type(std::span<const std::string_view> words) {
  std::optional<ElementType> type;
  bool is_unsigned = false;
  for (const std::string_view word : words) {
    const std::optional<ElementType> next = element_type(word);
    is_unsigned = is_unsigned || word == "unsigned";
    // long int is long, unsigned char is char without a sign
    const bool decides = !type || type->name == "u32" ? word != "unsigned" || !type : word != "int";
    if (next && decides) type = next;
  }
  if (type && is_unsigned) {
    static const std::map<std::string_view, std::string_view> without_sign = {
        {"i8", "u8"}, {"i16", "u16"}, {"i32", "u32"}, {"i64", "u64"}};
    const auto found = without_sign.find(type->name);
    if (found != without_sign.end()) type->name = found->second;
  }
  return type;
}

}  // namespace tilescope::compile
