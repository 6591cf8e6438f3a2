// A user's own GPU: {"version": 1, "name": "...", "based_on": "a100", "sm_count": 84, ...}.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <tilescope/gpu/gpu_table.hpp>
#include <variant>

#include "base/errors.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"

namespace tilescope::gpu {
namespace {

using nlohmann::json;

struct Field {
  std::string_view key;
  std::variant<int DeviceProperties::*, std::size_t DeviceProperties::*> member;
};

constexpr Field property_fields[] = {
    {"sm_count", &DeviceProperties::sm_count},
    {"warp_size", &DeviceProperties::warp_size},
    {"max_threads_per_block", &DeviceProperties::max_threads_per_block},
    {"max_threads_per_sm", &DeviceProperties::max_threads_per_sm},
    {"max_blocks_per_sm", &DeviceProperties::max_blocks_per_sm},
    {"registers_per_block", &DeviceProperties::registers_per_block},
    {"registers_per_sm", &DeviceProperties::registers_per_sm},
    {"shared_bytes_per_block", &DeviceProperties::shared_bytes_per_block},
    {"shared_bytes_per_block_optin", &DeviceProperties::shared_bytes_per_block_optin},
    {"shared_bytes_per_sm", &DeviceProperties::shared_bytes_per_sm},
    {"reserved_shared_bytes_per_block", &DeviceProperties::reserved_shared_bytes_per_block},
    {"constant_bytes", &DeviceProperties::constant_bytes},
    {"l2_bytes", &DeviceProperties::l2_bytes},
    {"global_bytes", &DeviceProperties::global_bytes},
    {"core_clock_khz", &DeviceProperties::core_clock_khz},
    {"memory_clock_khz", &DeviceProperties::memory_clock_khz},
    {"memory_bus_bits", &DeviceProperties::memory_bus_bits},
    {"fp32_lanes_per_sm", &DeviceProperties::fp32_lanes_per_sm},
    {"copy_engines", &DeviceProperties::copy_engines},
};

constexpr std::string_view other_keys[] = {"version",
                                           "name",
                                           "based_on",
                                           "compute_capability",
                                           "bandwidth_bytes_per_second",
                                           "flops_per_second",
                                           "latency_cycles",
                                           "allocation_units",
                                           "shared_banks"};
constexpr std::string_view unit_keys[] = {
    "register_unit",  "registers_for_whole_block", "warp_unit",
    "sub_partitions", "max_registers_per_thread",  "shared_unit"};

class Reader {
 public:
  Reader(std::string_view text, const std::string& origin)
      : origin_(origin), document_(parse_json_object(text, origin)) {}

  Gpu read() {
    require_known_keys();
    if (document_.value("version", json(1)) != 1) fail("has a version other than 1");
    Gpu gpu;
    if (const json* base = find("based_on")) {
      const std::string name = text_of(*base, "based_on");
      // A file could be based on itself.
      if (name.ends_with(".json")) fail("has a file as \"based_on\"; name a GPU of the table");
      gpu = find_gpu(name);
      gpu.sources.push_back({"what the file does not say", "the GPU it is based on"});
    } else {
      gpu.properties.max_block = {1024, 1024, 64};
      gpu.properties.max_grid = {0x7fffffff, 65535, 65535};
      gpu.properties.max_threads_per_block = 1024;
      for (const std::string_view key :
           {"max_threads_per_sm", "max_blocks_per_sm", "registers_per_sm", "shared_bytes_per_sm"}) {
        if (find(key) == nullptr) {
          fail(fmt::format("lacks \"{}\" (or \"based_on\": a GPU to take it from)", key));
        }
      }
    }
    gpu.name = find("name") ? text_of(document_["name"], "name") : "(unnamed)";
    gpu.properties.name = gpu.name;
    gpu.device_names.clear();
    read_capability(gpu);
    for (const Field& field : property_fields) read_property(gpu.properties, field);
    fill_in(gpu.properties);
    read_units(gpu.units);
    if (find("shared_banks")) gpu.shared_banks = static_cast<int>(whole("shared_banks", 1, 1024));
    if (find("bandwidth_bytes_per_second")) {
      gpu.stated_bandwidth =
          positive(document_["bandwidth_bytes_per_second"], "bandwidth_bytes_per_second");
    }
    read_rates(gpu);
    read_latencies(gpu);
    gpu.sources.push_back({"what the file says", origin_});
    return gpu;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw input_error("{} {}", origin_, why); }

  const json* find(std::string_view key) const {
    const auto found = document_.find(std::string(key));
    return found == document_.end() ? nullptr : &*found;
  }

  void require_known_keys() const {
    std::vector<std::string_view> keys(std::begin(other_keys), std::end(other_keys));
    for (const Field& field : property_fields) keys.push_back(field.key);
    for (const auto& [key, value] : document_.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) fail(unknown(key, keys));
    }
  }

  static std::string unknown(const std::string& key, const std::vector<std::string_view>& keys) {
    const std::string_view near = nearest(key, keys);
    return fmt::format("has an unknown key \"{}\"{}", printable(key, 60),
                       near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near));
  }

  std::string text_of(const json& value, std::string_view key) const {
    if (!value.is_string()) fail(fmt::format("has a \"{}\" that is no text", key));
    return value.get<std::string>();
  }

  double positive(const json& value, std::string_view key) const {
    if (!value.is_number() || !(value.get<double>() > 0.0)) {
      fail(fmt::format("has a \"{}\" of {}; it must be a number above 0", key,
                       printable(value.dump(), 40)));
    }
    return value.get<double>();
  }

