#include "io/npy_types.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace tilescope::io {
namespace {

struct Code {
  std::string_view code;  // without the byte order
  DataType type;
};

constexpr std::array<Code, 12> codes = {{
    {"f2", DataType::float16},
    {"f4", DataType::float32},
    {"f8", DataType::float64},
    {"i1", DataType::int8},
    {"i2", DataType::int16},
    {"i4", DataType::int32},
    {"i8", DataType::int64},
    {"u1", DataType::uint8},
    {"u2", DataType::uint16},
    {"u4", DataType::uint32},
    {"u8", DataType::uint64},
    {"b1", DataType::boolean},
}};

std::optional<DataType> find(std::string_view code) {
  for (const Code& known : codes) {
    if (known.code == code) return known.type;
  }
  return {};
}

// Describes an unsupported type, and how to convert it to a supported one.
std::string describe(std::string_view descr) {
  const char kind = descr.size() > 1 ? descr[1] : '\0';
  switch (kind) {
    case 'O':
      return "holds Python objects; save numbers, a.astype('<f4')";
    case 'U':
    case 'S':
    case 'a':
      return "holds text; save numbers, a.astype('<f4')";
    case 'M':
    case 'm':
      return "holds dates or time spans; save numbers, a.astype('<i8')";
    case 'c':
      return "holds complex numbers; save a.real and a.imag in two files";
    case 'V':
      return "holds raw bytes, as bfloat16 arrays do; save a.astype('<f4')";
    case 'f':
      return "is a floating-point type of an unusual size; save a.astype('<f8')";
    default:
      return "is not supported; save a.astype('<f4')";
  }
}

}  // namespace

DataType type_of_descr(std::string_view descr, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::bad_input, fmt::format("{}: the element type '{}' {}", quoted(path),
                                                   printable(descr, 40), why));
  };
  if (descr.size() < 2) throw refuse("is not a NumPy type; save a.astype('<f4')");
  const char order = descr.front();
  const std::optional<DataType> type = find(descr.substr(1));
  if (!type) throw refuse(describe(descr));
  const bool one_byte = size_of(*type) == 1;
  if (order == '<' || (one_byte && (order == '|' || order == '>' || order == '='))) return *type;
  if (order == '>') {
    throw refuse(fmt::format("is big-endian, and little-endian is needed; save a.astype('{}')",
                             descr_of(*type)));
  }
  throw refuse(fmt::format("has no byte order; save a.astype('{}')", descr_of(*type)));
}

std::string descr_of(DataType type) {
  for (const Code& known : codes) {
    if (known.type == type) return fmt::format("{}{}", size_of(type) == 1 ? '|' : '<', known.code);
  }
  throw usage_error("NumPy has no type {}; write float32 instead", name_of(type));
}

}  // namespace tilescope::io
