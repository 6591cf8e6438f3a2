#include "report/lanes_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tilescope/error.hpp>

#include "gpu/coalescing.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

using emulator::AccessKind;
using emulator::Space;
using observe::LaneSample;

constexpr int banks = 32, word_bytes = 4;

std::string_view verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::load:
      return "load";
    case AccessKind::store:
      return "store";
    case AccessKind::atomic:
    case AccessKind::reduction:
      return "atomic";
    case AccessKind::async_load:
      return "cp.async read";
    case AccessKind::async_store:
      return "cp.async write";
    case AccessKind::matrix_load:
      return "ldmatrix";
    case AccessKind::matrix_store:
      return "stmatrix";
  }
  return "";
}

template <typename Function>
void for_each_lane(const LaneSample& sample, Function&& function) {
  for (std::uint32_t lane = 0; lane < emulator::kWarpSize; ++lane) {
    if ((sample.mask >> lane & 1U) != 0) function(lane, sample.addresses[lane]);
  }
}

/// Sector number (from the object's start) and the lanes that touch it. Local memory's sectors are
/// those of its interleaved words.
std::map<std::int64_t, std::uint32_t> sectors_of(const LaneSample& sample) {
  std::map<std::int64_t, std::uint32_t> sectors;
  const std::uint64_t base =
      sample.object.empty() || sample.space == Space::local ? 0 : sample.object_base;
  for_each_lane(sample, [&](std::uint32_t lane, std::uint64_t address) {
    const auto at = static_cast<std::int64_t>(
        sample.space == Space::local ? gpu::local_address(address, static_cast<int>(lane))
                                     : address - base);
    for (std::int64_t byte = at; byte < at + static_cast<std::int64_t>(sample.bytes); ++byte) {
      sectors[byte >= 0 ? byte / gpu::kSectorBytes : (byte + 1) / gpu::kSectorBytes - 1] |= 1U
                                                                                            << lane;
    }
  });
  return sectors;
}

/// Bank, the words in it (offsets in words) and the lanes that access each.
std::map<int, std::map<std::uint64_t, std::uint32_t>> banks_of(const LaneSample& sample) {
  std::map<int, std::map<std::uint64_t, std::uint32_t>> result;
  for_each_lane(sample, [&](std::uint32_t lane, std::uint64_t address) {
    for (std::uint64_t word = address / word_bytes;
         word <= (address + sample.bytes - 1) / word_bytes; ++word) {
      result[static_cast<int>(word % banks)][word] |= 1U << lane;
    }
  });
  return result;
}

constexpr std::string_view lane_tens = "0         1         2         3";
constexpr std::string_view lane_ones = "01234567890123456789012345678901";

std::string lane_ruler(std::string_view left) {
  return fmt::format("{:<32}lane {}\n{:<37}{}\n", "", lane_tens, left, lane_ones);
}

std::string draw_sectors(const LaneSample& sample) {
  std::string text = lane_ruler("    sector  bytes");
  for (const auto& [sector, mask] : sectors_of(sample)) {
    const std::int64_t begin = sector * gpu::kSectorBytes;
    std::string marks(emulator::kWarpSize, '.');
    for (std::uint32_t lane = 0; lane < marks.size(); ++lane) {
      if ((mask >> lane & 1U) != 0) marks[lane] = '#';
    }
    text += fmt::format("{:>10}  {:<25}{}\n", sector,
                        fmt::format("{} to {}", begin, begin + gpu::kSectorBytes - 1), marks);
  }
  return text;
}

/// Each lane below its bank, with a mark for each different word of the bank.
std::string draw_banks(const LaneSample& sample) {
  constexpr std::string_view words_of_bank = "0123456789abcdefghijklmnopqrstuv";
  std::string text = lane_ruler("  bank  words  (a mark for each word)");
  for (const auto& [bank, words] : banks_of(sample)) {
    std::string marks(emulator::kWarpSize, '.');
    std::size_t number = 0;
    for (const auto& [word, mask] : words) {
      for (std::uint32_t lane = 0; lane < marks.size(); ++lane) {
        if ((mask >> lane & 1U) != 0) marks[lane] = words_of_bank[number % words_of_bank.size()];
      }
      ++number;
    }
    text += fmt::format("{:>6} {:>6}  {:<22}{}\n", bank, words.size(), "", marks);
  }
  return text;
}