  std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most) const {
    return whole_of(*find(key), key, least, most);
  }
  std::int64_t whole_of(const json& value, std::string_view key, std::int64_t least,
                        std::int64_t most) const {
    const bool fits = value.is_number_integer() && value.get<double>() >= double(least) &&
                      value.get<double>() <= double(most);
    if (!fits) {
      fail(fmt::format("has a \"{}\" of {}; it must be a whole number from {} to {}", key,
                       printable(value.dump(), 40), least, most));
    }
    return value.get<std::int64_t>();
  }

  void read_property(DeviceProperties& properties, const Field& field) const {
    if (find(field.key) == nullptr) return;
    if (const auto* number = std::get_if<int DeviceProperties::*>(&field.member)) {
      const bool may_be_zero = field.key == "copy_engines";
      properties.*(*number) = static_cast<int>(whole(field.key, may_be_zero ? 0 : 1, 0x7fffffff));
    } else {
      properties.*std::get<std::size_t DeviceProperties::*>(field.member) =
          static_cast<std::size_t>(whole(field.key, 0, std::int64_t{1} << 50));
    }
  }

  // Limits of a block that the file lacks are those of the SM.
  void fill_in(DeviceProperties& p) const {
    if (find("based_on")) return;
    if (p.registers_per_block == 0) p.registers_per_block = p.registers_per_sm;
    if (p.shared_bytes_per_block == 0) p.shared_bytes_per_block = p.shared_bytes_per_sm;
    if (p.shared_bytes_per_block_optin == 0) {
      p.shared_bytes_per_block_optin = p.shared_bytes_per_block;
    }
    if (p.sm_count == 0) p.sm_count = 1;
  }

  void read_capability(Gpu& gpu) const {
    const json* value = find("compute_capability");
    if (value == nullptr) return;
    const std::string text = text_of(*value, "compute_capability");
    int major = 0, minor = 0, used = 0;
    if (std::sscanf(text.c_str(), "%2d.%1d%n", &major, &minor, &used) != 2 ||
        static_cast<std::size_t>(used) != text.size() || major < 0 || minor < 0) {
      fail(fmt::format("has a \"compute_capability\" of \"{}\"; write it as \"8.6\"",
                       printable(text, 40)));
    }
    gpu.properties.compute_major = major;
    gpu.properties.compute_minor = minor;
    gpu.units = allocation_units(major, minor);
  }

  void read_units(AllocationUnits& units) const {
    const json* value = find("allocation_units");
    if (value == nullptr) return;
    if (!value->is_object()) fail("has \"allocation_units\" that are no object");
    const std::vector<std::string_view> keys(std::begin(unit_keys), std::end(unit_keys));
    for (const auto& [key, part] : value->items()) {
      if (key == "registers_for_whole_block") {
        if (!part.is_boolean()) fail("has a \"registers_for_whole_block\" that is not true/false");
        units.registers_for_whole_block = part.get<bool>();
        continue;
      }
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) fail(unknown(key, keys));
      const auto number = static_cast<int>(whole_of(part, key, 1, 1 << 20));
      if (key == "register_unit") units.register_unit = number;
      if (key == "warp_unit") units.warp_unit = number;
      if (key == "sub_partitions") units.sub_partitions = number;
      if (key == "max_registers_per_thread") units.max_registers_per_thread = number;
      if (key == "shared_unit") units.shared_unit = static_cast<std::size_t>(number);
    }
  }

  // {"fp32": 3.0e13, "bf16_tensor": ...}; without fp32 in the file it follows from the clock.
  void read_rates(Gpu& gpu) const {
    const bool own_clock = find("core_clock_khz") || find("fp32_lanes_per_sm") || find("sm_count");
    if (own_clock || !find("based_on")) {
      std::erase_if(gpu.rates, [](const MathRate& rate) { return rate.name == "fp32"; });
      if (gpu.properties.peak_fp32() > 0.0) {
        gpu.rates.insert(gpu.rates.begin(),
                         {"fp32", gpu.properties.peak_fp32(), "SMs x FP32 units x 2 x clock"});
      }
    }
    const json* value = find("flops_per_second");
    if (value == nullptr) return;
    if (!value->is_object()) fail("has \"flops_per_second\" that is no object of rates by name");
    for (const auto& [name, rate] : value->items()) {
      std::erase_if(gpu.rates, [&](const MathRate& known) { return known.name == name; });
      gpu.rates.push_back({name, positive(rate, name), origin_});
    }
  }

  void read_latencies(Gpu& gpu) const {
    const json* value = find("latency_cycles");
    if (value == nullptr) return;
    if (!value->is_object()) fail("has \"latency_cycles\" that is no object of cycles by level");
    for (const auto& [name, cycles] : value->items()) {
      const std::optional<MemoryLevel> level = memory_level(name);
      if (!level) {
        fail(
            fmt::format("has a latency of \"{}\"; the levels are registers, shared, "
                        "constant_cache, l1, l2 and dram",
                        printable(name, 40)));
      }
      std::erase_if(gpu.latencies, [&](const LevelLatency& l) { return l.level == *level; });
      gpu.latencies.push_back({*level, positive(cycles, name), origin_});
    }
  }

  std::string origin_;
  json document_;
};

}  // namespace

Gpu parse_gpu(std::string_view text, const std::string& origin) {
  return Reader(text, origin).read();
}

}  // namespace tilescope::gpu
