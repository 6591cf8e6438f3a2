#include "inspect/launch_suggestion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"
#include "compile/launch_sites.hpp"

namespace tilescope::inspect {
namespace {

using compile::KernelDeclaration;
using compile::LaunchSite;

struct Type {
  const char* name;
  std::size_t bytes, components;
};

/// CUDA's names of types by the names of --arg, by their decisive word.
std::optional<Type> type_named(std::string_view word) {
  static const std::map<std::string_view, Type> types = {
      {"bool", {"bool", 1, 1}},    {"char", {"i8", 1, 1}},      {"short", {"i16", 2, 1}},
      {"int", {"i32", 4, 1}},      {"long", {"i64", 8, 1}},     {"float", {"f32", 4, 1}},
      {"double", {"f64", 8, 1}},   {"half", {"f16", 2, 1}},     {"__half", {"f16", 2, 1}},
      {"int8_t", {"i8", 1, 1}},    {"uint8_t", {"u8", 1, 1}},   {"int16_t", {"i16", 2, 1}},
      {"uint16_t", {"u16", 2, 1}}, {"int32_t", {"i32", 4, 1}},  {"uint32_t", {"u32", 4, 1}},
      {"int64_t", {"i64", 8, 1}},  {"uint64_t", {"u64", 8, 1}}, {"size_t", {"u64", 8, 1}},
      {"uint", {"u32", 4, 1}},     {"uchar", {"u8", 1, 1}},     {"__nv_bfloat16", {"bf16", 2, 1}},
      {"float2", {"f32", 4, 2}},   {"float3", {"f32", 4, 3}},   {"float4", {"f32", 4, 4}},
      {"int2", {"i32", 4, 2}},     {"int3", {"i32", 4, 3}},     {"int4", {"i32", 4, 4}},
      {"double2", {"f64", 8, 2}},  {"uchar3", {"u8", 1, 3}},    {"uchar4", {"u8", 1, 4}}};
  const auto found = types.find(word);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

struct Parameter {
  std::optional<Type> type;  ///< nothing: a type of the file's own
  bool pointer = false, constant = false;
};

/// Parses one of "const float* x, int n" as words; calls `instance` for a template's type.
Parameter parameter_of(std::string_view text, const std::vector<std::string_view>& instance) {
  Parameter parameter;
  bool is_unsigned = false;
  for (const std::string_view token : compile::cpp_tokens(text)) {
    if (token == "=") break;
    if (token == "*" || token == "[") parameter.pointer = true;
    if (token == "const" && !parameter.pointer) parameter.constant = true;
    if (token == "unsigned") is_unsigned = true;
    if (parameter.pointer) continue;  // the word may be a type's name
    // long int is long, unsigned alone is unsigned int
    const std::optional<Type> type = type_named(token);
    if (type && (!parameter.type || token != "int")) parameter.type = type;
  }
  if (!parameter.type && is_unsigned) parameter.type = type_named("int");
  if (parameter.type && is_unsigned) {
    static const std::map<std::string_view, const char*> without_sign = {
        {"i8", "u8"}, {"i16", "u16"}, {"i32", "u32"}, {"i64", "u64"}};
    const auto found = without_sign.find(parameter.type->name);
    if (found != without_sign.end()) parameter.type->name = found->second;
  }
  if (!parameter.type) {
    for (const std::string_view token : instance) {
      if (!parameter.type) parameter.type = type_named(token);
    }
  }
  return parameter;
}

/// The parameter list, split at its commas.
std::vector<std::string_view> parameters_in(std::string_view signature) {
  std::vector<std::string_view> parameters;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= signature.size(); ++i) {
    const char c = i < signature.size() ? signature[i] : ',';
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < signature.size())) continue;
    const std::string_view parameter = trim(signature.substr(begin, i - begin));
    if (!parameter.empty() && parameter != "void") parameters.push_back(parameter);
    begin = i + 1;
  }
  return parameters;
}

std::string argument_text(const Parameter& parameter, const LaunchSite::Argument& known,
                          std::uint64_t threads) {
  const Type type = parameter.type.value_or(Type{"u8", 1, 16});
  if (!parameter.pointer) {
    const bool real = type.name[0] == 'f' || type.name[0] == 'b';
    const std::string value = known.value
                                  ? fmt::format("{}", *known.value)
                                  : (real ? "1" : fmt::format("{}", type.bytes < 4 ? 1 : threads));
    std::string text = fmt::format("{}:{}", type.name, value);
    for (std::size_t i = 1; i < type.components; ++i) text += "," + value;
    return text;
  }
  const std::uint64_t count = known.bytes && *known.bytes > 0
                                  ? static_cast<std::uint64_t>(*known.bytes) / type.bytes
                                  : threads * type.components;
  return fmt::format("{}[{}]={}", type.name, std::max<std::uint64_t>(count, 1),
                     parameter.constant ? "random" : "zeros");
}

LaunchArgument argument_for(const Parameter& parameter, const LaunchSite::Argument& known,
                            std::uint64_t threads) {
  try {
    return parse_argument(argument_text(parameter, known, threads));
  } catch (const Error&) {  // the source's value does not fit the type
    return parse_argument(argument_text(parameter, {}, 1));
  }
}

std::string base_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  const std::size_t colon = kernel.rfind(':');
  return std::string(colon == std::string_view::npos ? kernel : kernel.substr(colon + 1));
}

std::optional<LaunchSite> site_of(std::string_view source, const KernelDeclaration& kernel) {
  for (LaunchSite& site : compile::launches_in(source)) {
    if (base_name(site.kernel) == base_name(kernel.name)) return std::move(site);
  }
  return std::nullopt;
}

}  // namespace

std::string template_instance(std::string_view source, const KernelDeclaration& kernel) {
  const std::optional<LaunchSite> site = site_of(source, kernel);
  const std::size_t arguments = site ? site->kernel.find('<') : std::string::npos;
  return kernel.name + (arguments == std::string::npos ? "<16>" : site->kernel.substr(arguments));
}

LaunchDescription suggested_launch(std::string_view source, const KernelDeclaration& kernel,
                                   const LaunchDescription& given) {
  const LaunchSite site = site_of(source, kernel).value_or(LaunchSite{});
  LaunchDescription launch = given;
  if (given.kernel.empty() && kernel.is_template) launch.kernel = template_instance(source, kernel);
  if (!given.grid) launch.grid = site.grid.value_or(Dim3{4, 1, 1});
  if (!given.block) launch.block = site.block.value_or(Dim3{256, 1, 1});
  if (given.shared_bytes == 0) {
    launch.shared_bytes = static_cast<std::uint64_t>(site.shared_bytes.value_or(0));
  }
  launch.arguments.clear();
  const std::vector<std::string_view> parameters = parameters_in(kernel.signatures.front());
  const std::vector<std::string_view> types = compile::cpp_tokens(launch.kernel);
  const std::uint64_t threads = launch.grid->count() * launch.block->count();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const LaunchSite::Argument known =
        i < site.arguments.size() ? site.arguments[i] : LaunchSite::Argument{};
    launch.arguments.push_back(argument_for(parameter_of(parameters[i], types), known, threads));
  }
  return launch;
}

}  // namespace tilescope::inspect
