#include "emulator/compiled/assembler.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace tilescope::emulator::compiled {

void Assembler::word(std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) byte(static_cast<unsigned>(value >> (8 * i)) & 0xff);
}

Label Assembler::label() {
  labels_.push_back(~std::size_t{0});
  return {static_cast<std::uint32_t>(labels_.size() - 1)};
}

void Assembler::bind(Label label) {
  constexpr std::uint8_t kJump = 0xe9;
  if (!jumps_.empty() && jumps_.back().target == label.number && last_bound_ != code_.size()) {
    const std::size_t displacement = jumps_.back().at;
    if (displacement + 4 == code_.size() && code_[displacement - 1] == kJump) {
      code_.resize(displacement - 1);
      jumps_.pop_back();
    }
  }
  last_bound_ = code_.size();
  labels_[label.number] = code_.size();
}

/// ModRM, SIB and displacement.
void Assembler::operand(unsigned reg, const Source& source, unsigned immediate_bytes, int unit) {
  const unsigned middle = (reg & 7) << 3;
  if (source.is_register) {
    byte(0xc0 | middle | (source.reg & 7u));
    return;
  }
  const Place& place = source.place;
  if (place.is_constant) {
    byte(0x05 | middle);
    constant_uses_.push_back(
        {code_.size(), place.constant, static_cast<std::uint8_t>(immediate_bytes)});
    word(0, 4);
    return;
  }
  const unsigned base = place.base & 7u;
  const std::int32_t units = place.displacement / unit;
  const bool is_short = place.displacement % unit == 0 && units >= -128 && units <= 127;
  byte((is_short ? 0x40 : 0x80) | middle | (place.scale != 0 ? 4 : base));
  if (place.scale != 0) {
    byte(static_cast<unsigned>(std::countr_zero(place.scale)) << 6 | (place.index & 7u) << 3 |
         base);
  } else if (base == 4) {
    byte(0x24);  // rsp and r12 need a SIB
  }
  word(static_cast<std::uint32_t>(is_short ? units : place.displacement), is_short ? 1 : 4);
}

/// An instruction with a ModRM; an opcode above 255 begins with 0f.
void Assembler::arithmetic(unsigned opcode, unsigned reg, Source source, unsigned bytes,
                           unsigned immediate_bytes, bool byte_register) {
  unsigned rex = bytes == 8 ? 8 : 0;
  if (reg >= 8) rex |= 4;
  const unsigned base = source.is_register ? source.reg : source.place.base;
  if (base >= 8 && !(!source.is_register && source.place.is_constant)) rex |= 1;
  if (!source.is_register && source.place.scale != 0 && source.place.index >= 8) rex |= 2;
  if (rex != 0 || byte_register) byte(0x40 | rex);
  if (opcode > 0xff) byte(0x0f);
  byte(opcode & 0xff);
  operand(reg, source, immediate_bytes);
}

