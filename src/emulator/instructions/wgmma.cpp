// wgmma: matrix products of a warpgroup, B and perhaps A in shared memory. Each warp multiplies its
// 16 rows of A when it issues the instruction: the assembler may rename registers between products
// that are under way, so a later moment would be wrong. Observers learn when a chip may read.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "emulator/block.hpp"
#include "emulator/instructions/matrix_descriptor.hpp"
#include "emulator/instructions/matrix_multiply.hpp"
#include "emulator/lane_key.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::Type;

constexpr unsigned kRows = 16;  ///< of a warp
constexpr unsigned kMostColumns = 256;
constexpr unsigned kBytesAlongK = 32;  ///< of a dense operand
constexpr unsigned kPiece = 16;        ///< bytes that lie together

/// The plan of one warp's part.
struct WarpgroupPlan : MatrixPlan {
  std::uint32_t a_descriptor = kNone;  ///< register; kNone: A is in registers
  std::uint32_t b_descriptor = kNone;
  bool a_by_rows = false;  ///< MN-major: neighbours are rows of A, not elements along k
  bool b_by_columns = false;
  std::uint32_t accumulate = kNone;  ///< predicate; false: the products add up from zero
  std::uint32_t accumulate_flip = 0;
  /// By column of B: where it stands in the plan's matrix.
  std::vector<std::uint16_t> positions;
};

/// A tile in shared memory: the addresses of its pieces and their bytes.
struct Pieces {
  std::vector<std::uint32_t> addresses;
  std::vector<std::uint8_t> bytes;
};

/// The form of B: how its bytes are unpacked depends on nothing else.
struct RightForm {
  Type type, sum;
  unsigned rows, columns;
  bool by_columns, negative;
  friend bool operator==(const RightForm&, const RightForm&) = default;
};

struct WarpgroupWorkspace {
  Pieces a, b;
  std::vector<std::uint8_t> unpacked;    ///< the bytes of `right`...
  std::optional<RightForm> unpacked_as;  ///< ...and their form
  MatrixRight right;
  std::vector<std::uint32_t> words;
  std::uint32_t left[kRows * kBytesAlongK], sum[kRows * kMostColumns];
  std::uint16_t meets[kRows * kBytesAlongK];
};

unsigned element_bytes(Type type) {
  return type == Type::tf32 || type == Type::b1 ? 4 : ptx::bit_width(type) / 8;
}

std::uint32_t element(const std::uint8_t* piece, unsigned i, unsigned bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, piece + i * bytes, bytes);
  return value;
}

void report_miss(Context& w, const Code& c, std::uint32_t address, const char* operand) {
  report_access_fault(w, {.kind = FaultKind::out_of_bounds,
                          .instruction = c.id,
                          .warp = w.warp_index,
                          .lanes = w.mask,
                          .space = Space::shared,
                          .access = AccessKind::matrix_load,
                          .bytes = kPiece,
                          .address = address,
                          .object = {},
                          .object_bytes = 0,
                          .distance = 0,
                          .addresses = nullptr,
                          .operand = operand});
}

/// Reads the pieces at the addresses. Those outside the block's shared memory are zeros.
void read_pieces(Context& w, const Code& c, const char* operand, Pieces& pieces) {
  pieces.bytes.resize(pieces.addresses.size() * kPiece);
  std::uint8_t* to = pieces.bytes.data();
  bool reported = false;
  for (const std::uint32_t address : pieces.addresses) {
    if (std::uint64_t{address} + kPiece <= w.shared_bytes) {
      std::memcpy(to, w.shared + address, kPiece);
    } else {
      std::memset(to, 0, kPiece);
      if (!reported) report_miss(w, c, address, operand);
      reported = true;
    }
    to += kPiece;
  }
}

/// The warp's rows of A.
void read_left(Context& w, const Code& c, const WarpgroupPlan& plan, const MatrixDescriptor& tile,
               Pieces& pieces, std::uint32_t* matrix) {
  const unsigned bytes = element_bytes(plan.a_type), each = kPiece / bytes;
  const std::uint32_t first = w.warp_index % kWarpsPerGroup * kRows;
  pieces.addresses.clear();
  if (plan.a_by_rows) {
    for (std::uint32_t k = 0; k < plan.k; ++k) {
      for (unsigned g = 0; g < kRows / 8; ++g) {
        pieces.addresses.push_back(tile.mn_major(first / 8 + g, k));
      }
    }
  } else {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      for (unsigned k = 0; k < kBytesAlongK / kPiece; ++k) {
        pieces.addresses.push_back(tile.k_major(first + row, k));
      }
    }
  }
  read_pieces(w, c, "A", pieces);
  const std::uint8_t* piece = pieces.bytes.data();
  if (plan.a_by_rows) {
    for (unsigned k = 0; k < plan.k; ++k) {
      for (unsigned row = 0; row < kRows; ++row) {
        matrix[row * plan.k + k] = element(piece + row / 8 * kPiece, row % 8, bytes);
      }
      piece += kRows / 8 * kPiece;
    }
    return;
  }
  for (unsigned i = 0; i < kRows * kBytesAlongK / kPiece; ++i, piece += kPiece) {
    for (unsigned e = 0; e < each; ++e) *matrix++ = element(piece, e, bytes);
  }
}

