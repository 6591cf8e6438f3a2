#include "inspect/launch_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "inspect/array_values.hpp"
#include "inspect/scalar_value.hpp"

namespace tilescope::inspect {
namespace {

constexpr std::size_t piece_bytes = values_per_piece * 8;

/// Checks arguments that no parser has seen: the members of an array must agree.
void require_consistent(const LaunchArgument& argument) {
  const auto refuse = [&](std::string_view why) {
    throw usage_error("--arg {}: {}", text_of(argument), why);
  };
  const std::size_t size = size_of(argument.type);
  if (argument.initial == Initial::file) return;
  if (!argument.count) refuse("the count may be left out only with @FILE.npy");
  if (*argument.count > most_array_bytes / size) refuse("1 TiB is the most that an array may have");
  const std::size_t bytes = argument.initial == Initial::value      ? size
                            : argument.initial == Initial::elements ? *argument.count * size
                                                                    : argument.value.size();
  if (argument.value.size() != bytes) {
    refuse(fmt::format("{} bytes of elements are needed, but {} were given", bytes,
                       argument.value.size()));
  }
}

}  // namespace

std::string text_of(const LaunchArgument& argument) {
  if (!argument.text.empty()) return printable(argument.text, 120);
  const std::string_view type = short_name_of(argument.type);
  if (argument.is_array) return fmt::format("{}[{}]", type, argument.count.value_or(0));
  if (!argument.members.empty()) return "{...}";
  if (argument.value.size() != size_of(argument.type)) {
    return fmt::format("{} bytes", argument.value.size());
  }
  return fmt::format("{}:{}", type, element_text(argument.type, argument.value.data()));
}

struct LaunchArrays::Array {
  LaunchArgument argument;
  std::string name;
  std::uint64_t count = 0;
  std::optional<NpyFile> input;
  std::optional<NpyWriter> output;
  Buffer buffer;
  DeviceAddress address = 0;  ///< the buffer's, or a variable's
  bool is_shared = false;

