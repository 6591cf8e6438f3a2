#include "emulator/compiled/vector_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "emulator/compiled/chip_nans.hpp"
#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::uint8_t kUnordered = 3;
constexpr int kSoon = 16;  ///< items through which a vector may stay in a register

template <class T>
std::string repeated(T value) {
  std::string bytes;
  while (bytes.size() < 32) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

}  // namespace

Place differences(Assembler& assembler, const LaneShape& shape, unsigned bytes, int first) {
  const auto size = static_cast<unsigned>(assembler.strip_bytes());
  std::string text(size, '\0');
  for (unsigned i = 0; i < size / bytes; ++i) {
    std::memcpy(text.data() + i * bytes, &shape[static_cast<unsigned>(first) + i], bytes);
  }
  return assembler.constant(text);
}

void VectorCache::defer_nans() {
  defers_ = true;
  if (a_.has_512()) {
    a_.vector(kxorw, kNanMask, kNanMask, Source::ymm(kNanMask));
  } else {
    a_.vector(vpxor, kNans, kNans, Source::ymm(kNans));
  }
}

void VectorCache::end_nans() {
  if (deferred_.empty()) return;
  std::sort(deferred_.begin(), deferred_.end());
  deferred_.erase(std::unique(deferred_.begin(), deferred_.end()), deferred_.end());
  std::string registers;
  for (const std::uint32_t reg : deferred_) {
    const RegisterInfo& info = plan_.registers()[reg];
    const RealRegister real{info.offset, info.width};
    registers.append(reinterpret_cast<const char*>(&real), sizeof real);
  }
  const Label none = a_.label();
  if (a_.has_512()) {
    a_.vector(kortestw, kNanMask, 0, Source::ymm(kNanMask));
  } else {
    a_.vector(vptest, kNans, 0, Source::ymm(kNans));
  }
  a_.jump(Condition::equal, none);
  a_.address(rsi, a_.constant(registers));
  a_.mov_constant(rdx, deferred_.size());
  emit_call(a_, &replace_nans);
  a_.bind(none);
}

void VectorCache::begin_strip(int strip) {
  strip_ = strip;
  entries_ = {};
}

void VectorCache::end_strip() {
  for (int i = 0; i < kVectors; ++i) {
    const Entry& entry = entries_[static_cast<std::size_t>(i)];
    if (entry.used && entry.dirty && entry.next == kAtEnd) write(i);
  }
}

void VectorCache::release() {
  for (Entry& entry : entries_) {
    entry.pinned = false;
    if (entry.used && entry.next == kNever) entry = {};
  }
}

Place VectorCache::home(std::uint32_t reg, int half) const {
  const RegisterInfo& info = plan_.registers()[reg];
  return at(kFrame,
            std::int64_t{info.offset} + strip_ * lanes_ * info.width + half * a_.strip_bytes());
}

int VectorCache::find(const VectorName& name) const {
  for (int i = 0; i < kVectors; ++i) {
    const Entry& entry = entries_[static_cast<std::size_t>(i)];
    if (entry.used && entry.name == name) return i;
  }
  return -1;
}

/// Frees a register: the one whose next use is furthest away.
int VectorCache::take() {
  int best = -1;
  for (int i = 0; i < kVectors; ++i) {
    if (!is_place(i)) continue;
    const Entry& entry = entries_[static_cast<std::size_t>(i)];
    if (!entry.used) return i;
    if (entry.pinned) continue;
    if (best < 0 || entry.next > entries_[static_cast<std::size_t>(best)].next) best = i;
  }
  const Entry& chosen = entries_[static_cast<std::size_t>(best)];
  if (chosen.dirty && chosen.next != kNever) write(best);
  entries_[static_cast<std::size_t>(best)] = {};
  return best;
}

