// Loads through addresses of known shape: where the lanes of a strip, or four of them, read
// neighbours, or all the same, one instruction loads them.
#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "emulator/compiled/strip_emitter.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::size_t kMostMaskedRuns = 3;  // of lanes that a mask each loads
constexpr std::size_t kFarApart = 100;      ///< items: their vectors would not stay in registers

bool are_apart(const std::int64_t* at_lane, int lanes, std::int64_t step) {
  for (int i = 1; i < lanes; ++i) {
    if (at_lane[i] != at_lane[0] + i * step) return false;
  }
  return true;
}

}  // namespace

Gpr StripEmitter::pointer(const Item& item) {
  const auto group = static_cast<std::size_t>(item.group);
  if (pointers_[group] >= 0) return static_cast<Gpr>(pointers_[group]);
  a_.mov(rcx, slot_place(a_, segment_.groups[group].pointer_slot), 8);
  return rcx;
}

std::int64_t StripEmitter::displacement(const Item& item, std::size_t element, int lane) const {
  const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
  // Lanes that never run read what one of the others does.
  const int place = runs(lane) ? lane : std::countr_zero(segment_.lanes);
  return item.operation->code->offset - group.lowest +
         static_cast<std::int64_t>(element) * item.operation->width +
         shapes_.difference(group.shape, place, group.address_bytes);
}

/// Loads of four neighbouring words are one row for each lane, in whatever order they come. The
/// first of them then loads all four.
void StripEmitter::find_rows() {
  rows_.clear();
  row_of_.assign(segment_.items.size(), -1);
  std::map<std::pair<int, std::int64_t>, std::size_t> words;  // by group and offset
  for (std::size_t i = 0; i < segment_.items.size(); ++i) {
    const Item& item = segment_.items[i];
    const Operation& operation = *item.operation;
    if (operation.act != Act::load || item.way != Way::access || item.dead ||
        operation.width != 4 || operation.out.size() != 1 || item.out_slots[0] != kNoSlot ||
        item.out_next[0] == kNever) {
      continue;
    }
    words.try_emplace({item.group, operation.code->offset}, i);
  }
  for (auto word = words.begin(); word != words.end();) {
    Row row;
    std::size_t found = 0;
    auto next = word;
    for (; found < row.items.size() && next != words.end(); ++found, ++next) {
      const auto& [group, offset] = next->first;
      const auto more = static_cast<std::int64_t>(found * 4);
      if (group != word->first.first || offset != word->first.second + more) break;
      row.items[found] = next->second;
    }
    const std::size_t first = *std::min_element(row.items.begin(), row.items.begin() + found);
    const bool early = std::all_of(row.items.begin(), row.items.begin() + found,
                                   [&](std::size_t i) { return may_be_early(first, i); });
    if (found == row.items.size() && early) {
      for (const std::size_t i : row.items) row_of_[i] = static_cast<int>(rows_.size());
      rows_.push_back(row);
      word = next;
    } else {
      ++word;
    }
  }
}

/// The item may write its result where item `first` stands: nothing between reads or writes that
/// register.
bool StripEmitter::may_be_early(std::size_t first, std::size_t item) const {
  if (item - first > kFarApart) return false;
  const std::uint32_t reg = segment_.items[item].operation->out[0];
  for (std::size_t i = first; i < item; ++i) {
    const Operation& operation = *segment_.items[i].operation;
    for (const auto* list : {&operation.in, &operation.out}) {
      if (std::find(list->begin(), list->end(), reg) != list->end()) return false;
    }
  }
  return true;
}

/// There are four lanes that neither read the same word nor neighbouring ones.
bool StripEmitter::is_spread(const Item& item) const {
  for (int first = 0; first < lanes_; first += 4) {
    std::int64_t at_lane[4];
    for (int i = 0; i < 4; ++i) at_lane[i] = displacement(item, 0, strip_ * lanes_ + first + i);
    if (!are_apart(at_lane, 4, 0) && !are_apart(at_lane, 4, 4)) return true;
  }
  return false;
}

/// Four words of each lane from `item` on: the lanes' rows of four are turned into vectors.
void StripEmitter::load_spread(const Item& item, const int* to) {
  const Gpr from = pointer(item);
  for (int row = 0; row < 4; ++row) {
    const auto lane = [&](int part) {
      return at(from, displacement(item, 0, strip_ * lanes_ + part * 4 + row));
    };
    a_.strip(vmovups_half, to[row], 0, lane(0));
    for (int part = 1; part < lanes_ / 4; ++part) insert_four(to[row], lane(part), part);
  }
  constexpr std::uint8_t kLow = 0x44, kHigh = 0xee;
  a_.strip(vunpcklps, kScratch, to[0], ymm(to[1]));
  a_.strip(vunpckhps, to[1], to[0], ymm(to[1]));
  a_.strip(vunpcklps, kScratch2, to[2], ymm(to[3]));
  a_.strip(vunpckhps, to[3], to[2], ymm(to[3]));
  a_.strip(vshufps, to[2], to[1], ymm(to[3]), kLow);
  a_.strip(vshufps, to[3], to[1], ymm(to[3]), kHigh);
  a_.strip(vshufps, to[0], kScratch, ymm(kScratch2), kLow);
  a_.strip(vshufps, to[1], kScratch, ymm(kScratch2), kHigh);
}

