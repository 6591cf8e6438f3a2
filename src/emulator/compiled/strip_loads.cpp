// Loads through addresses of known shape: where eight or four lanes read neighbours, or all the
// same, one instruction loads them.
#include "emulator/compiled/strip_emitter.hpp"

namespace tilescope::emulator::compiled {
namespace {

Source ymm(int number) {
  return Source::ymm(number);
}

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
  a_.mov(rcx, slot_place(segment_.groups[group].pointer_slot), 8);
  return rcx;
}

std::int64_t StripEmitter::displacement(const Item& item, std::size_t element, int lane) const {
  const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
  return item.operation->code->offset - group.lowest +
         static_cast<std::int64_t>(element) * item.operation->width +
         shapes_.difference(group.shape, lane, group.address_bytes);
}

/// Each lane reads four words, and neither all lanes the same ones nor single words a row of them.
bool StripEmitter::is_spread(const Item& item) const {
  if (item.operation->width != 4 || item.operation->out.size() != 4) return false;
  std::int64_t at_lane[8];
  for (int i = 0; i < 8; ++i) at_lane[i] = displacement(item, 0, strip_ * 8 + i);
  return !are_apart(at_lane, 4, 0) || !are_apart(at_lane + 4, 4, 0);
}

/// Four words of eight lanes: the lanes' rows of four are turned into vectors of eight.
void StripEmitter::load_spread(const Item& item) {
  const Gpr from = pointer(item);
  int to[4];
  for (std::size_t i = 0; i < 4; ++i) to[i] = cache_.define(item, i, 0, false);
  for (int row = 0; row < 4; ++row) {
    const int lane = strip_ * 8 + row;
    a_.vector(vmovups_half, to[row], 0, at(from, displacement(item, 0, lane)));
    a_.vector(vinserti128, to[row], to[row], at(from, displacement(item, 0, lane + 4)), 1);
  }
  constexpr std::uint8_t kLow = 0x44, kHigh = 0xee;
  a_.vector(vunpcklps, kScratch, to[0], ymm(to[1]));
  a_.vector(vunpckhps, to[1], to[0], ymm(to[1]));
  a_.vector(vunpcklps, kScratch2, to[2], ymm(to[3]));
  a_.vector(vunpckhps, to[3], to[2], ymm(to[3]));
  a_.vector(vshufps, to[2], to[1], ymm(to[3]), kLow);
  a_.vector(vshufps, to[3], to[1], ymm(to[3]), kHigh);
  a_.vector(vshufps, to[0], kScratch, ymm(kScratch2), kLow);
  a_.vector(vshufps, to[1], kScratch, ymm(kScratch2), kHigh);
}

void StripEmitter::load(const Item& item) {
  if (is_spread(item)) return load_spread(item);
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
    a_.vector(vbroadcastss_half, to, 0, at(pointer, at_lane[0]));
  } else if (are_apart(at_lane, 4, 4)) {
    a_.vector(vmovups_half, to, 0, at(pointer, at_lane[0]));
  } else {
    a_.vector(vmovd, to, 0, at(pointer, at_lane[0]));
    for (int i = 1; i < 4; ++i) {
      a_.vector(vpinsrd, to, to, at(pointer, at_lane[i]), static_cast<std::uint8_t>(i));
    }
  }
}

void StripEmitter::load_words(const Item& item, std::size_t element, int to) {
  const Gpr from = pointer(item);
  std::int64_t at_lane[8];
  for (int i = 0; i < 8; ++i) at_lane[i] = displacement(item, element, strip_ * 8 + i);
  if (are_apart(at_lane, 8, 0)) {
    a_.vector(vbroadcastss, to, 0, at(from, at_lane[0]));
  } else if (are_apart(at_lane, 8, 4)) {
    a_.vector(vmovups, to, 0, at(from, at_lane[0]));
  } else {
    load_four_words(to, from, at_lane);
    load_four_words(kScratch, from, at_lane + 4);
    a_.vector(vinserti128, to, to, ymm(kScratch), 1);
  }
}

void StripEmitter::load_longs(const Item& item, std::size_t element, int half, int to) {
  const Gpr from = pointer(item);
  std::int64_t at_lane[4];
  for (int i = 0; i < 4; ++i) {
    at_lane[i] = displacement(item, element, strip_ * 8 + half * 4 + i);
  }
  if (are_apart(at_lane, 4, 0)) {
    a_.vector(vbroadcastsd, to, 0, at(from, at_lane[0]));
  } else if (are_apart(at_lane, 4, 8)) {
    a_.vector(vmovups, to, 0, at(from, at_lane[0]));
  } else {
    a_.vector(vmovq, to, 0, at(from, at_lane[0]));
    a_.vector(vpinsrq, to, to, at(from, at_lane[1]), 1);
    a_.vector(vmovq, kScratch, 0, at(from, at_lane[2]));
    a_.vector(vpinsrq, kScratch, kScratch, at(from, at_lane[3]), 1);
    a_.vector(vinserti128, to, to, ymm(kScratch), 1);
  }
}

/// Bytes and halves of words.
void StripEmitter::load_narrow(const Item& item, std::size_t element, int to) {
  const Operation& operation = *item.operation;
  const bool sign = operation.is_signed;
  const unsigned bytes = operation.width;
  const Gpr from = pointer(item);
  std::int64_t at_lane[8];
  for (int i = 0; i < 8; ++i) at_lane[i] = displacement(item, element, strip_ * 8 + i);
  if (are_apart(at_lane, 8, bytes)) {
    const VectorCode code =
        bytes == 1 ? (sign ? vpmovsxbd : vpmovzxbd) : (sign ? vpmovsxwd : vpmovzxwd);
    a_.vector(code, to, 0, at(from, at_lane[0]));
    return;
  }
  for (int part = 1; part >= 0; --part) {
    for (int i = 0; i < 4; ++i) {
      const int vector = part == 1 ? kScratch : to;
      a_.load_narrow(rax, at(from, at_lane[part * 4 + i]), bytes, sign);
      if (i == 0) {
        a_.vector(vmovd, vector, 0, rax);
      } else {
        a_.vector(vpinsrd, vector, vector, rax, static_cast<std::uint8_t>(i));
      }
    }
  }
  a_.vector(vinserti128, to, to, ymm(kScratch), 1);
}

}  // namespace tilescope::emulator::compiled