/// Whether the lanes of both form the same pattern, perhaps at another place in the same object, at
/// the same cost.
bool same_shape(const LaneSample& a, const LaneSample& b) {
  if (a.space != b.space || a.kind != b.kind || a.object != b.object || a.bytes != b.bytes ||
      a.mask != b.mask || a.cost != b.cost) {
    return false;
  }
  const auto first = static_cast<std::size_t>(std::countr_zero(a.mask));
  for (std::size_t lane = first; lane < a.addresses.size(); ++lane) {
    if ((a.mask >> lane & 1U) == 0) continue;
    if (a.addresses[lane] - a.addresses[first] != b.addresses[lane] - b.addresses[first]) {
      return false;
    }
  }
  return true;
}

std::string draw(const LaneSample& sample, const Dim3& block) {
  const Dim3 b = sample.block_index;
  std::string text = fmt::format("{} {} of {} byte{}{}, warp {} of block ({},{},{}), {} lanes:\n",
                                 to_string(sample.space), verb(sample.kind), sample.bytes,
                                 sample.bytes == 1 ? "" : "s",
                                 sample.object.empty() ? "" : fmt::format(" in {}", sample.object),
                                 sample.warp, b.x, b.y, b.z, std::popcount(sample.mask));
  if (sample.space == Space::shared) {
    text += fmt::format("  {} wavefront{}, ideal {}, {}-way\n", sample.cost,
                        sample.cost == 1 ? "" : "s", sample.ideal, sample.ways);
    text += draw_banks(sample);
  } else {
    text += fmt::format("  {} sector{}, ideal {}\n", sample.cost, sample.cost == 1 ? "" : "s",
                        sample.ideal);
    text += draw_sectors(sample);
  }
  if (block.y > 1) {
    text +=
        fmt::format("  (lane l is threadIdx.x = l mod {}, .y = l div {} from the warp's first)\n",
                    block.x, block.x);
  }
  return text;
}

}  // namespace

std::string lanes_text(std::uint32_t mask) {
  std::string text;
  for (unsigned lane = 0; lane < emulator::kWarpSize;) {
    if ((mask >> lane & 1U) == 0) {
      ++lane;
      continue;
    }
    unsigned end = lane;
    while (end + 1 < emulator::kWarpSize && (mask >> (end + 1) & 1U) != 0) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",",
                        end == lane ? fmt::format("{}", lane) : fmt::format("{}-{}", lane, end));
    lane = end + 1;
  }
  return text;
}

std::string lanes_report(const std::vector<LaneSample>& samples, const Dim3& block,
                         std::uint32_t line, SourceTexts& sources) {
  std::string text;
  std::set<std::uint32_t> known;
  const std::string* file = nullptr;
  std::vector<const LaneSample*> drawn;
  for (const LaneSample& sample : samples) {
    known.insert(sample.place.line);
    if (sample.place.line != line) continue;
    if (file == nullptr || *file != sample.place.file) {  // a header may have a line of this
                                                          // number, too
      file = &sample.place.file;
      text += text.empty() ? "" : "\n";
      text += fmt::format("{}:{}: {}\n", sample.place.file, line,
                          clipped(sources.line(sample.place.file, line), terminal_columns));
    }
    // Unrolled copies of one access have one pattern.
    const bool known_shape = std::any_of(
        drawn.begin(), drawn.end(), [&](const LaneSample* d) { return same_shape(*d, sample); });
    if (known_shape) continue;
    drawn.push_back(&sample);
    text += '\n' + draw(sample, block);
  }
  if (!text.empty()) return text;
  throw Error(ErrorKind::usage,
              known.empty()
                  ? fmt::format("--lanes {}: the kernel accesses no memory", line)
                  : fmt::format("--lanes {}: no memory is accessed there; the lines that do are {}",
                                line, fmt::join(known, ", ")));
}

nlohmann::json lanes_json(const std::vector<LaneSample>& samples, std::uint32_t line) {
  nlohmann::json list = nlohmann::json::array();
  for (const LaneSample& s : samples) {
    if (s.place.line != line) continue;
    nlohmann::json addresses = nlohmann::json::array();
    for (std::uint32_t lane = 0; lane < emulator::kWarpSize; ++lane) {
      const bool on = (s.mask >> lane & 1U) != 0;
      addresses.push_back(
          on ? nlohmann::json(static_cast<std::int64_t>(s.addresses[lane] - s.object_base))
             : nlohmann::json());
    }
    list.push_back({{"file", s.place.file},
                    {"line", s.place.line},
                    {"space", to_string(s.space)},
                    {"access", verb(s.kind)},
                    {"object", s.object},
                    {"bytes_per_lane", s.bytes},
                    {"block", {s.block_index.x, s.block_index.y, s.block_index.z}},
                    {"warp", s.warp},
                    {s.space == Space::shared ? "wavefronts" : "sectors", s.cost},
                    {"ideal", s.ideal},
                    {"byte_offsets", std::move(addresses)}});
  }
  return list;
}

}  // namespace tilescope::report
