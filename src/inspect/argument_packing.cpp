#include "inspect/argument_packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/symbol_names.hpp"
#include "base/text.hpp"
#include "inspect/array_values.hpp"
#include "inspect/scalar_value.hpp"

namespace tilescope::inspect {
namespace {

using Kind = KernelParameter::Kind;

std::string kind_text(const KernelParameter& parameter) {
  switch (parameter.kind) {
    case Kind::pointer:
      return "a pointer";
    case Kind::floating:
      return fmt::format("f{}", 8 * parameter.bytes);
    case Kind::integer:
      return fmt::format("an integer of {} byte{}", parameter.bytes,
                         parameter.bytes == 1 ? "" : "s");
    case Kind::bytes:
      break;
  }
  return fmt::format("{} bytes", parameter.bytes);
}

/// Bytes laid out as C lays out a structure.
struct Layout {
  std::vector<std::byte> bytes = {};
  std::size_t alignment = 1;

  void align(std::size_t to) { bytes.resize((bytes.size() + to - 1) / to * to); }
  void add(const void* data, std::size_t size, std::size_t aligned) {
    align(aligned);
    alignment = std::max(alignment, aligned);
    const auto* const first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + size);
  }
};

/// The number as one of the parameter's type. Throws Error(usage) if that cannot hold it; a
/// fraction for an integer stays as it is.
LaunchArgument adapted(const LaunchArgument& argument, const KernelParameter& parameter) {
  const bool is_real = argument.type == DataType::float64;
  const double real = element_value(argument.type, argument.value.data());
  DataType type = argument.type;
  if (parameter.kind == Kind::floating || (is_real && parameter.kind == Kind::bytes)) {
    type = parameter.bytes == 8   ? DataType::float64
           : parameter.bytes == 4 ? DataType::float32
                                  : DataType::float16;
  } else if (!is_real) {
    const bool is_signed = real < std::ldexp(1.0, static_cast<int>(8 * parameter.bytes) - 1);
    type = parameter.bytes == 8   ? DataType::int64
           : parameter.bytes == 4 ? (is_signed ? DataType::int32 : DataType::uint32)
           : parameter.bytes == 2 ? (is_signed ? DataType::int16 : DataType::uint16)
                                  : (is_signed ? DataType::int8 : DataType::uint8);
  }
  LaunchArgument converted = argument;
  if (size_of(type) != parameter.bytes || type == argument.type) return converted;
  converted.value = parse_scalar(
      is_real ? fmt::format("{}", real) : element_text(argument.type, argument.value.data()), type);
  converted.type = type;
  return converted;
}

std::string member_name(const std::string& structure, const LaunchArgument& member,
                        std::size_t index) {
  return fmt::format("{}.{}", structure,
                     member.name.empty() ? std::to_string(index + 1) : member.name);
}

void collect_memory(const LaunchArgument& argument, const std::string& name,
                    std::vector<CallerMemory::Piece>& pieces) {
  if (argument.initial == Initial::memory) pieces.push_back(CallerMemory::piece_of(argument, name));
  for (std::size_t i = 0; i < argument.members.size(); ++i) {
    collect_memory(argument.members[i], member_name(name, argument.members[i], i), pieces);
  }
}

Layout layout_of(LaunchArrays& arrays, const LaunchArgument& argument, const std::string& name) {
  Layout layout;
  if (argument.is_array) {
    const DeviceAddress address = arrays.add(argument, name);
    layout.add(&address, sizeof address, sizeof address);
  } else if (argument.members.empty()) {
    layout.add(argument.value.data(), argument.value.size(), size_of(argument.type));
  }
  for (std::size_t i = 0; i < argument.members.size(); ++i) {
    const LaunchArgument& member = argument.members[i];
    const Layout part = layout_of(arrays, member, member_name(name, member, i));
    layout.add(part.bytes.data(), part.bytes.size(), part.alignment);
  }
  layout.align(layout.alignment);
  return layout;
}

/// Packs the arguments of one kernel.
class Packing {
 public:
  Packing(LaunchArrays& arrays, const Kernel& kernel, const LaunchDescription& launch,
          const std::vector<std::string>& names)
      : arrays_(arrays),
        kernel_(kernel.name()),
        launch_(launch),
        parameters_(kernel.parameters()),
        names_(names.size() == parameters_.size() ? names
                                                  : std::vector<std::string>(parameters_.size())) {}

  KernelArguments pack() {
    require_count();
    require_guesses();
    place_memory();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const LaunchArgument& argument = launch_.arguments[i];
      if (argument.adapts) {
        if (argument.type == DataType::float64 && parameters_[i].kind == Kind::integer) {
          refuse(argument, i, ", not a floating-point number");
        }
        pack(adapted(argument, parameters_[i]), i);
      } else {
        pack(argument, i);
      }
    }
    return std::move(arguments_);
  }

 private:
  void pack(const LaunchArgument& argument, std::size_t index) {
    if (argument.is_array) {
      require_pointer(argument, index);
    } else if (argument.members.empty()) {
      require_value(argument, index);
    }
    add(argument, index);
  }