/// B, unpacked unless the last product of this host thread had the same.
void read_right(Context& w, const Code& c, const WarpgroupPlan& plan, const MatrixDescriptor& tile,
                WarpgroupWorkspace& s) {
  const unsigned bytes = element_bytes(plan.b_type), each = kPiece / bytes;
  const unsigned along_k = plan.b_rows * bytes / kPiece;  // pieces, if K-major
  s.b.addresses.clear();
  if (plan.b_by_columns) {
    for (std::uint32_t k = 0; k < plan.b_rows; ++k) {
      for (std::uint32_t g = 0; g < plan.columns / 8; ++g) {
        s.b.addresses.push_back(tile.mn_major(g, k));
      }
    }
  } else {
    for (std::uint32_t n = 0; n < plan.columns; ++n) {
      for (std::uint32_t k = 0; k < along_k; ++k) s.b.addresses.push_back(tile.k_major(n, k));
    }
  }
  read_pieces(w, c, "B", s.b);
  const RightForm form{plan.b_type,  plan.d_type,       plan.b_rows,
                       plan.columns, plan.b_by_columns, plan.negative_b};
  if (s.unpacked_as == form && s.unpacked == s.b.bytes) return;
  s.words.resize(std::size_t{plan.b_rows} * plan.columns);
  const std::uint8_t* piece = s.b.bytes.data();
  if (plan.b_by_columns) {
    for (unsigned k = 0; k < plan.b_rows; ++k) {
      std::uint32_t* const row = s.words.data() + std::size_t{k} * plan.columns;
      for (unsigned n = 0; n < plan.columns; ++n) {
        row[plan.positions[n]] = element(piece + n / 8 * kPiece, n % 8, bytes);
      }
      piece += plan.columns / 8 * kPiece;
    }
  } else {
    for (unsigned n = 0; n < plan.columns; ++n) {
      std::uint32_t* to = s.words.data() + plan.positions[n];
      for (unsigned k = 0; k < along_k; ++k, piece += kPiece) {
        for (unsigned e = 0; e < each; ++e, to += plan.columns) *to = element(piece, e, bytes);
      }
    }
  }
  s.right.unpack(plan, s.words.data());
  s.unpacked = s.b.bytes;
  s.unpacked_as = form;
}

/// A descriptor, which is the same in all lanes; kNone: there is none. False if it is not the same.
bool read_descriptor(Context& w, std::uint32_t reg, std::uint64_t& bits) {
  bits = 0;
  if (reg == kNone) return true;
  const std::uint64_t* lanes = r64(w, reg);
  bits = lanes[std::countr_zero(w.mask)];
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    if (lanes[std::countr_zero(m)] != bits) return false;
  }
  return true;
}

/// All lanes of the warp must come at once.
void check_converged(Context& w, const Code& c) {
  if (w.mask != w.live) w.block->report_warpgroup(w.warp_index, c.id, w.live & ~w.mask);
}

void tell_tile(Context& w, const Code& c, const MatrixDescriptor& tile, char operand) {
  const TileUse use{
      .origin = {c.id, w.block->rank(), w.warp_index, std::countr_zero(w.mask)},
      .copied = false,
      .begin = tile.start,
      .end = tile.start,
      .span = tile.span,
      .base_offset = tile.base_offset,
      .operand = operand,
  };
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kProtocol) != 0) slot.observer->tile(use);
  }
}