  std::size_t bytes() const { return count * size_of(argument.type); }
};

LaunchArrays::LaunchArrays(Device& device) : device_(device), memory_(device) {}

LaunchArrays::~LaunchArrays() = default;

std::shared_ptr<LaunchArrays::Array> LaunchArrays::open(const LaunchArgument& argument,
                                                        const std::string& name) const {
  require_consistent(argument);
  auto array = std::make_shared<Array>();
  array->argument = argument;
  array->name = name;
  NpyHeader header;
  if (argument.initial == Initial::file) {
    header = array->input.emplace(argument.load_from).header();
    if (header.type != argument.type) {
      throw input_error("{}: its elements are {}, but --arg {} says {}", quoted(argument.load_from),
                        name_of(header.type), text_of(argument), name_of(argument.type));
    }
    if (argument.count && *argument.count != header.count()) {
      throw input_error("{}: it has {} elements, but --arg {} says {}", quoted(argument.load_from),
                        header.count(), text_of(argument), *argument.count);
    }
  } else {
    header = {.type = argument.type, .shape = {*argument.count}};
  }
  array->count = header.count();
  if (!argument.save_to.empty()) array->output.emplace(argument.save_to, header);
  return array;
}

DeviceAddress LaunchArrays::add(const LaunchArgument& argument, const std::string& name) {
  if (argument.initial == Initial::shared) {
    for (const auto& array : arrays_) {
      if (array->is_shared && array->name == argument.name) return array->address;
    }
    throw usage_error("--arg {}: the launch has no shared array of this name", text_of(argument));
  }
  if (argument.initial == Initial::memory) return memory_.address_of(argument, name);
  auto array = open(argument, name);
  array->buffer = device_.allocate(array->bytes(), array->name);
  array->address = array->buffer.address();
  fill(*array);
  arrays_.push_back(std::move(array));
  return arrays_.back()->address;
}

void LaunchArrays::share(const LaunchArgument& argument) {
  if (argument.initial == Initial::memory) return memory_.keep_in_place(argument);
  add(argument, argument.name);
  arrays_.back()->is_shared = true;
}

std::size_t LaunchArrays::add_constant(const LaunchArgument& argument,
                                       const ModuleVariable& variable, bool is_read_back) {
  auto array = open(argument, argument.name);
  if (array->bytes() != variable.bytes) {
    throw usage_error("--constant {}: the variable has {} bytes, but {} were given",
                      text_of(argument), variable.bytes, array->bytes());
  }
  array->address = variable.address;
  const bool is_new = std::none_of(arrays_.begin(), arrays_.end(), [&](const auto& other) {
    return other->address == variable.address;
  });
  if (is_read_back && is_new) arrays_.push_back(array);
  constants_.push_back(std::move(array));
  return constants_.size() - 1;
}

void LaunchArrays::set_constant(std::size_t number) {
  fill(*constants_[number]);
}

void LaunchArrays::fill(const Array& array) {
  const DeviceAddress to = array.address;
  if (array.input) {
    const std::span<const std::byte> data = array.input->data();
    device_.copy_to_device(to, data.data(), data.size());
    array.input->require_unchanged();
    return;
  }
  if (array.argument.initial == Initial::uninitialised) return;
  if (array.argument.initial == Initial::zeros) {
    device_.fill(to, 0, array.bytes());
    return;
  }
  if (array.argument.initial == Initial::elements || array.argument.initial == Initial::memory) {
    const bool is_copy = array.argument.initial == Initial::elements;
    device_.copy_to_device(to, is_copy ? array.argument.value.data() : array.argument.memory,
                           array.bytes());
    return;
  }
  std::vector<std::byte> piece(std::min(array.bytes(), piece_bytes));
  const std::size_t step = std::min(
      piece_bytes, static_cast<std::size_t>(values_per_piece) * size_of(array.argument.type));
  for (std::size_t offset = 0; offset < array.bytes(); offset += step) {
    const std::span<std::byte> part(piece.data(), std::min(step, array.bytes() - offset));
    fill_elements(array.argument, offset / size_of(array.argument.type), part);
    device_.copy_to_device(to + offset, part.data(), part.size());
  }
}

std::vector<RunArray> LaunchArrays::read_back(std::uint64_t most_elements) const {
  std::vector<RunArray> results;
  std::vector<std::byte> piece;
  for (const auto& array : arrays_) {
    RunArray result{.name = array->name, .type = array->argument.type, .count = array->count};
    const std::size_t size = size_of(result.type);
    const std::size_t kept = std::min(most_elements, result.count) * size;
    for (std::size_t offset = 0; offset < array->bytes(); offset += piece_bytes) {
      piece.resize(std::min(piece_bytes, array->bytes() - offset));
      device_.copy_to_host(piece.data(), array->address + offset, piece.size());
      if (offset < kept) {
        const auto count = static_cast<std::ptrdiff_t>(std::min(kept - offset, piece.size()));
        result.bytes.insert(result.bytes.end(), piece.begin(), piece.begin() + count);
      }
      for (std::size_t at = 0; at < piece.size(); at += size) {
        const double value = element_value(result.type, piece.data() + at);
        if (std::isnan(value)) {
          ++result.nans;
        } else {
          result.least = std::min(result.least.value_or(value), value);
          result.most = std::max(result.most.value_or(value), value);
        }
      }
    }
    results.push_back(std::move(result));
  }
  return results;
}

void LaunchArrays::save(std::vector<RunArray>& arrays) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    Array& array = *arrays_[i];
    if (!array.output) continue;
    const std::span<std::byte> data = array.output->data();
    device_.copy_to_host(data.data(), array.address, data.size());
    array.output->commit();
    arrays[i].saved_to = array.argument.save_to;
  }
}

}  // namespace tilescope::inspect

namespace tilescope {

void require_data_type(std::string_view what, DataType type, DataType asked) {
  if (type == asked) return;
  throw usage_error("{} has elements of {}, not {}", what, name_of(type), name_of(asked));
}

LaunchArgument LaunchArgument::array(DataType type, std::span<const std::byte> elements) {
  return {.text = {},
          .name = {},
          .type = type,
          .is_array = true,
          .value = {elements.begin(), elements.end()},
          .count = elements.size() / size_of(type),
          .initial = Initial::elements};
}

LaunchArgument LaunchArgument::in_memory(const ConstArrayView& view, std::string name) {
  return {.text = {},
          .name = std::move(name),
          .type = view.type,
          .is_array = true,
          .count = view.count,
          .initial = Initial::memory,
          .memory = const_cast<void*>(view.data),
          .is_read_only = true};
}

LaunchArgument LaunchArgument::in_memory(const ArrayView& view, std::string name) {
  LaunchArgument argument = in_memory(static_cast<const ConstArrayView&>(view), std::move(name));
  argument.is_read_only = false;
  return argument;
}

LaunchArgument LaunchArgument::structure(std::vector<LaunchArgument> members) {
  LaunchArgument argument{.text = {}, .name = {}};
  argument.members = std::move(members);
  return argument;
}

LaunchArgument LaunchArgument::array(DataType type, std::uint64_t count, Initial initial,
                                     std::uint64_t seed) {
  return {.text = {},
          .name = {},
          .type = type,
          .is_array = true,
          .count = count,
          .initial = initial,
          .seed = seed};
}

}  // namespace tilescope