void VectorCache::make_canonical(int number) {
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  if (!entry.raw) return;
  const bool is_double = plan_.registers()[entry.name.reg].width == 8;
  entry.raw = false;
  if (a_.has_512()) {
    a_.strip(is_double ? vcmppd : vcmpps, kMask, number, Source::ymm(number), kUnordered);
    a_.strip(masked(is_double ? vbroadcastsd : vbroadcastss, kMask), number, 0,
             is_double ? a_.constant_64(kNan64) : a_.constant_32(kNan32));
    return;
  }
  const Place nan = a_.constant(is_double ? repeated(kNan64) : repeated(kNan32));
  a_.vector(is_double ? vcmppd : vcmpps, kScratch3, number, Source::ymm(number), kUnordered);
  a_.vector(is_double ? vblendvpd : vblendvps, number, number, nan, kScratch3 << 4);
}

/// Writes it as it is, and a second result with it: one comparison looks at both.
void VectorCache::write_deferred(int number) {
  const Entry& entry = entries_[static_cast<std::size_t>(number)];
  const bool is_double = plan_.registers()[entry.name.reg].width == 8;
  int second = number;
  for (int i = 0; i < kVectors && second == number; ++i) {
    const Entry& other = entries_[static_cast<std::size_t>(i)];
    const bool is_same = i != number && other.used && other.dirty && other.raw && !other.pinned &&
                         other.next == kAtEnd &&
                         (plan_.registers()[other.name.reg].width == 8) == is_double;
    if (is_same) second = i;
  }
  const VectorCode compare = is_double ? vcmppd : vcmpps;
  if (a_.has_512()) {
    a_.strip(compare, kMask, number, Source::ymm(second), kUnordered);
    a_.vector(korw, kNanMask, kNanMask, Source::ymm(kMask));
  } else {
    a_.vector(compare, kScratch3, number, Source::ymm(second), kUnordered);
    a_.vector(vpor, kNans, kNans, Source::ymm(kScratch3));
  }
  store(number);
  if (second != number) store(second);
}

void VectorCache::write(int number) {
  const Entry& entry = entries_[static_cast<std::size_t>(number)];
  if (entry.raw && defers_ && entry.next == kAtEnd) return write_deferred(number);
  make_canonical(number);
  store(number);
}

void VectorCache::store(int number) {
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  if (entry.raw) deferred_.push_back(entry.name.reg);
  const Place place = home(entry.name.reg, entry.name.half);
  if (kept_ != nullptr && kept_->has(entry.name.reg)) {
    const bool wide = plan_.registers()[entry.name.reg].width == 8;
    store_running(a_, number, place, strip_ * lanes_ + entry.name.half * (lanes_ / 2), wide);
  } else {
    a_.strip(vmovups_store, number, 0, place);
  }
  entry.dirty = false;
}

void VectorCache::load(const Item& item, std::size_t i, int half, int number) {
  const std::uint32_t reg = item.operation->in[i];
  const int slot = item.in_slots[i];
  if (slot == kNoSlot) {
    a_.strip(vmovups, number, 0, home(reg, half));
    return;
  }
  const unsigned width = plan_.registers()[reg].width;
  const int first = strip_ * lanes_ + half * (lanes_ / 2);
  if (const std::optional<std::uint64_t> known = item.in_numbers[i]) {
    LaneShape lanes = shapes_[item.in_shapes[i]];
    for (std::uint64_t& lane : lanes) lane += *known;
    a_.strip(vmovups, number, 0, differences(a_, lanes, width, first));
    return;
  }
  a_.strip(width == 8 ? vpbroadcastq : vpbroadcastd, number, 0, slot_place(a_, slot));
  if (item.in_shapes[i] == kUniform) return;
  const Place more = differences(a_, shapes_[item.in_shapes[i]], width, first);
  a_.strip(width == 8 ? vpaddq : vpaddd, number, number, more);
}

int VectorCache::use(const Item& item, std::size_t i, int half, bool raw) {
  const VectorName name{item.operation->in[i], item.in_slots[i], half};
  int number = find(name);
  if (number < 0) {
    number = take();
    load(item, i, half, number);
    entries_[static_cast<std::size_t>(number)] = {.used = true, .name = name};
  }
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  entry.pinned = true;
  entry.next = item.in_next[i];
  if (!raw) make_canonical(number);
  return number;
}