void issue(Context& w, const Code& c) {
  static thread_local WarpgroupWorkspace s;
  const auto& plan =
      static_cast<const WarpgroupPlan&>(*w.warp->running_frame().function->products[c.aux]);
  check_converged(w, c);
  WarpgroupIssue place{c.id, 0, 0};
  const bool same = read_descriptor(w, plan.a_descriptor, place.a) &&
                    read_descriptor(w, plan.b_descriptor, place.b);
  if (!w.block->warpgroups().issue(w.warp_index, place) || !same) {
    w.block->report_warpgroup(w.warp_index, c.id, w.mask);
  }
  if ((w.events & kProtocol) != 0) {
    if (plan.a_descriptor != kNone) tell_tile(w, c, MatrixDescriptor(place.a), 'A');
    tell_tile(w, c, MatrixDescriptor(place.b), 'B');
  }
  s.a.addresses.clear();
  if (plan.a_descriptor != kNone) {
    read_left(w, c, plan, MatrixDescriptor(place.a), s.a, s.left);
  } else {
    gather(w, plan.a, plan, plan.a_type, s.left);
  }
  read_right(w, c, plan, MatrixDescriptor(place.b), s);
  if ((w.events & kMatrix) != 0) {
    const MatrixIssue event{c.id, w.warp_index, w.mask, s.a.addresses, s.b.addresses};
    for (const auto& slot : w.block->observers()) {
      if ((slot.events & kMatrix) != 0) slot.observer->matrix_product(event);
    }
  }
  const LaneMask adding = predicate(w, plan.accumulate) ^ plan.accumulate_flip;
  if ((adding & w.mask) != 0) {
    gather_addend(w, plan, s.sum);
  } else {
    std::fill_n(s.sum, plan.rows * plan.columns, 0);
  }
  const std::uint16_t* meets = plan.meets.data();
  if (plan.metadata != kNone) {
    read_metadata(r32(w, plan.metadata), plan, s.meets);
    meets = s.meets;
  }
  multiply(plan, s.left, s.right, meets, s.sum);
  scatter(w, plan, s.sum);
  w.block->end_product_waits(false);
}

void order(Context& w, const Code& c) {
  check_converged(w, c);
  const auto ordering = static_cast<MatrixOrdering>(c.aux);
  if (ordering == MatrixOrdering::commit) w.block->warpgroups().commit(w.warp_index);
  if ((w.events & kMatrix) == 0) return;
  const MatrixOrder event{c.id, w.warp_index, w.mask, ordering, 0};
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kMatrix) != 0) slot.observer->matrix_order(event);
  }
}

bool decode_order(MatrixOrdering ordering, Code& code) {
  code.aux = static_cast<std::uint32_t>(ordering);
  code.execute = order;
  return true;
}

bool has_type(const ptx::Modifiers& m, const WarpgroupPlan& plan) {
  const bool f16_sum = plan.d_type == Type::f16, f32_sum = plan.d_type == Type::f32;
  switch (plan.a_type) {
    case Type::f16:
      return plan.b_type == Type::f16 && (f16_sum || f32_sum);
    case Type::bf16:
    case Type::tf32:
      return plan.b_type == plan.a_type && f32_sum;
    case Type::e4m3:
    case Type::e5m2:
      return (plan.b_type == Type::e4m3 || plan.b_type == Type::e5m2) && (f16_sum || f32_sum);
    case Type::s8:
    case Type::u8:
      return (plan.b_type == Type::s8 || plan.b_type == Type::u8) && plan.d_type == Type::s32;
    case Type::b1:
      return plan.b_type == Type::b1 && plan.d_type == Type::s32 &&
             m.bool_op == ptx::BoolOp::and_ && plan.metadata == kNone;
    default:
      return false;
  }
}

bool has_shape(const ptx::Modifiers& m, const WarpgroupPlan& plan) {
  const unsigned bits = plan.a_type == Type::b1     ? 1
                        : plan.a_type == Type::tf32 ? 32
                                                    : ptx::bit_width(plan.a_type);
  const unsigned k = kBytesAlongK * 8 / bits * (plan.metadata == kNone ? 1 : 2);
  const unsigned n = m.shape.n;
  if (m.shape.m != 64 || m.shape.k != k || n < 8 || n > kMostColumns || n % 8 != 0) return false;
  // Integers have fewer widths: 8, 16, 24, 32 and then multiples of 16.
  return plan.d_type != Type::s32 || n <= 32 || n % 16 == 0;
}

/// The constants behind the predicate: signs of A and B, and the order of 16-bit elements.
bool set_constants(const ptx::Instruction& in, std::size_t at, WarpgroupPlan& plan) {
  std::vector<std::int64_t> constants;
  for (; at < in.operands.size(); ++at) {
    if (in.operands[at].kind != Operand::Kind::immediate) return false;
    constants.push_back(static_cast<std::int32_t>(in.operands[at].bits));
  }
  if (plan.d_type == Type::s32) return constants.empty();
  const bool in_shared = plan.a_descriptor != kNone;
  const bool ordered = plan.a_type == Type::f16 || plan.a_type == Type::bf16;
  if (constants.size() != (ordered ? (in_shared ? 4u : 3u) : 2u)) return false;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (i < 2 ? constants[i] != 1 && constants[i] != -1 : constants[i] != 0 && constants[i] != 1) {
      return false;
    }
  }
  plan.negative_a = constants[0] < 0;
  plan.negative_b = constants[1] < 0;
  if (ordered) plan.b_by_columns = constants.back() != 0;
  if (ordered && in_shared) plan.a_by_rows = constants[2] != 0;
  return true;
}