void Assembler::mov(Gpr to, Source from, unsigned bytes) {
  arithmetic(0x8b, to, from, bytes);
}
void Assembler::load_narrow(Gpr to, Place from, unsigned bytes, bool sign_extend) {
  arithmetic((sign_extend ? 0x0fbeu : 0x0fb6u) + (bytes == 2 ? 1 : 0), to, from, 4);
}
void Assembler::store(Place to, Gpr from, unsigned bytes) {
  if (bytes == 2) byte(0x66);
  arithmetic(bytes == 1 ? 0x88 : 0x89, from, to, bytes, 0, bytes == 1);
}
void Assembler::mov_constant(Gpr to, std::uint64_t value) {
  if (value <= 0xffffffffu) {
    if (to >= 8) byte(0x41);
    byte(0xb8 | (to & 7u));
    word(value, 4);
    return;
  }
  byte(to >= 8 ? 0x49 : 0x48);
  byte(0xb8 | (to & 7u));
  word(value, 8);
}
void Assembler::store_constant(Place to, std::uint64_t value, unsigned bytes) {
  const auto low = static_cast<std::int32_t>(value);
  if (bytes == 8 && static_cast<std::int64_t>(value) != std::int64_t{low}) {
    mov_constant(rdx, value);
    return store(to, rdx, 8);
  }
  arithmetic(0xc7, 0, to, bytes, 4);
  word(static_cast<std::uint32_t>(low), 4);
}
void Assembler::add_constant(Gpr to, std::uint64_t value, unsigned bytes) {
  if (bytes == 4)
    value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  if (value == 0) return;
  const auto is_short = static_cast<std::int64_t>(value) == static_cast<std::int32_t>(value);
  if (!is_short) {
    mov_constant(rdx, value);
    add(to, rdx, bytes);
    return;
  }
  with_constant(0, to, static_cast<std::int32_t>(value), bytes);
}
void Assembler::with_constant(unsigned operation, Source to, std::int32_t value, unsigned bytes) {
  const bool is_short = value >= -128 && value <= 127;
  arithmetic(is_short ? 0x83 : 0x81, operation, to, bytes, is_short ? 1 : 4);
  word(static_cast<std::uint32_t>(value), is_short ? 1 : 4);
}
int Assembler::dense(int number) {
  const auto i = static_cast<std::size_t>(number);
  if (i >= dense_.size()) dense_.resize(i + 1, -1);
  if (dense_[i] < 0) dense_[i] = next_dense_++;
  return dense_[i];
}
void Assembler::prefetch(Place place) {
  arithmetic(0x0f18, 1, place, 4);
}
void Assembler::prefetch_written(Place place) {
  arithmetic(0x0f0d, 1, place, 4);
}
void Assembler::divide(Gpr by, bool is_signed, unsigned bytes) {
  if (is_signed) {  // rdx: the sign of rax
    if (bytes == 8) byte(0x48);
    byte(0x99);
  } else {
    mov_constant(rdx, 0);
  }
  arithmetic(0xf7, is_signed ? 7 : 6, by, bytes);
}
void Assembler::compare_constant(Source a, std::int32_t value, unsigned bytes) {
  with_constant(7, a, value, bytes);
}
void Assembler::test(Gpr a, Gpr b, unsigned bytes) {
  arithmetic(0x85, b, a, bytes);
}
void Assembler::test_low_byte(Gpr a, std::uint8_t bits) {
  arithmetic(0xf6, 0, a, 4, 1, true);
  byte(bits);
}
void Assembler::add_to(Place to, std::int32_t value, unsigned bytes) {
  with_constant(0, to, value, bytes);
}
void Assembler::add_to(Place to, Gpr value, unsigned bytes) {
  arithmetic(0x01, value, to, bytes);
}
void Assembler::add_one(Gpr base, std::int32_t displacement) {
  const std::size_t at = code_.size();
  code_.resize(at + kAddOneBytes);
  replace_add_one(at, base, displacement);
}
void Assembler::replace_add_one(std::size_t at, Gpr base, std::int32_t displacement) {
  const auto low = static_cast<std::uint8_t>(base & 7u);
  const std::uint8_t begin[] = {static_cast<std::uint8_t>(base >= 8 ? 0x49 : 0x48), 0x83,
                                static_cast<std::uint8_t>(0x80 | low)};
  std::memcpy(code_.data() + at, begin, sizeof begin);
  std::memcpy(code_.data() + at + sizeof begin, &displacement, sizeof displacement);
  code_[at + kAddOneBytes - 1] = 1;
}
void Assembler::count_ones(Gpr to, Source from, unsigned bytes) {
  byte(0xf3);
  arithmetic(0x0fb8, to, from, bytes);
}
void Assembler::negate(Gpr a, unsigned bytes) {
  arithmetic(0xf7, 3, a, bytes);
}
void Assembler::complement(Gpr a, unsigned bytes) {
  arithmetic(0xf7, 2, a, bytes);
}
void Assembler::and_constant(Gpr a, std::int32_t value, unsigned bytes) {
  with_constant(4, a, value, bytes);
}
void Assembler::shift_left(Gpr a, std::uint8_t by, unsigned bytes) {
  arithmetic(0xc1, 4, a, bytes, 1);
  byte(by);
}
void Assembler::shift_right(Gpr a, std::uint8_t by, unsigned bytes) {
  arithmetic(0xc1, 5, a, bytes, 1);
  byte(by);
}
void Assembler::shift_right_signed(Gpr a, std::uint8_t by, unsigned bytes) {
  arithmetic(0xc1, 7, a, bytes, 1);
  byte(by);
}
void Assembler::shift_by_cl(Gpr a, int kind, unsigned bytes) {
  arithmetic(0xd3, static_cast<unsigned>(kind), a, bytes);
}
void Assembler::sign_extend_32(Gpr to, Source from) {
  arithmetic(0x63, to, from, 8);
}
void Assembler::address(Gpr to, Place place) {
  arithmetic(0x8d, to, place, 8);
}
void Assembler::address(Gpr to, Label label) {
  byte(to >= 8 ? 0x4c : 0x48);
  byte(0x8d);
  byte(0x05 | (to & 7u) << 3);
  jumps_.push_back({code_.size(), label.number, 0});
  word(0, 4);
}
void Assembler::set(Condition condition, Gpr to) {
  arithmetic(0x0f90u + static_cast<unsigned>(condition), 0, to, 4, 0, true);
  arithmetic(0x0fb6, to, to, 4, 0, true);
}
void Assembler::move_if(Condition condition, Gpr to, Gpr from, unsigned bytes) {
  arithmetic(0x0f40u + static_cast<unsigned>(condition), to, from, bytes);
}
void Assembler::jump(Label to) {
  byte(0xe9);
  jumps_.push_back({code_.size(), to.number, 0});
  word(0, 4);
}
void Assembler::jump(Condition condition, Label to) {
  byte(0x0f);
  byte(0x80u | static_cast<unsigned>(condition));
  jumps_.push_back({code_.size(), to.number, 0});
  word(0, 4);
}
void Assembler::jump_to(Place address) {
  arithmetic(0xff, 4, address, 4);
}
void Assembler::call(Gpr function) {
  arithmetic(0xff, 2, function, 4);
}
void Assembler::push(Gpr reg) {
  if (reg >= 8) byte(0x41);
  byte(0x50 | (reg & 7u));
}
void Assembler::pop(Gpr reg) {
  if (reg >= 8) byte(0x41);
  byte(0x58 | (reg & 7u));
}
void Assembler::ret() {
  byte(0xc3);
}