Source VectorCache::use_once(const Item& item, int at, std::size_t i, int half, bool raw) {
  const bool soon = item.in_next[i] - at < kSoon;
  if (soon || item.in_slots[i] != kNoSlot || find({item.operation->in[i], kNoSlot, half}) >= 0) {
    return Source::ymm(use(item, i, half, raw));
  }
  return home(item.operation->in[i], half);
}

int VectorCache::define(const Item& item, std::size_t i, int half, bool raw) {
  const VectorName name{item.operation->out[i], kNoSlot, half};
  // An older value of the register is not read any more.
  if (const int old = find(name); old >= 0) entries_[static_cast<std::size_t>(old)].name.half = -1;
  const int number = take();
  entries_[static_cast<std::size_t>(number)] = {true, true, true, raw, name, item.out_next[i]};
  return number;
}

int VectorCache::use_as_result(const Item& item, std::size_t from, std::size_t i, int half,
                               bool raw) {
  const int source = use(item, from, half, raw);
  Entry& entry = entries_[static_cast<std::size_t>(source)];
  if (entry.next != kNever) {
    const int copy = define(item, i, half, raw);
    a_.strip(vmovups, copy, 0, Source::ymm(source));
    return copy;
  }
  const VectorName name{item.operation->out[i], kNoSlot, half};
  if (const int old = find(name); old >= 0) entries_[static_cast<std::size_t>(old)].name.half = -1;
  entry = {true, true, true, raw, name, item.out_next[i]};
  return source;
}

void load_running(Assembler& assembler, int first) {
  const auto offset = static_cast<std::int64_t>(offsetof(CompiledState, mask));
  assembler.vector(kmovw, kRunning, 0, at(kState, offset + first / 8));
}

/// Loads what lies there and stores it whole: the CPU hands no load what a masked store has
/// written.
void store_running(Assembler& assembler, int vector, Place place, int first, bool wide) {
  load_running(assembler, first);
  assembler.strip(vmovups, kBlend, 0, place);
  assembler.strip(masked(wide ? vblendmpd : vblendmps, kRunning), kBlend, kBlend,
                  Source::ymm(vector));
  assembler.strip(vmovups_store, kBlend, 0, place);
}

Place number_place(Assembler& assembler, const NumberPlace& number, unsigned width) {
  if (!number.known) return slot_place(assembler, number.slot);
  return width == 8 ? assembler.constant_64(*number.known)
                    : assembler.constant_32(static_cast<std::uint32_t>(*number.known));
}

void write_lanes(Assembler& assembler, const RegisterInfo& reg, const NumberPlace& place_of_number,
                 const LaneShape* shape, bool masked) {
  const Place number = number_place(assembler, place_of_number, reg.width);
  if (reg.width == 0) {
    assembler.mov(rax, number, 4);
    if (masked) {
      assembler.mov(rcx, at(kFrame, reg.offset), 4);
      assembler.bit_xor(rax, rcx, 4);
      assembler.bit_and(rax, at(kState, offsetof(CompiledState, mask)), 4);
      assembler.bit_xor(rax, rcx, 4);
    }
    assembler.store(at(kFrame, reg.offset), rax, 4);
    return;
  }
  const bool wide = reg.width == 8;
  const int lanes = strip_lanes(assembler) / (wide ? 2 : 1);
  assembler.strip(wide ? vpbroadcastq : vpbroadcastd, 0, 0, number);
  for (int lane = 0; lane < 32; lane += lanes) {
    int value = 0;
    if (shape != nullptr) {
      value = 1;
      assembler.strip(wide ? vpaddq : vpaddd, 1, 0,
                      differences(assembler, *shape, reg.width, lane));
    }
    const Place place = at(kFrame, std::int64_t{reg.offset} + lane * reg.width);
    if (masked) {
      store_running(assembler, value, place, lane, wide);
    } else {
      assembler.strip(vmovups_store, value, 0, place);
    }
  }
}

}  // namespace tilescope::emulator::compiled