/// The words of four lanes, number `part` of those in the strip.
void StripEmitter::insert_four(int to, Source four, int part) {
  a_.strip(a_.has_512() ? vinserti32x4 : vinserti128, to, to, four,
           static_cast<std::uint8_t>(part));
}

/// True where the item's word comes, or has come, with a row of them.
bool StripEmitter::load_row(const Item& item) {
  const int number = row_of_[static_cast<std::size_t>(number_of(item))];
  if (number < 0) return false;
  Row& row = rows_[static_cast<std::size_t>(number)];
  const Item& first = segment_.items[row.items[0]];
  if (row.loaded || !is_spread(first)) return row.loaded;
  int to[4];
  for (std::size_t i = 0; i < 4; ++i) {
    to[i] = cache_.define(segment_.items[row.items[i]], 0, 0, false);
  }
  load_spread(first, to);
  return row.loaded = true;
}

void StripEmitter::load(const Item& item) {
  if (load_row(item)) return;
  if (item.operation->width == 4 && item.operation->out.size() == 4 && is_spread(item)) {
    int to[4];
    for (std::size_t i = 0; i < 4; ++i) to[i] = cache_.define(item, i, 0, false);
    return load_spread(item, to);
  }
  for (std::size_t i = 0; i < item.operation->out.size(); ++i) {
    if (item.out_next[i] == kNever) continue;
    switch (item.operation->width) {
      case 8:
        for (int half = 0; half < 2; ++half) {
          load_longs(item, i, half, cache_.define(item, i, half, false));
        }
        break;
      case 4:
        load_words(item, i, cache_.define(item, i, 0, false));
        break;
      default:
        load_narrow(item, i, cache_.define(item, i, 0, false));
    }
  }
}

void StripEmitter::load_four_words(int to, Gpr pointer, const std::int64_t* at_lane) {
  if (are_apart(at_lane, 4, 0)) {
    a_.strip(vbroadcastss_half, to, 0, at(pointer, at_lane[0]));
  } else if (are_apart(at_lane, 4, 4)) {
    a_.strip(vmovups_half, to, 0, at(pointer, at_lane[0]));
  } else {
    a_.strip(vmovd, to, 0, at(pointer, at_lane[0]));
    for (int i = 1; i < 4; ++i) {
      a_.strip(vpinsrd, to, to, at(pointer, at_lane[i]), static_cast<std::uint8_t>(i));
    }
  }
}

void StripEmitter::load_words(const Item& item, std::size_t element, int to) {
  const Gpr from = pointer(item);
  std::int64_t at_lane[16] = {};
  for (int i = 0; i < lanes_; ++i) at_lane[i] = displacement(item, element, strip_ * lanes_ + i);
  if (load_run(to, from, at_lane, lanes_, 4) || load_two_runs(to, from, at_lane, lanes_, 4) ||
      load_runs(to, from, at_lane, lanes_, 4, strip_ * lanes_)) {
    return;
  }
  load_four_words(to, from, at_lane);
  for (int part = 1; part < lanes_ / 4; ++part) {
    const std::int64_t* const four = at_lane + part * 4;
    if (are_apart(four, 4, 4)) {
      insert_four(to, at(from, four[0]), part);
    } else {
      load_four_words(kScratch, from, four);
      insert_four(to, ymm(kScratch), part);
    }
  }
}

/// False where the lanes read neither the same element nor neighbouring ones.
bool StripEmitter::load_run(int to, Gpr pointer, const std::int64_t* at_lane, int lanes,
                            int bytes) {
  const bool same = are_apart(at_lane, lanes, 0);
  if (!same && !are_apart(at_lane, lanes, bytes)) return false;
  const VectorCode broadcast = bytes == 8 ? vbroadcastsd : vbroadcastss;
  a_.strip(same ? broadcast : vmovups, to, 0, at(pointer, at_lane[0]));
  return true;
}

