// An encoder of the x86-64 instructions that compiled kernels consist of: integers, jumps, AVX2,
// and AVX-512 where the CPU has it.
//
//     Assembler a;
//     a.mov(rax, at(rbx, 8), 8);
//     const Label out = a.label();
//     a.jump(Condition::below, out);
//     a.vector(vaddps, 0, 1, at(r12, 64));   // ymm0 = ymm1 + [r12 + 64]
//     a.bind(out);
//     std::vector<std::uint8_t> bytes = a.finish();
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::emulator::compiled {

enum Gpr : std::uint8_t {
  rax,
  rcx,
  rdx,
  rbx,
  rsp,
  rbp,
  rsi,
  rdi,
  r8,
  r9,
  r10,
  r11,
  r12,
  r13,
  r14,
  r15,
};

/// By the number in the instruction's code; each is the opposite of its neighbour.
enum class Condition : std::uint8_t {
  below = 2,
  above_equal = 3,
  equal = 4,
  not_equal = 5,
  below_equal = 6,
  above = 7,
  negative = 8,
  less = 12,
  greater_equal = 13,
  less_equal = 14,
  greater = 15,
};
constexpr Condition opposite(Condition c) {
  return static_cast<Condition>(static_cast<unsigned>(c) ^ 1u);
}

struct Label {
  std::uint32_t number;
};

/// Memory: a register plus a displacement, or a constant that lies behind the code. For integers
/// also plus another register times 1, 4 or 8.
struct Place {
  Gpr base = rax;
  std::int32_t displacement = 0;
  std::uint32_t constant = 0;
  bool is_constant = false;
  Gpr index = rax;
  std::uint8_t scale = 0;  ///< 0: there is no index
};
constexpr Place at(Gpr base, std::int64_t displacement = 0) {
  return {base, static_cast<std::int32_t>(displacement)};
}

constexpr Place at(Gpr base, std::int64_t displacement, Gpr index, unsigned scale) {
  Place place = at(base, displacement);
  place.index = index;
  place.scale = static_cast<std::uint8_t>(scale);
  return place;
}

/// The last operand of an instruction: a register or memory.
struct Source {
  Source(Gpr number) : reg(number) {}                          // NOLINT: as in assembly language
  Source(Place memory) : is_register(false), place(memory) {}  // NOLINT
  static Source ymm(int number) { return static_cast<Gpr>(number); }
  bool is_register = true;
  Gpr reg = rax;
  Place place;
};
inline Source ymm(int number) {
  return Source::ymm(number);
}

/// A vector instruction: the table of opcodes, prefix, REX.W, length (0: 128 bits, 1: 256, 2: 512),
/// opcode. AVX-512 has its own form of most: the REX.W of that, the opcode where it differs, and
/// the bytes of memory that the instruction reads or writes, in which its displacements count.
struct VectorCode {
  std::uint8_t table, prefix, wide, length, code;
  std::uint8_t wide_512 = 0;
  std::uint8_t bytes_512 = 64;
  std::uint8_t code_512 = 0;  ///< 0: the same
  bool is_512 = false;        ///< in that form, of whatever length
  std::uint8_t mask = 0;      ///< only for the lanes whose bits are in this mask register
  bool is_repeated = false;   ///< the operand in memory is one element for all lanes
};

/// The form of AVX-512: 512 bits instead of 256.
constexpr VectorCode in_512(VectorCode code) {
  code.is_512 = true;
  if (code.length == 1) code.length = 2;
  if (code.code_512 != 0) code.code = code.code_512;
  return code;
}
constexpr VectorCode masked(VectorCode code, int mask) {
  code.mask = static_cast<std::uint8_t>(mask);
  return code;
}
constexpr VectorCode repeated(VectorCode code) {
  code.is_repeated = true;
  return code;
}

// clang-format off
inline constexpr VectorCode
    vmovups{1, 0, 0, 1, 0x10}, vmovups_store{1, 0, 0, 1, 0x11},
    vmovups_half{1, 0, 0, 0, 0x10, 0, 16}, vmovups_half_store{1, 0, 0, 0, 0x11, 0, 16},
    vaddps{1, 0, 0, 1, 0x58}, vsubps{1, 0, 0, 1, 0x5c}, vmulps{1, 0, 0, 1, 0x59},
    vdivps{1, 0, 0, 1, 0x5e}, vsqrtps{1, 0, 0, 1, 0x51},
    vaddpd{1, 1, 0, 1, 0x58, 1}, vsubpd{1, 1, 0, 1, 0x5c, 1}, vmulpd{1, 1, 0, 1, 0x59, 1},
    vdivpd{1, 1, 0, 1, 0x5e, 1}, vsqrtpd{1, 1, 0, 1, 0x51, 1},
    vfmadd231ps{2, 1, 0, 1, 0xb8}, vfmadd231pd{2, 1, 1, 1, 0xb8, 1},
    vcmpps{1, 0, 0, 1, 0xc2}, vcmppd{1, 1, 0, 1, 0xc2, 1},
    vblendvps{3, 1, 0, 1, 0x4a}, vblendvpd{3, 1, 0, 1, 0x4b},
    vpaddd{1, 1, 0, 1, 0xfe}, vpsubd{1, 1, 0, 1, 0xfa}, vpmulld{2, 1, 0, 1, 0x40},
    vpaddq{1, 1, 0, 1, 0xd4, 1}, vpsubq{1, 1, 0, 1, 0xfb, 1},
    vpmuludq{1, 1, 0, 1, 0xf4, 1}, vpmuldq{2, 1, 0, 1, 0x28, 1},
    vpand{1, 1, 0, 1, 0xdb}, vpor{1, 1, 0, 1, 0xeb}, vpxor{1, 1, 0, 1, 0xef},
    vpsllvd{2, 1, 0, 1, 0x47}, vpsrlvd{2, 1, 0, 1, 0x45}, vpsravd{2, 1, 0, 1, 0x46},
    vpsllvq{2, 1, 1, 1, 0x47, 1}, vpsrlvq{2, 1, 1, 1, 0x45, 1},
    vpsrlq_by{1, 1, 0, 1, 0x73, 1},
    vpcmpeqd{1, 1, 0, 1, 0x76}, vpcmpgtd{1, 1, 0, 1, 0x66},
    vpcmpeqq{2, 1, 0, 1, 0x29}, vpcmpgtq{2, 1, 0, 1, 0x37},
    vpminsd{2, 1, 0, 1, 0x39}, vpminud{2, 1, 0, 1, 0x3b},
    vpmaxsd{2, 1, 0, 1, 0x3d}, vpmaxud{2, 1, 0, 1, 0x3f},
    vptest{2, 1, 0, 1, 0x17}, vmovmskps{1, 0, 0, 1, 0x50}, vmovmskpd{1, 1, 0, 1, 0x50},
    vbroadcastss{2, 1, 0, 1, 0x18, 0, 4}, vbroadcastss_half{2, 1, 0, 0, 0x18, 0, 4},
    vbroadcastsd{2, 1, 0, 1, 0x19, 1, 8},
    vpbroadcastd{2, 1, 0, 1, 0x58, 0, 4}, vpbroadcastq{2, 1, 0, 1, 0x59, 1, 8},
    vmovd{1, 1, 0, 0, 0x6e, 0, 4}, vmovq{1, 1, 1, 0, 0x6e, 1, 8},
    vpinsrd{3, 1, 0, 0, 0x22, 0, 4}, vpinsrq{3, 1, 1, 0, 0x22, 1, 8},
    // The upper half: of four or eight words.
    vinserti128{3, 1, 0, 1, 0x38, 1, 32, 0x3a}, vextracti128{3, 1, 0, 1, 0x39, 1, 32, 0x3b},
    vpmovzxdq{2, 1, 0, 1, 0x35, 0, 32}, vpmovsxdq{2, 1, 0, 1, 0x25, 0, 32},
    vpmovzxbd{2, 1, 0, 1, 0x31, 0, 16}, vpmovsxbd{2, 1, 0, 1, 0x21, 0, 16},
    vpmovzxwd{2, 1, 0, 1, 0x33, 0, 32}, vpmovsxwd{2, 1, 0, 1, 0x23, 0, 32},
    vcvtdq2ps{1, 0, 0, 1, 0x5b}, vroundpd{3, 1, 0, 1, 0x09, 1},
    vshufps{1, 0, 0, 1, 0xc6}, vunpcklps{1, 0, 0, 1, 0x14}, vunpckhps{1, 0, 0, 1, 0x15}, vpermq{3, 1, 1, 1, 0x00},
    vpermd{2, 1, 0, 1, 0x36},
    // AVX-512 only:
    vmovups_256{1, 0, 0, 1, 0x10, 0, 32, 0, true}, vinserti32x4{3, 1, 0, 1, 0x38, 0, 16},
    vpmovqd{2, 2, 0, 1, 0x35, 0, 32}, vpmullq{2, 1, 1, 1, 0x40, 1}, vpermi2d{2, 1, 0, 1, 0x76},
    vpcmpd{3, 1, 0, 1, 0x1f}, vpcmpud{3, 1, 0, 1, 0x1e},
    vpcmpq{3, 1, 1, 1, 0x1f, 1}, vpcmpuq{3, 1, 1, 1, 0x1e, 1},
    vptestmd{2, 1, 0, 1, 0x27}, vptestmq{2, 1, 1, 1, 0x27, 1}, vptestnmd{2, 2, 0, 1, 0x27}, vpternlogd{3, 1, 0, 1, 0x25},
    vblendmps{2, 1, 0, 1, 0x65}, vblendmpd{2, 1, 1, 1, 0x65, 1},
    vpmaxuq{2, 1, 1, 1, 0x3f, 1}, vporq{1, 1, 0, 1, 0xeb, 1},
    // Mask registers:
    kxorw{1, 0, 0, 1, 0x47}, korw{1, 0, 0, 1, 0x45}, kunpckbw{1, 1, 0, 1, 0x4b},
    kortestw{1, 0, 0, 0, 0x98}, kshiftrw{3, 1, 1, 0, 0x30},
    kmovw{1, 0, 0, 0, 0x90}, kmovw_store{1, 0, 0, 0, 0x91}, kmovw_from{1, 0, 0, 0, 0x92},
    kmovw_to{1, 0, 0, 0, 0x93};
// clang-format on

class Assembler {
 public:
  explicit Assembler(bool has_512) : has_512_(has_512) {}

  // --- places in the code ---
  Label label();
  /// A jump to what follows it is not made.
  void bind(Label label);
  /// The same place as a label that is bound.
  void bind_to(Label label, Label bound) { labels_[label.number] = labels_[bound.number]; }
  /// The place of a bound label, counted from the begin of the code.
  std::size_t offset(Label label) const { return labels_[label.number]; }

  // --- integers; `bytes` is the width of the operation: 4 or 8 ---
  void mov(Gpr to, Source from, unsigned bytes);
  void load_narrow(Gpr to, Place from, unsigned bytes, bool sign_extend);  ///< 1 or 2, to 32 bits
  void store(Place to, Gpr from, unsigned bytes);                          ///< 1, 2, 4 or 8
  void mov_constant(Gpr to, std::uint64_t value);
  void store_constant(Place to, std::uint64_t value, unsigned bytes);  ///< 4 or 8; may use rdx
  void add(Gpr to, Source from, unsigned bytes) { arithmetic(0x03, to, from, bytes); }
  void subtract(Gpr to, Source from, unsigned bytes) { arithmetic(0x2b, to, from, bytes); }
  void bit_and(Gpr to, Source from, unsigned bytes) { arithmetic(0x23, to, from, bytes); }
  void bit_or(Gpr to, Source from, unsigned bytes) { arithmetic(0x0b, to, from, bytes); }
  void bit_xor(Gpr to, Source from, unsigned bytes) { arithmetic(0x33, to, from, bytes); }
  void compare(Gpr a, Source b, unsigned bytes) { arithmetic(0x3b, a, b, bytes); }
  void multiply(Gpr to, Source from, unsigned bytes) { arithmetic(0x0faf, to, from, bytes); }
  /// rax and rdx become quotient and remainder of rax.
  void divide(Gpr by, bool is_signed, unsigned bytes);
  /// to += value; any 64-bit value (may use rdx).
  void add_constant(Gpr to, std::uint64_t value, unsigned bytes);
  void compare_constant(Source a, std::int32_t value, unsigned bytes);
  void test(Gpr a, Gpr b, unsigned bytes);
  void test_low_byte(Gpr a, std::uint8_t bits);
  void add_to(Place to, std::int32_t value, unsigned bytes = 8);
  void add_to(Place to, Gpr value, unsigned bytes);
  // Adds 1 to 8 bytes at a register plus a displacement, by an instruction whose place may be
  // replaced later, or which may be left out.
  void add_one(Gpr base, std::int32_t displacement);
  void replace_add_one(std::size_t at, Gpr base, std::int32_t displacement);
  void leave_out_add_one(std::size_t at) { leave_out(at, at + kAddOneBytes); }
  void lock() { byte(0xf0); }  ///< the next instruction is one step for all threads
  void negate(Gpr a, unsigned bytes);
  void complement(Gpr a, unsigned bytes);
  void and_constant(Gpr a, std::int32_t value, unsigned bytes);
  void count_ones(Gpr to, Source from, unsigned bytes);
  // The number of the lowest and the highest one of a number that is not 0.
  void lowest_one(Gpr to, Source from, unsigned bytes) { arithmetic(0x0fbc, to, from, bytes); }
  void highest_one(Gpr to, Source from, unsigned bytes) { arithmetic(0x0fbd, to, from, bytes); }
  void shift_left(Gpr a, std::uint8_t by, unsigned bytes);
  void shift_right(Gpr a, std::uint8_t by, unsigned bytes);
  void shift_right_signed(Gpr a, std::uint8_t by, unsigned bytes);
  void shift_by_cl(Gpr a, int kind, unsigned bytes);  ///< kind: 4 left, 5 right, 7 with the sign
  void sign_extend_32(Gpr to, Source from);           ///< to 64 bits
  void address(Gpr to, Place place);
  void address(Gpr to, Label label);
  // Fetch the cache line, to be read or to be written.
  void prefetch(Place place);
  void prefetch_written(Place place);
  void set(Condition condition, Gpr to);  ///< to becomes 0 or 1 (32 bits)
  void move_if(Condition condition, Gpr to, Gpr from, unsigned bytes);
  void jump(Label to);
  void jump(Condition condition, Label to);
  void jump_to(Place address);  ///< the address lies there
  void call(Gpr function);
  void push(Gpr reg);
  void pop(Gpr reg);
  void ret();

  // --- vectors ---
  /// to = f(a, b). For instructions with one source `a` is 0.
  void vector(VectorCode code, int to, int a, Source b);
  void vector(VectorCode code, int to, int a, Source b, std::uint8_t immediate);
  /// The same for vectors of a strip: 512 bits instead of 256 where the CPU has them.
  void strip(VectorCode code, int to, int a, Source b);
  void strip(VectorCode code, int to, int a, Source b, std::uint8_t immediate);
  bool has_512() const { return has_512_; }
  int strip_bytes() const { return has_512_ ? 64 : 32; }
  /// Shifts by a constant encode the operation in the place of a register.
  void strip_shift(VectorCode code, int operation, int to, int from, std::uint8_t by);
  void vzeroupper();

  /// Numbers from 0 on in the order in which they are first asked for.
  int dense(int number);
  /// One more of them, for which nobody else asks.
  int fresh_dense() { return next_dense_++; }
  /// How many of them there are.
  int dense_numbers() const { return next_dense_; }

  /// A constant of 4, 8, 32 or 64 bytes that lies behind the code.
  Place constant(std::string_view bytes);
  Place constant_32(std::uint32_t value);
  Place constant_64(std::uint64_t value);

  /// How long the code is.
  std::size_t size() const { return code_.size(); }
  /// The instructions there, between two places of the code so far, go when it is finished.
  void leave_out(std::size_t begin, std::size_t end);
  /// The code and its constants, which may lie anywhere.
  std::vector<std::uint8_t> finish();

 private:
  static constexpr std::size_t kAddOneBytes = 8;
  struct Fixup {
    std::size_t at;
    std::uint32_t target;
    std::uint8_t behind;  ///< bytes of the instruction behind the displacement
  };
  void compact();
  void byte(unsigned value) { code_.push_back(static_cast<std::uint8_t>(value)); }
  void word(std::uint64_t value, unsigned bytes);
  void arithmetic(unsigned opcode, unsigned reg, Source source, unsigned bytes,
                  unsigned immediate_bytes = 0, bool byte_register = false);
  /// `unit`: what short displacements count in.
  void operand(unsigned reg, const Source& source, unsigned immediate_bytes, int unit = 1);
  void vector_operation(VectorCode code, unsigned to, unsigned a, const Source& b,
                        unsigned immediate_bytes);
  void operation_512(VectorCode code, unsigned to, unsigned a, const Source& b,
                     unsigned immediate_bytes);
  VectorCode of_strip(VectorCode code) const { return has_512_ ? in_512(code) : code; }

  /// An operation of a register or memory with a constant, which is short where it can be.
  void with_constant(unsigned operation, Source to, std::int32_t value, unsigned bytes);

  bool has_512_;
  std::vector<int> dense_;  ///< by number; -1: it has none
  int next_dense_ = 0;
  std::vector<std::uint8_t> code_;
  std::vector<std::size_t> labels_;
  std::size_t last_bound_ = ~std::size_t{0};  ///< the place of the last label
  std::vector<Fixup> jumps_, constant_uses_;
  std::vector<std::pair<std::size_t, std::size_t>> left_out_;  ///< begins and ends
  std::vector<std::string> constants_;
  std::map<std::string, std::uint32_t, std::less<>> constant_numbers_;
};

}  // namespace tilescope::emulator::compiled
