#include "report/lanes_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
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

/// The tens of the lanes' numbers; the ones are the title of a table's last column.
Text lane_ruler() {
  return {std::string(32, ' ') + "lane " + std::string(lane_tens)};
}

/// A mark for each lane of `mask`.
void mark_lanes(std::string& marks, std::uint32_t mask, char mark) {
  for (std::uint32_t lane = 0; lane < marks.size(); ++lane) {
    if ((mask >> lane & 1U) != 0) marks[lane] = mark;
  }
}

Table sector_table(const LaneSample& sample) {
  Table table{.columns = {{"sector", right, 10, "{sector:plain}"},
                          {"bytes", left, 24, "{begin:plain} to {end:plain}"},
                          {std::string(lane_ones), left, 0, "{marks}"}},
              .rows = {}};
  for (const auto& [sector, mask] : sectors_of(sample)) {
    const std::int64_t begin = sector * gpu::kSectorBytes;
    std::string marks(emulator::kWarpSize, '.');
    mark_lanes(marks, mask, '#');
    table.rows.push_back({{"sector", sector},
                          {"begin", begin},
                          {"end", begin + gpu::kSectorBytes - 1},
                          {"marks", marks}});
  }
  return table;
}

/// Each lane under its bank, marked with which of the bank's different words it wants.
Table bank_table(const LaneSample& sample) {
  constexpr std::string_view words_of_bank = "0123456789abcdefghijklmnopqrstuv";
  constexpr std::string_view title = "(a mark for each word)";
  Table table{.columns = {{"bank", right, 6, "{bank}"},
                          {"words", right, 6, "{words}"},
                          {fmt::format("{}{}", title, lane_ones), left, 0,
                           std::string(title.size(), ' ') + "{marks}"}},
              .rows = {}};
  for (const auto& [bank, words] : banks_of(sample)) {
    std::string marks(emulator::kWarpSize, '.');
    std::size_t number = 0;
    for (const auto& [word, mask] : words) {
      mark_lanes(marks, mask, words_of_bank[number++ % words_of_bank.size()]);
    }
    table.rows.push_back({{"bank", bank}, {"words", words.size()}, {"marks", marks}});
  }
  return table;
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

void add_sample(Page& page, const LaneSample& sample, const Dim3& block) {
  const Dim3 b = sample.block_index;
  const bool is_shared = sample.space == Space::shared;
  const Record record{{"cost", sample.cost}, {"ideal", sample.ideal}, {"ways", sample.ways}};
  page.gap();
  page.add(Text{fmt::format(
      "{} {} of {} byte{}{}, warp {} of block ({},{},{}), {} lanes:", to_string(sample.space),
      kind_words(sample.kind), sample.bytes, sample.bytes == 1 ? "" : "s",
      sample.object.empty() ? "" : " in " + sample.object, sample.warp, b.x, b.y, b.z,
      std::popcount(sample.mask))});
  page.add(Text{record.fill(is_shared ? "{cost} wavefront{cost:s}, ideal {ideal}, {ways}-way"
                                      : "{cost} sector{cost:s}, ideal {ideal}"),
                2});
  page.add(lane_ruler());
  page.add(is_shared ? bank_table(sample) : sector_table(sample));
  if (block.y > 1) {
    page.add(
        Text{fmt::format("(lane l is threadIdx.x = l mod {}, .y = l div {} from the warp's first)",
                         block.x, block.x),
             2});
  }
}

Record sample_record(const LaneSample& s) {
  List offsets;
  for (std::uint32_t lane = 0; lane < emulator::kWarpSize; ++lane) {
    offsets.emplace_back();
    if ((s.mask >> lane & 1U) == 0) continue;
    offsets.back() = static_cast<std::int64_t>(s.addresses[lane] - s.object_base);
  }
  return {{"file", s.place.file},
          {"line", s.place.line},
          {"space", to_string(s.space)},
          {"access", kind_words(s.kind)},
          {"object", s.object},
          {"bytes_per_lane", s.bytes},
          {"block", s.block_index},
          {"warp", s.warp},
          {s.space == Space::shared ? "wavefronts" : "sectors", s.cost},
          {"ideal", s.ideal},
          {"byte_offsets", std::move(offsets)}};
}

}  // namespace

std::string_view kind_words(AccessKind kind) {
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
    case AccessKind::texture_load:
      return "texture load";
    case AccessKind::surface_load:
      return "surface load";
    case AccessKind::surface_store:
      return "surface store";
    case AccessKind::surface_reduction:
      return "surface reduction";
  }
  return "";
}

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

void add_lanes(Page& page, const std::vector<LaneSample>& samples, const Dim3& block,
               std::uint32_t line, SourceTexts& sources) {
  std::set<std::uint32_t> known;
  const std::string* file = nullptr;
  std::vector<const LaneSample*> drawn;
  List& list = page.data.list("lanes");
  for (const LaneSample& sample : samples) {
    known.insert(sample.place.line);
    if (sample.place.line != line) continue;
    list.push_back(sample_record(sample));
    if (file == nullptr || *file != sample.place.file) {  // a header may have such a line, too
      if (file != nullptr) page.gap();
      file = &sample.place.file;
      std::string head = fmt::format("{}:{}: ", *file, line);
      const std::size_t room = terminal_columns - std::min(terminal_columns, width_of(head));
      page.add(Text{std::move(head) + clipped(sources.line(*file, line), room)});
    }
    // Unrolled copies of one access have one pattern.
    const bool known_shape = std::any_of(
        drawn.begin(), drawn.end(), [&](const LaneSample* d) { return same_shape(*d, sample); });
    if (known_shape) continue;
    drawn.push_back(&sample);
    add_sample(page, sample, block);
  }
  if (file != nullptr) return;
  throw Error(ErrorKind::usage,
              known.empty()
                  ? fmt::format("--lanes {}: the kernel accesses no memory", line)
                  : fmt::format("--lanes {}: no memory is accessed there; the lines that do are {}",
                                line, fmt::join(known, ", ")));
}

}  // namespace tilescope::report
