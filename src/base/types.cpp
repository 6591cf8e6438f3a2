#include <fmt/format.h>

#include <array>
#include <tilescope/execution.hpp>
#include <tilescope/types.hpp>
#include <vector>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

struct TypeName {
  DataType type;
  std::string_view name;
  std::string_view short_name;
};

// In the order of the enumeration, so that a type is its own index.
constexpr std::array<TypeName, 15> names = {{
    {DataType::float16, "float16", "f16"},
    {DataType::bfloat16, "bfloat16", "bf16"},
    {DataType::float32, "float32", "f32"},
    {DataType::float64, "float64", "f64"},
    {DataType::int8, "int8", "i8"},
    {DataType::int16, "int16", "i16"},
    {DataType::int32, "int32", "i32"},
    {DataType::int64, "int64", "i64"},
    {DataType::uint8, "uint8", "u8"},
    {DataType::uint16, "uint16", "u16"},
    {DataType::uint32, "uint32", "u32"},
    {DataType::uint64, "uint64", "u64"},
    {DataType::boolean, "bool", "b8"},
    {DataType::float8_e4m3, "float8_e4m3fn", "e4m3"},
    {DataType::float8_e5m2, "float8_e5m2", "e5m2"},
}};

}  // namespace

std::string_view name_of(DataType type) {
  return names.at(static_cast<std::size_t>(type)).name;
}

DataType parse_data_type(std::string_view name) {
  std::vector<std::string_view> candidates;
  for (const TypeName& known : names) {
    if (name == known.name || name == known.short_name) return known.type;
    candidates.push_back(known.name);
  }
  const std::string_view near = nearest(name, candidates);
  throw usage_error("unknown data type '{}': {}", printable(name),
                    near.empty() ? fmt::format("use one of {}", fmt::join(candidates, ", "))
                                 : fmt::format("did you mean '{}'?", near));
}

std::string_view to_string(MemorySpace space) {
  constexpr std::string_view names[] = {"global", "shared", "local", "constant", "parameter"};
  return names[static_cast<std::size_t>(space)];
}

}  // namespace tilescope