/// Sets the places of registers and of B's columns.
bool set_operands(FunctionDecoder& d, const ptx::Instruction& in, WarpgroupPlan& plan) {
  const ptx::MatrixShape shape = in.modifiers.shape;
  const Operand& a = in.operands[1];
  if (d.width(in.operands[2], Type::b64) != 8) return false;
  plan.b_descriptor = d.source(in.operands[2], Type::b64);
  plan.rows = kRows;
  plan.columns = shape.n;
  plan.k = kBytesAlongK / element_bytes(plan.a_type);
  plan.b_rows = plan.metadata == kNone ? plan.k : 2 * plan.k;
  plan.d.accumulator = true;
  if (!add_registers(d, in.operands[0], plan.d_type, true, plan.d.registers)) return false;
  if (plan.d.registers.size() != shape.n / (plan.d_type == Type::f16 ? 4u : 2u)) return false;
  plan.c = plan.d;
  if (a.kind == Operand::Kind::vector) {
    if (!set_left_fragment(d, a, plan)) return false;
  } else {
    if (d.width(a, Type::b64) != 8) return false;
    plan.a_descriptor = d.source(a, Type::b64);
  }
  for (unsigned n = 0; n < plan.columns; ++n) {
    plan.positions.push_back(static_cast<std::uint16_t>(accumulator_position(plan.d_type, n)));
  }
  return true;
}

bool decode_issue(FunctionDecoder& d, const ptx::Instruction& in, bool sparse, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const auto owned = std::make_shared<WarpgroupPlan>();
  WarpgroupPlan& plan = *owned;
  if (d.capability() / 10 != 9 || m.type_count != 3) {
    if (d.capability() / 10 != 9) d.refusal_ = "wgmma needs a GPU of compute capability 9.0";
    return false;
  }
  plan.d_type = plan.c_type = m.types[0];
  plan.a_type = m.types[1];
  plan.b_type = m.types[2];
  const std::size_t scale = sparse ? 5 : 3;
  if (sparse) {
    plan.metadata = d.source(in.operands[3], Type::b32);
    const unsigned selectors = element_bytes(plan.a_type) == 1 ? 1 : 2;
    if (in.operands[4].kind != Operand::Kind::immediate || in.operands[4].bits >= selectors) {
      return false;
    }
    plan.selector = static_cast<unsigned>(in.operands[4].bits);
  }
  if (!has_type(m, plan) || !has_shape(m, plan)) return false;
  if (!set_operands(d, in, plan) || !set_constants(in, scale + 1, plan)) return false;
  plan.accumulate = d.source(in.operands[scale], Type::pred);
  plan.accumulate_flip = in.operands[scale].negated ? ~0u : 0u;
  plan.rule = matrix_rule(d.capability(), sparse ? MatrixUnit::sparse_wgmma : MatrixUnit::wgmma,
                          plan.a_type, plan.c_type, plan.d_type, plan.k);
  plan.kernels = &lane_kernels().matrix;
  plan.saturate = m.has(ptx::Flag::satfinite);
  if (plan.a_type == Type::b1) plan.integers = IntegerProducts::Kind::and_bits;
  if (!sparse) {
    for (unsigned i = 0; i < plan.rows * plan.k; ++i) {
      plan.meets.push_back(static_cast<std::uint16_t>(i % plan.k));
    }
  }
  code.aux = static_cast<std::uint32_t>(d.result().products.size());
  code.execute = issue;
  d.result().products.push_back(owned);
  return true;
}

}  // namespace

bool decode_wgmma(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_issue(d, in, false, code);
}
bool decode_wgmma_sp(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_issue(d, in, true, code);
}
bool decode_wgmma_fence(FunctionDecoder&, const ptx::Instruction&, Code& code) {
  return decode_order(MatrixOrdering::fence, code);
}
bool decode_wgmma_commit(FunctionDecoder&, const ptx::Instruction&, Code& code) {
  return decode_order(MatrixOrdering::commit, code);
}
// The warp executes it (Warp::product_wait). offset: the groups that may stay pending.
bool decode_wgmma_wait(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  code.offset = static_cast<std::int64_t>(in.operands[0].bits);
  return true;
}

}  // namespace tilescope::emulator