/// With the three-byte prefix always.
void Assembler::vector_operation(VectorCode code, unsigned to, unsigned a, const Source& b,
                                 unsigned immediate_bytes) {
  if (code.is_512) return operation_512(code, to, a, b, immediate_bytes);
  const bool is_constant = !b.is_register && b.place.is_constant;
  const unsigned base = b.is_register ? b.reg : b.place.base;
  byte(0xc4);
  byte((to >= 8 ? 0u : 0x80u) | 0x40u | (base >= 8 && !is_constant ? 0u : 0x20u) | code.table);
  byte((code.wide != 0 ? 0x80u : 0u) | ((~a & 15u) << 3) | (code.length != 0 ? 4u : 0u) |
       code.prefix);
  byte(code.code);
  operand(to, b, immediate_bytes);
}

/// Registers have five bits, all turned over where they do not stand in the ModRM.
void Assembler::operation_512(VectorCode code, unsigned to, unsigned a, const Source& b,
                              unsigned immediate_bytes) {
  const bool is_constant = !b.is_register && b.place.is_constant;
  const unsigned base = b.is_register ? unsigned{b.reg} : is_constant ? 0u : unsigned{b.place.base};
  const auto zero = [](unsigned number, unsigned bit) { return (number >> bit & 1u) ^ 1u; };
  byte(0x62);
  byte(zero(to, 3) << 7 | zero(base, 4) << 6 | zero(base, 3) << 5 | zero(to, 4) << 4 | code.table);
  byte(unsigned{code.wide_512} << 7 | (~a & 15u) << 3 | 4u | code.prefix);
  byte(unsigned{code.length} << 5 | (code.is_repeated ? 0x10u : 0u) | zero(a, 4) << 3 | code.mask);
  byte(code.code);
  const int element = code.wide_512 != 0 ? 8 : 4;
  operand(to, b, immediate_bytes, code.is_repeated ? element : int{code.bytes_512});
}
void Assembler::vector(VectorCode code, int to, int a, Source b) {
  vector_operation(code, static_cast<unsigned>(to), static_cast<unsigned>(a), b, 0);
}
void Assembler::vector(VectorCode code, int to, int a, Source b, std::uint8_t immediate) {
  vector_operation(code, static_cast<unsigned>(to), static_cast<unsigned>(a), b, 1);
  byte(immediate);
}
void Assembler::strip(VectorCode code, int to, int a, Source b) {
  vector(of_strip(code), to, a, b);
}
void Assembler::strip(VectorCode code, int to, int a, Source b, std::uint8_t immediate) {
  vector(of_strip(code), to, a, b, immediate);
}
void Assembler::strip_shift(VectorCode code, int operation, int to, int from, std::uint8_t by) {
  vector_operation(of_strip(code), static_cast<unsigned>(operation), static_cast<unsigned>(to),
                   Source::ymm(from), 1);
  byte(by);
}
void Assembler::vzeroupper() {
  byte(0xc5);
  byte(0xf8);
  byte(0x77);
}