  void require_count() const {
    const std::size_t given = launch_.arguments.size();
    if (given == parameters_.size()) return;
    std::string list;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      list += fmt::format("{}{}{}", i ? ", " : "", names_[i].empty() ? "" : names_[i] + ": ",
                          kind_text(parameters_[i]));
    }
    throw usage_error("kernel {} has {} parameter{}{}, but {} --arg {} given", kernel_,
                      parameters_.size(), parameters_.size() == 1 ? "" : "s",
                      list.empty() ? "" : " (" + printable(list, 300) + ")", given,
                      given == 1 ? "was" : "were");
  }

  void require_guesses() const {
    std::vector<std::string> known = {"grid", "block", "shared", "kernel"};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      known.push_back(argument_name(launch_, names_, i));
    }
    for (const std::string& name : launch_.guessed) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      throw usage_error("--guessed {}: the launch has no such value; it has {}",
                        printable(name, 60), fmt::join(known, ", "));
    }
  }

  void place_memory() {
    std::vector<CallerMemory::Piece> pieces;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      collect_memory(launch_.arguments[i], argument_name(launch_, names_, i), pieces);
    }
    arrays_.memory().place(std::move(pieces));
  }

  [[noreturn]] void refuse(const LaunchArgument& argument, std::size_t index,
                           std::string_view why) const {
    throw usage_error("--arg {}: parameter {} of kernel {}{} is {}{}", text_of(argument), index + 1,
                      kernel_, names_[index].empty() ? "" : ", " + names_[index] + ",",
                      kind_text(parameters_[index]), why);
  }

  void require_pointer(const LaunchArgument& argument, std::size_t index) const {
    const KernelParameter& parameter = parameters_[index];
    if (parameter.bytes == sizeof(DeviceAddress) && parameter.kind != Kind::floating &&
        parameter.kind != Kind::integer) {
      return;
    }
    refuse(argument, index, ", not a pointer; give a value, such as i32:256");
  }

  void require_value(const LaunchArgument& argument, std::size_t index) const {
    const KernelParameter& parameter = parameters_[index];
    const std::size_t given = argument.value.size();
    if (parameter.kind == Kind::pointer && (is_floating(argument.type) || given != 8)) {
      refuse(argument, index,
             "; give an array, such as f32[1024]=zeros (or u64:0 for a null pointer)");
    }
    if (given != parameter.bytes) {
      refuse(argument, index,
             fmt::format(
                 "; {} {} bytes were given{}", given < parameter.bytes ? "only" : "but", given,
                 parameter.kind == Kind::bytes ? " (a structure is written {MEMBER, ...})" : ""));
    }
    const bool is_one = given == size_of(argument.type);
    const bool is_other = is_floating(argument.type) ? parameter.kind == Kind::integer
                                                     : parameter.kind == Kind::floating;
    if (is_one && is_other) {
      refuse(argument, index,
             fmt::format("; {} would be read as another number", short_name_of(argument.type)));
    }
  }

  void add(const LaunchArgument& argument, std::size_t index) {
    const KernelParameter& parameter = parameters_[index];
    Layout layout = layout_of(arrays_, argument, argument_name(launch_, names_, index));
    const std::size_t alignment = std::max<std::size_t>(parameter.alignment, 1);
    if (!argument.members.empty()) {
      layout.align(alignment);  // of a vector type inside
      if (layout.bytes.size() != parameter.bytes) {
        refuse(argument, index,
               fmt::format("; the members take {}, with C's alignment", layout.bytes.size()));
      }
    }
    arguments_.push_bytes(layout.bytes.data(), layout.bytes.size(), alignment);
  }

  LaunchArrays& arrays_;
  std::string kernel_;
  const LaunchDescription& launch_;
  std::vector<KernelParameter> parameters_;
  std::vector<std::string> names_;
  KernelArguments arguments_;
};

/// A value or a structure as an array of bytes, which a variable receives.
LaunchArgument as_elements(LaunchArrays& arrays, const LaunchArgument& constant,
                           std::size_t variable_bytes) {
  if (constant.is_array) return constant;
  const bool is_structure = !constant.members.empty();
  Layout layout = layout_of(arrays, constant, constant.name);
  // A vector type inside may align it further.
  if (is_structure && variable_bytes - layout.bytes.size() < 16)
    layout.bytes.resize(variable_bytes);
  LaunchArgument elements =
      LaunchArgument::array(is_structure ? DataType::uint8 : constant.type, layout.bytes);
  elements.text = constant.text;
  elements.name = constant.name;
  return elements;
}

}  // namespace

std::string argument_name(const LaunchDescription& launch, const std::vector<std::string>& names,
                          std::size_t index) {
  if (index < launch.arguments.size() && !launch.arguments[index].name.empty()) {
    return launch.arguments[index].name;
  }
  if (index < names.size() && !names[index].empty()) return names[index];
  return fmt::format("argument {}", index + 1);
}

KernelArguments packed_arguments(LaunchArrays& arrays, const Kernel& kernel,
                                 const LaunchDescription& launch,
                                 const std::vector<std::string>& names) {
  return Packing(arrays, kernel, launch, names).pack();
}

std::vector<std::size_t> packed_constants(LaunchArrays& arrays, const Kernel& kernel,
                                          const LaunchDescription& launch) {
  std::vector<std::size_t> numbers;
  const std::vector<KernelVariable> variables = kernel.variables();
  for (const LaunchArgument& constant : launch.constants) {
    const auto found = std::find_if(
        variables.begin(), variables.end(),
        [&](const KernelVariable& v) { return variable_name(v.name) == constant.name; });
    if (found == variables.end()) {
      std::string list;
      for (const KernelVariable& v : variables) {
        list += (list.empty() ? "" : ", ") + variable_name(v.name);
      }
      throw usage_error(
          "--constant {}: kernel {} uses no __constant__ or __device__ "
          "variable of this name; it uses {}",
          text_of(constant), kernel.name(), list.empty() ? "none" : printable(list, 300));
    }
    const ModuleVariable place = kernel.module().variable(found->name);
    numbers.push_back(arrays.add_constant(as_elements(arrays, constant, place.bytes), place,
                                          !found->is_constant));
  }
  return numbers;
}

}  // namespace tilescope::inspect