/// With AVX-512: the lower and the upper half of the lanes are such runs, as in two rows of a tile.
bool StripEmitter::load_two_runs(int to, Gpr pointer, const std::int64_t* at_lane, int lanes,
                                 int bytes) {
  if (!a_.has_512()) return false;
  const std::int64_t* const upper = at_lane + lanes / 2;
  const auto is_same = [&](const std::int64_t* run) { return are_apart(run, lanes / 2, 0); };
  for (const std::int64_t* run : {at_lane, upper}) {
    if (!is_same(run) && !are_apart(run, lanes / 2, bytes)) return false;
  }
  const VectorCode broadcast = bytes == 8 ? vbroadcastsd : vbroadcastss;
  if (is_same(at_lane)) {
    a_.strip(broadcast, to, 0, at(pointer, at_lane[0]));
  } else {
    a_.vector(vmovups_256, to, 0, at(pointer, at_lane[0]));
  }
  if (is_same(upper)) {
    a_.strip(masked(broadcast, upper_mask(bytes)), to, 0, at(pointer, upper[0]));
  } else {
    a_.strip(vinserti128, to, to, at(pointer, upper[0]), 1);
  }
  return true;
}

/// With AVX-512: few runs of lanes that read neighbours, such as rows of a tile with its halo. Each
/// is loaded under a mask. `first`: the lane of the warp that is the first of these.
bool StripEmitter::load_runs(int to, Gpr pointer, const std::int64_t* at_lane, int lanes, int bytes,
                             int first) {
  if (!a_.has_512()) return false;
  std::vector<std::pair<std::int64_t, std::uint32_t>> runs;  // where lane 0 would be, and lanes
  for (int lane = 0; lane < lanes; ++lane) {
    if (!this->runs(first + lane)) continue;
    const std::int64_t begin = at_lane[lane] - std::int64_t{lane} * bytes;
    const auto same =
        std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.first == begin; });
    const std::uint32_t bit = 1u << lane;
    if (same != runs.end()) {
      same->second |= bit;
    } else if (runs.size() == kMostMaskedRuns) {
      return false;
    } else {
      runs.emplace_back(begin, bit);
    }
  }
  constexpr VectorCode longs{1, 1, 0, 1, 0x10, 1};
  for (const auto& [begin, run_lanes] : runs) {
    a_.mov_constant(rax, run_lanes);
    a_.vector(kmovw_from, kMask, 0, rax);
    a_.strip(masked(bytes == 8 ? longs : vmovups, kMask), to, 0, at(pointer, begin));
  }
  return true;
}

/// A mask register with the bits of the upper half of the lanes.
int StripEmitter::upper_mask(int bytes) {
  const int mask = bytes == 8 ? kUpperLongs : kUpperWords;
  bool& is_set = bytes == 8 ? has_upper_longs_ : has_upper_words_;
  if (!std::exchange(is_set, true)) {
    a_.mov_constant(rax, bytes == 8 ? 0xf0u : 0xff00u);
    a_.vector(kmovw_from, mask, 0, rax);
  }
  return mask;
}

void StripEmitter::load_longs(const Item& item, std::size_t element, int half, int to) {
  const Gpr from = pointer(item);
  const int lanes = lanes_ / 2;
  std::int64_t at_lane[8] = {};
  for (int i = 0; i < lanes; ++i) {
    at_lane[i] = displacement(item, element, strip_ * lanes_ + half * lanes + i);
  }
  if (load_run(to, from, at_lane, lanes, 8) || load_two_runs(to, from, at_lane, lanes, 8) ||
      load_runs(to, from, at_lane, lanes, 8, strip_ * lanes_ + half * lanes)) {
    return;
  }
  for (int part = 0; part < lanes / 2; ++part) {
    const int two = part == 0 ? to : kScratch;
    a_.strip(vmovq, two, 0, at(from, at_lane[part * 2]));
    a_.strip(vpinsrq, two, two, at(from, at_lane[part * 2 + 1]), 1);
    if (part != 0) insert_four(to, ymm(kScratch), part);
  }
}

/// Bytes and halves of words.
void StripEmitter::load_narrow(const Item& item, std::size_t element, int to) {
  const Operation& operation = *item.operation;
  const bool sign = operation.is_signed;
  const unsigned bytes = operation.width;
  const Gpr from = pointer(item);
  std::int64_t at_lane[16] = {};
  for (int i = 0; i < lanes_; ++i) at_lane[i] = displacement(item, element, strip_ * lanes_ + i);
  if (are_apart(at_lane, lanes_, bytes)) {
    const VectorCode code =
        bytes == 1 ? (sign ? vpmovsxbd : vpmovzxbd) : (sign ? vpmovsxwd : vpmovzxwd);
    a_.strip(code, to, 0, at(from, at_lane[0]));
    return;
  }
  for (int part = 0; part < lanes_ / 4; ++part) {
    const int four = part == 0 ? to : kScratch;
    for (int i = 0; i < 4; ++i) {
      a_.load_narrow(rax, at(from, at_lane[part * 4 + i]), bytes, sign);
      if (i == 0) {
        a_.strip(vmovd, four, 0, rax);
      } else {
        a_.strip(vpinsrd, four, four, rax, static_cast<std::uint8_t>(i));
      }
    }
    if (part != 0) insert_four(to, ymm(kScratch), part);
  }
}

}  // namespace tilescope::emulator::compiled