Place Assembler::constant(std::string_view bytes) {
  const auto [found, fresh] = constant_numbers_.try_emplace(
      std::string(bytes), static_cast<std::uint32_t>(constants_.size()));
  if (fresh) constants_.emplace_back(bytes);
  Place place;
  place.is_constant = true;
  place.constant = found->second;
  return place;
}
Place Assembler::constant_32(std::uint32_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return constant({bytes, sizeof value});
}
Place Assembler::constant_64(std::uint64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return constant({bytes, sizeof value});
}

void Assembler::leave_out(std::size_t begin, std::size_t end) {
  if (begin < end) left_out_.emplace_back(begin, end);
}

/// Nothing is left of what has been left out.
void Assembler::compact() {
  if (left_out_.empty()) return;
  std::sort(left_out_.begin(), left_out_.end());
  std::vector<std::size_t> moves;  // by how much code behind each of them moves
  std::size_t kept = left_out_.front().first;
  for (std::size_t i = 0; i < left_out_.size(); ++i) {
    const std::size_t begin = left_out_[i].second;
    const std::size_t end = i + 1 < left_out_.size() ? left_out_[i + 1].first : code_.size();
    moves.push_back(begin - kept);
    std::memmove(code_.data() + kept, code_.data() + begin, end - begin);
    kept += end - begin;
  }
  code_.resize(kept);
  const auto move = [&](std::size_t& place) {
    const auto behind =
        std::upper_bound(left_out_.begin(), left_out_.end(), place,
                         [](std::size_t at, const auto& range) { return at < range.second; });
    if (behind != left_out_.begin())
      place -= moves[static_cast<std::size_t>(behind - left_out_.begin()) - 1];
  };
  for (std::size_t& label : labels_) {
    if (label != ~std::size_t{0}) move(label);
  }
  for (auto* fixups : {&jumps_, &constant_uses_}) {
    for (Fixup& fixup : *fixups) move(fixup.at);
  }
  left_out_.clear();
}

std::vector<std::uint8_t> Assembler::finish() {
  compact();
  const auto patch = [&](const Fixup& fixup, std::size_t target) {
    const auto distance = static_cast<std::int32_t>(
        static_cast<std::int64_t>(target) - static_cast<std::int64_t>(fixup.at + 4 + fixup.behind));
    std::memcpy(code_.data() + fixup.at, &distance, sizeof distance);
  };
  for (const Fixup& jump : jumps_) patch(jump, labels_[jump.target]);
  std::vector<std::size_t> places;
  for (const std::string& bytes : constants_) {
    while (code_.size() % (bytes.size() > 32 ? 64 : 32) != 0) byte(0xcc);
    places.push_back(code_.size());
    code_.insert(code_.end(), bytes.begin(), bytes.end());
  }
  for (const Fixup& use : constant_uses_) patch(use, places[use.target]);
  return std::exchange(code_, {});
}

}  // namespace tilescope::emulator::compiled
