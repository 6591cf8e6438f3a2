#include "inspect/launch_suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tilescope/error.hpp>

#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"
#include "compile/launch_sites.hpp"
#include "inspect/guessed_extents.hpp"
#include "inspect/scalar_value.hpp"

namespace tilescope::inspect {
namespace {

using compile::ElementType;
using compile::HostNumber;
using compile::HostValues;
using compile::KernelDeclaration;
using compile::LaunchSite;
using compile::Tokens;

/// One of "const float* x, int n".
struct Parameter {
  Tokens words;  ///< of the type
  bool pointer = false, constant = false;
};

Parameter parameter_of(std::string_view text) {
  Parameter parameter;
  for (const std::string_view token : compile::cpp_tokens(text)) {
    if (token == "=") break;
    if (token == "*" || token == "[") parameter.pointer = true;
    if (parameter.pointer) continue;  // the word may be a type's name
    if (token == "const") parameter.constant = true;
    if (compile::is_word(token)) parameter.words.push_back(token);
  }
  return parameter;
}

/// Whether the type is one of CUDA's 8-byte handles, such as cudaTextureObject_t.
bool is_handle(const Tokens& words) {
  return std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return word.starts_with("cuda") && word.ends_with("Object_t");
  });
}

/// The parameter list, split at its commas.
std::vector<std::string_view> parameters_in(std::string_view signature) {
  std::vector<std::string_view> parameters = split_outside_brackets(signature);
  std::erase_if(parameters, [](std::string_view one) { return one.empty() || one == "void"; });
  return parameters;
}

/// An integer as C converts it to the type.
std::string wrapped(std::int64_t value, const ElementType& type) {
  if (type.name == "bool") return value != 0 ? "1" : "0";
  const bool is_signed = type.name.front() == 'i';
  if (type.bytes == 8) {
    return is_signed ? std::to_string(value) : std::to_string(static_cast<std::uint64_t>(value));
  }
  const std::uint64_t span = std::uint64_t{1} << (8 * type.bytes);
  const std::uint64_t low = static_cast<std::uint64_t>(value) % span;
  const bool is_negative = is_signed && low >= span / 2;
  return is_negative ? "-" + std::to_string(span - low) : std::to_string(low);
}

/// Writes the arguments of one launch.
class Suggestion {
 public:
  Suggestion(HostValues& values, std::uint64_t threads) : values_(values), threads_(threads) {}

  /// Whether the last argument rests on anything that the source does not say.
  bool guessed() const { return guessed_; }

  std::string argument(const Parameter& parameter, const LaunchSite::Argument& known,
                       const KernelParameter* compiled, const Tokens& instance) {
    guessed_ = false;
    if (parameter.pointer) return array(parameter, known, instance);
    if (const auto type = type_of(parameter.words, instance)) return value(*type, known);
    guessed_ = true;
    if (is_handle(parameter.words)) return "u64:0";
    if (const auto* members = values_.get().structure(parameter.words)) {
      if (std::string text = structure(*members, 0); !text.empty()) return text;
    }
    const std::size_t bytes = compiled != nullptr ? compiled->bytes : 16;
    if (compiled != nullptr && compiled->kind == KernelParameter::Kind::floating) {
      return value({compiled->bytes == 4 ? "f32" : "f64", compiled->bytes}, known);
    }
    return bytes == 8   ? "u64:0"
           : bytes == 4 ? value({"i32", 4}, known)
                        : fmt::format("{{{}*u8:0}}", bytes);
  }

 private:
  std::optional<ElementType> type_of(const Tokens& words, const Tokens& instance) const {
    if (auto type = values_.get().type(words)) return type;
    if (words.size() != 1 || values_.get().structure(words) != nullptr) return std::nullopt;
    return compile::element_type(instance);  // a template's only type
  }

  std::string value(const ElementType& type, const LaunchSite::Argument& known) {
    guessed_ = !known.value || !known.value->is_sure;
    const HostNumber number = known.value.value_or(
        HostNumber::of(static_cast<std::int64_t>(type.is_real() || type.bytes < 4 ? 1 : threads_)));
    std::string text =
        type.is_real() && number.is_real
            ? fmt::format("{}", type.bytes == 4 ? static_cast<float>(number.real) : number.real)
        : type.is_real() ? std::to_string(number.integer)
                         : wrapped(number.integer, type);
    std::string result = fmt::format("{}:{}", type.name, text);
    for (std::size_t i = 1; i < type.components; ++i) result += "," + text;
    return result;
  }

  std::string array(const Parameter& parameter, const LaunchSite::Argument& known,
                    const Tokens& instance) {
    if (known.is_null) return "u64:0";
    ElementType type = type_of(parameter.words, instance).value_or(ElementType{"u8", 1});
    const bool has_type = type_of(parameter.words, instance).has_value();
    const std::int64_t size =
        has_type ? 1 : values_.get().size(parameter.words).value_or(known.pointed.empty() ? 16 : 1);
    guessed_ = !known.bytes || !known.bytes->is_sure || known.bytes->integer <= 0;
    const std::uint64_t count = known.bytes && known.bytes->integer > 0
                                    ? static_cast<std::uint64_t>(known.bytes->integer) / type.bytes
                                    : threads_ * type.components * static_cast<std::uint64_t>(size);
    return fmt::format("{}[{}]={}", type.name, std::max<std::uint64_t>(count, 1),
                       parameter.constant ? "random" : "zeros");
  }

