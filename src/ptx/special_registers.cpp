#include "ptx/special_registers.hpp"

#include <charconv>
#include <iterator>
#include <unordered_map>

namespace tilescope::ptx {
namespace {

// In the order of SpecialRegister. The last four carry a number and are handled separately.
// clang-format off
constexpr std::string_view names[] = {
    "", "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "ctaid.z",
    "nctaid.x", "nctaid.y", "nctaid.z", "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid",
    "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clock", "clock_hi",
    "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi", "is_explicit_cluster",
    "clusterid.x", "clusterid.y", "clusterid.z", "nclusterid.x", "nclusterid.y", "nclusterid.z",
    "cluster_ctaid.x", "cluster_ctaid.y", "cluster_ctaid.z", "cluster_nctaid.x",
    "cluster_nctaid.y", "cluster_nctaid.z", "cluster_ctarank", "cluster_nctarank",
    "total_smem_size", "aggr_smem_size", "dynamic_smem_size", "reserved_smem_offset_begin",
    "reserved_smem_offset_end", "reserved_smem_offset_cap", "current_graph_exec",
    "reserved_smem_offset_", "envreg", "pm", "pm",
};
// clang-format on
static_assert(std::size(names) == static_cast<std::size_t>(SpecialRegister::pm64) + 1);

Operand special(SpecialRegister which, std::uint64_t number = 0) {
  Operand operand;
  operand.kind = Operand::Kind::special;
  operand.special = which;
  operand.bits = number;
  return operand;
}

/// `text` as a number below `limit` without leading zeros.
std::optional<std::uint64_t> small_number(std::string_view text, std::uint64_t limit) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value >= limit) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return value;
}

std::optional<Operand> numbered(std::string_view text) {
  constexpr std::string_view reserved = "reserved_smem_offset_";
  if (text.starts_with(reserved)) {
    const auto number = small_number(text.substr(reserved.size()), 2);
    if (number) return special(SpecialRegister::reserved_smem_offset, *number);
  } else if (text.starts_with("envreg")) {
    const auto number = small_number(text.substr(6), 32);
    if (number) return special(SpecialRegister::envreg, *number);
  } else if (text.starts_with("pm")) {
    const bool wide = text.ends_with("_64");
    const auto number = small_number(text.substr(2, text.size() - (wide ? 5 : 2)), 8);
    if (number) return special(wide ? SpecialRegister::pm64 : SpecialRegister::pm, *number);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Operand> special_register(std::string_view text) {
  if (!text.starts_with('%')) return std::nullopt;
  text.remove_prefix(1);
  static const auto by_name = [] {
    std::unordered_map<std::string_view, SpecialRegister> built;
    for (std::size_t i = 1; i < static_cast<std::size_t>(SpecialRegister::reserved_smem_offset);
         ++i) {
      built.emplace(names[i], static_cast<SpecialRegister>(i));
    }
    return built;
  }();
  const auto entry = by_name.find(text);
  return entry == by_name.end() ? numbered(text) : special(entry->second);
}

std::string_view name(SpecialRegister which) {
  return names[static_cast<std::size_t>(which)];
}

}  // namespace tilescope::ptx