  /// Empty for one with members that are not known.
  std::string structure(const std::vector<compile::HostMember>& members, int depth) {
    constexpr int deepest = 8;
    std::string text;
    for (const compile::HostMember& member : members) {
      std::string part;
      const auto type = values_.get().type(member.type);
      if (member.is_pointer) {
        part = array({.words = member.type, .pointer = true}, {}, {});
      } else if (type) {
        part = value(*type, {});
      } else if (const auto* inner = values_.get().structure(member.type);
                 inner && depth < deepest) {
        part = structure(*inner, depth + 1);
      }
      if (part.empty()) return {};
      if (member.count > 1) part = fmt::format("{}*{}", member.count, part);
      text += (text.empty() ? "" : ", ") + part;
    }
    guessed_ = true;
    return text.empty() ? text : "{" + text + "}";
  }

  std::reference_wrapper<HostValues> values_;
  std::uint64_t threads_;
  bool guessed_ = false;
};

std::string base_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  const std::size_t colon = kernel.rfind(':');
  return std::string(colon == std::string_view::npos ? kernel : kernel.substr(colon + 1));
}

/// The kernel's first launch; of a template the first that names an instance.
std::optional<LaunchSite> site_of(HostValues& values, const KernelDeclaration& kernel) {
  std::optional<LaunchSite> found;
  for (LaunchSite& site : compile::launches_in(values)) {
    if (base_name(site.kernel) != base_name(kernel.name)) continue;
    const bool is_instance = site.kernel.find('<') != std::string::npos;
    if (!found || (is_instance && found->kernel.find('<') == std::string::npos)) {
      found = std::move(site);
      if (!kernel.is_template || is_instance) break;
    }
  }
  return found;
}

/// The instance that the site's arguments imply: the type of a pointer T*.
std::string instance_of(HostValues& values, const LaunchSite& site,
                        const KernelDeclaration& kernel) {
  const std::size_t given = site.kernel.find('<');
  if (given != std::string::npos) return kernel.name + site.kernel.substr(given);
  const std::vector<std::string_view> parameters = parameters_in(kernel.signatures.front());
  for (std::size_t i = 0; i < std::min(parameters.size(), site.arguments.size()); ++i) {
    const Parameter parameter = parameter_of(parameters[i]);
    const Tokens& pointed = site.arguments[i].pointed;
    if (!parameter.pointer || pointed.empty() || values.type(parameter.words)) continue;
    const auto argument = values.template_argument(pointed.front());
    return fmt::format("{}<{}>", kernel.name, fmt::join(argument.value_or(pointed), " "));
  }
  return {};
}

}  // namespace

std::string template_instance(std::string_view source, const KernelDeclaration& kernel) {
  HostValues values(source);
  const std::optional<LaunchSite> site = site_of(values, kernel);
  const std::string instance = site ? instance_of(values, *site, kernel) : std::string();
  return instance.empty() ? kernel.name + kernel.plausible_instance : instance;
}

LaunchDescription suggested_launch(std::string_view source, const KernelDeclaration& kernel,
                                   const LaunchDescription& given,
                                   const std::vector<KernelParameter>& compiled) {
  HostValues values(source);
  const LaunchSite site = site_of(values, kernel).value_or(LaunchSite{});
  LaunchDescription launch = given;
  const auto guess = [&](const std::string& name, bool is_guessed) {
    std::erase(launch.guessed, name);
    if (is_guessed) launch.guessed.push_back(name);
  };
  if (given.kernel.empty() && kernel.is_template) {
    launch.kernel = instance_of(values, site, kernel);
    guess("kernel", launch.kernel.empty());
    if (launch.kernel.empty()) launch.kernel = kernel.name + kernel.plausible_instance;
  }
  if (!given.grid) {
    launch.grid = site.grid ? site.grid->extents : guessed_grid(source);
    guess("grid", !site.grid || !site.grid->is_sure);
  }
  if (!given.block) {
    launch.block = site.block ? site.block->extents : guessed_block(source, values);
    guess("block", !site.block || !site.block->is_sure);
  }
  if (given.shared_bytes == 0 && site.gives_shared_bytes) {
    const HostNumber bytes = site.shared_bytes.value_or(HostNumber{.is_sure = false});
    launch.shared_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes.integer, 0));
    guess("shared", !bytes.is_sure);
  } else if (given.shared_bytes == 0 && !site.grid &&
             source.find("extern __shared__") != source.npos) {
    constexpr std::uint64_t bytes_per_thread = 16;
    launch.shared_bytes = launch.block->count() * bytes_per_thread;
    guess("shared", true);
  }
  launch.arguments.clear();
  launch.arrays.clear();
  launch.following.clear();
  const std::vector<std::string_view> parameters = parameters_in(kernel.signatures.front());
  const std::size_t bracket = std::min(launch.kernel.find('<'), launch.kernel.size());
  const Tokens instance = compile::cpp_tokens(std::string_view(launch.kernel).substr(bracket));
  Suggestion suggestion(values, launch.grid->count() * launch.block->count());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const LaunchSite::Argument known =
        i < site.arguments.size() ? site.arguments[i] : LaunchSite::Argument{};
    const KernelParameter* parameter =
        compiled.size() == parameters.size() ? &compiled[i] : nullptr;
    try {
      launch.arguments.push_back(parse_argument(
          suggestion.argument(parameter_of(parameters[i]), known, parameter, instance)));
    } catch (const Error&) {  // the source's value does not fit the type
      suggestion = Suggestion(values, 1);
      launch.arguments.push_back(parse_argument(
          suggestion.argument(parameter_of(parameters[i]), {}, parameter, instance)));
    }
    const std::string& name = i < kernel.parameters.size() ? kernel.parameters[i] : std::string();
    guess(name.empty() ? fmt::format("argument {}", i + 1) : name, suggestion.guessed());
  }
  return launch;
}

}  // namespace tilescope::inspect
