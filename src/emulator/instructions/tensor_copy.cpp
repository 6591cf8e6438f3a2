// cp.async.bulk.tensor: boxes of tensors, which a tensor map describes, to and from shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/one_of.hpp"
#include "emulator/address_space.hpp"
#include "emulator/instructions/bulk_operands.hpp"
#include "emulator/memory_map.hpp"
#include "emulator/tensor_box.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::ReduceOp;
using ptx::Type;

// The operands in Code::list.
enum Tensor : std::size_t {
  kShared,
  kMap,
  kTensorBarrier,
  kTensorBlocks,
  kCoordinates,
  kOffsets = 9
};
constexpr std::size_t kMostOffsets = 3;

// Code::aux: the BulkKind, the rank from bit 8, the TensorMode from bit 12, the ReduceOp from 16.
BulkKind tensor_kind_of(const Code& c) {
  return static_cast<BulkKind>(c.aux & 0xff);
}
unsigned rank_of(const Code& c) {
  return c.aux >> 8 & 0xf;
}
TensorMode mode_of(const Code& c) {
  return static_cast<TensorMode>(c.aux >> 12 & 0xf);
}
ReduceOp reduction_of(const Code& c) {
  return static_cast<ReduceOp>(c.aux >> 16 & 0xff);
}

std::uint64_t value(const BulkIssuer& issuer, std::size_t which) {
  return bulk_value(issuer.w, issuer.c, which, issuer.lane);
}

/// The 128 bytes of a map; null, and reported, if they are nowhere.
const std::uint8_t* map_bytes(const BulkIssuer& issuer, std::uint64_t address) {
  const ResolvedAddress at = resolve_generic(address);
  if (!issuer.aligned(at.space, at.address, alignof(TensorMapImage), AccessKind::load)) {
    return nullptr;
  }
  if (at.space == Space::parameter) {
    if (at.address + sizeof(TensorMapImage) <= issuer.w.parameter_bytes) {
      return issuer.w.parameters + at.address;
    }
    issuer.fault(FaultKind::out_of_bounds, at.space, at.address, sizeof(TensorMapImage),
                 AccessKind::load);
    return nullptr;
  }
  if (at.space != Space::global && at.space != Space::constant) {
    issuer.refuse(
        fmt::format("a tensor map in {} memory; it has to be a parameter of the kernel, "
                    "or in global or constant memory",
                    to_string(at.space)));
    return nullptr;
  }
  const Allocation* const found =
      issuer.w.block->launch().setup().memory.find(address, sizeof(TensorMapImage));
  if (found != nullptr) return found->data() + (address - found->address());
  issuer.fault(address < 4096 ? FaultKind::null_pointer : FaultKind::out_of_bounds, at.space,
               at.address, sizeof(TensorMapImage), AccessKind::load);
  return nullptr;
}

/// The rule that the coordinates break; empty if none.
std::string coordinates_problem(const BulkIssuer& issuer, const TensorMapImage& map) {
  for (std::size_t d = 0; d < map.rank; ++d) {
    const auto at = static_cast<std::int32_t>(value(issuer, kCoordinates + d));
    if (at < 0 && tensor_kind_of(issuer.c) == BulkKind::store) {
      return fmt::format("coordinate {} is {}; stores and reductions take none below 0", d, at);
    }
    if (const std::int64_t begin = std::int64_t{at} * map.unit_bytes(); d == 0 && begin % 16 != 0) {
      return fmt::format(
          "coordinate 0 is {}, at byte {} of the row; boxes begin at multiples of 16", at, begin);
    }
  }
  return {};
}

/// False, and reported, without a map and coordinates that the instruction can use.
bool read_map(const BulkIssuer& issuer, TensorMapImage& map) {
  const std::uint64_t address = value(issuer, kMap);
  const std::uint8_t* const bytes = map_bytes(issuer, address);
  if (bytes == nullptr) return false;
  std::memcpy(&map, bytes, sizeof map);
  std::string problem = tensor_map_problem(map);
  if (problem.empty() && map.rank != rank_of(issuer.c)) {
    problem = fmt::format("the tensor has {} dimensions, and the copy {} coordinates", map.rank,
                          rank_of(issuer.c));
  }
  if (problem.empty() && map.mode != mode_of(issuer.c)) {
    problem = map.mode == TensorMode::im2col ? "it is for im2col copies, and this one copies tiles"
                                             : "it is for tiles, and this is an im2col copy";
  }
  if (!problem.empty()) {
    issuer.refuse(fmt::format("the tensor map at {:#x} cannot be used: {}", address, problem));
    return false;
  }
  problem = coordinates_problem(issuer, map);
  if (!problem.empty()) issuer.refuse("a tensor copy cannot be made: " + problem);
  return problem.empty();
}

/// The type of a reduction's elements; none if the copy engine has no such operation.
Type reduced_type(ReduceOp op, TensorElement element) {
  constexpr Type types[] = {Type::none, Type::none, Type::u32, Type::s32, Type::u64,
                            Type::s64,  Type::f16,  Type::f32, Type::f32, Type::f64,
                            Type::bf16, Type::none, Type::none};
  const Type type = types[static_cast<std::size_t>(element)];
  const bool integer = !ptx::is_float(type);
  const bool half = is_one_of(type, {Type::f16, Type::bf16});
  switch (op) {
    case ReduceOp::add:
      return type == Type::s64 ? Type::none : type;
    case ReduceOp::min:
    case ReduceOp::max:
      return integer || half ? type : Type::none;
    case ReduceOp::inc:
    case ReduceOp::dec:
      return type == Type::u32 ? type : Type::none;
    default:
      return integer && type != Type::s64 ? type : Type::none;
  }
}

TensorBox box_of(const BulkIssuer& issuer, const TensorMapImage& map, std::uint32_t shared) {
  TensorBox box{map, {}, {}, shared};
  for (std::size_t d = 0; d < map.rank; ++d) {
    box.coordinates[d] = static_cast<std::int32_t>(value(issuer, kCoordinates + d));
  }
  for (std::size_t i = 0; i < kMostOffsets && has_bulk_value(issuer.c, kOffsets + i); ++i) {
    box.offsets[i] = static_cast<std::uint16_t>(value(issuer, kOffsets + i));
  }
  return box;
}

/// Leaves out, or fills, what lies outside the allocation of the tensor, and reports it once.
std::uintptr_t cut_to_allocation(const BulkIssuer& issuer, const TensorMapImage& map,
                                 std::vector<BulkPiece>& pieces, AccessKind access) {
  const bool reads = access == AccessKind::async_load;
  const auto touches = [](const BulkPiece& piece) { return !piece.filled; };
  if (std::none_of(pieces.begin(), pieces.end(), touches)) return 0;
  const Allocation* const found = issuer.w.block->launch().setup().memory.find(map.address);
  const auto inside = [&](const BulkPiece& piece) {
    const std::uint64_t offset = (reads ? piece.from : piece.to) - found->address();
    return piece.filled || (offset < found->bytes() && piece.bytes <= found->bytes() - offset);
  };
  bool reported = false;
  for (BulkPiece& piece : pieces) {
    if (found != nullptr && found->kind() != AllocationKind::constant_variable && inside(piece)) {
      continue;
    }
    if (!piece.padding && !std::exchange(reported, true)) {
      issuer.fault(FaultKind::out_of_bounds, Space::global, reads ? piece.from : piece.to,
                   piece.bytes, access);
    }
    piece.filled = true;
  }
  if (!reads) std::erase_if(pieces, [](const BulkPiece& piece) { return piece.filled; });
  return found == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(found->data()) - found->address();
}

BulkOperation operation_of(const BulkIssuer& issuer) {
  BulkOperation operation;
  operation.origin = issuer.origin();
  operation.kind = tensor_kind_of(issuer.c);
  operation.reduce = reduction_of(issuer.c);
  operation.map = value(issuer, kMap);
  return operation;
}

/// The box in shared memory of a block; nothing, and reported, if it does not fit or is misaligned.
std::optional<SharedTarget> box_in_shared(const BulkIssuer& issuer, const TensorMapImage& map,
                                          AccessKind access) {
  constexpr unsigned kAlignment = 128;
  const std::uint64_t at = value(issuer, kShared);
  if (!issuer.aligned(Space::shared, at, kAlignment, access)) return std::nullopt;
  return issuer.shared(at, map.box_extent(), access);
}

/// The NaN with which an H200 fills tensors of every floating point type.
constexpr std::array<std::uint8_t, 8> kNan{0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f};

void load(const BulkIssuer& issuer) {
  const auto barrier = issuer.barrier(value(issuer, kTensorBarrier));
  if (!barrier) return;
  BulkOperation operation = operation_of(issuer);
  operation.barrier_bytes = kAllBytes;
  if (TensorMapImage map; read_map(issuer, map)) {
    operation.barrier_bytes = static_cast<std::uint32_t>(map.box_bytes());
    operation.span = 16u << static_cast<unsigned>(map.swizzle);
    const auto target = box_in_shared(issuer, map, AccessKind::async_store);
    if (target && target->block != barrier->block) {
      issuer.refuse("the mbarrier of a tensor copy lies in another block than its destination");
    } else if (target) {
      operation.pieces = load_pieces(box_of(issuer, map, target->offset));
      operation.from_base =
          cut_to_allocation(issuer, map, operation.pieces, AccessKind::async_load);
      if (map.fill == TensorFill::nan) operation.fill = kNan;
      operation.rounds_to_tf32 =
          map.type == TensorElement::tf32 || map.type == TensorElement::tf32_ftz;
    }
  }
  std::optional<std::uint64_t> blocks;
  if (has_bulk_value(issuer.c, kTensorBlocks)) blocks = value(issuer, kTensorBlocks);
  issuer.deliver(*barrier, blocks, std::move(operation));
}

void store(const BulkIssuer& issuer) {
  TensorMapImage map;
  if (!read_map(issuer, map)) return;
  BulkOperation operation = operation_of(issuer);
  const bool reduces = operation.reduce != ReduceOp::none;
  const auto source = box_in_shared(issuer, map, AccessKind::async_load);
  if (!source) return;
  if (reduces) operation.type = reduced_type(operation.reduce, map.type);
  operation.flushes = map.type == TensorElement::f32_ftz;
  if (reduces && operation.type == Type::none) {
    issuer.refuse(fmt::format("the copy engine has no such reduction of elements of type {}",
                              static_cast<unsigned>(map.type)));
    return;
  }
  operation.pieces = store_pieces(box_of(issuer, map, source->offset));
  operation.to_base = cut_to_allocation(issuer, map, operation.pieces,
                                        reduces ? AccessKind::reduction : AccessKind::async_store);
  operation.from_base = reinterpret_cast<std::uintptr_t>(source->block->shared());
  issuer.issue(std::move(operation));
}

void prefetch(const BulkIssuer& issuer) {
  TensorMapImage map;
  if (!read_map(issuer, map)) return;
  BulkOperation operation = operation_of(issuer);
  operation.pieces = load_pieces(box_of(issuer, map, 0));
  cut_to_allocation(issuer, map, operation.pieces, AccessKind::async_load);
  issuer.announce(std::move(operation));
}

void copy_tensor(Context& w, const Code& c) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const BulkIssuer issuer{w, c, std::countr_zero(m)};
    switch (tensor_kind_of(c)) {
      case BulkKind::load:
        load(issuer);
        break;
      case BulkKind::prefetch:
        prefetch(issuer);
        break;
      default:
        store(issuer);
    }
  }
}

/// The numbers of a vector, or one number without braces.
std::vector<ptx::Operand> numbers_of(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::vector) return operand.elements;
  return {operand};
}

/// Pads with operands that are not there.
void add_numbers(BulkOperands& list, const std::vector<ptx::Operand>& numbers, std::size_t most,
                 Type type) {
  for (std::size_t i = 0; i < most; ++i) {
    if (i < numbers.size()) {
      list.number(numbers[i], type);
    } else {
      list.none();
    }
  }
}

struct TensorOperands {
  const ptx::Operand* shared = nullptr;
  const ptx::Operand* map = nullptr;
  std::size_t rest = 0;  ///< index of the first one behind these
};

bool decode_tensor(FunctionDecoder& d, const ptx::Instruction& in, BulkKind kind,
                   const TensorOperands& operands, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const unsigned rank =
      static_cast<unsigned>(m.geometry) - static_cast<unsigned>(ptx::Geometry::d1) + 1;
  const bool im2col = m.has(Flag::im2col), no_offsets = m.has(Flag::im2col_no_offs);
  const std::vector<ptx::Operand>& behind = operands.map->elements;
  if (m.geometry == ptx::Geometry::none || rank > kMostTensorDimensions || behind.size() != 1) {
    return false;
  }
  const std::vector<ptx::Operand> coordinates = numbers_of(behind[0]);
  if (coordinates.size() != rank || ((im2col || no_offsets) && rank < 3)) return false;
  if (kind == BulkKind::store ? im2col : no_offsets) return false;
  std::size_t next = operands.rest;
  const bool has_barrier = kind == BulkKind::load;
  const std::size_t wanted =
      next + has_barrier + im2col + m.has(Flag::multicast) + m.has(Flag::cache_hint);
  if (in.operands.size() != wanted) return false;
  BulkOperands list(d);
  if (operands.shared != nullptr) {
    list.address(*operands.shared);
  } else {
    list.none();
  }
  list.address(*operands.map, true);
  if (has_barrier) {
    list.address(in.operands[next++]);
  } else {
    list.none();
  }
  std::vector<ptx::Operand> offsets;
  if (im2col) offsets = numbers_of(in.operands[next++]);
  if (im2col && offsets.size() != rank - 2) return false;
  if (m.has(Flag::multicast)) {
    list.number(in.operands[next], Type::u16);
  } else {
    list.none();
  }
  add_numbers(list, coordinates, kMostTensorDimensions, Type::s32);
  add_numbers(list, offsets, kMostOffsets, Type::u16);
  list.finish(code);
  const TensorMode mode = im2col || no_offsets ? TensorMode::im2col : TensorMode::tiled;
  code.aux = static_cast<std::uint32_t>(kind) | rank << 8 | static_cast<std::uint32_t>(mode) << 12 |
             static_cast<std::uint32_t>(m.reduce) << 16;
  code.execute = copy_tensor;
  return true;
}

bool is_group(const ptx::Instruction& in) {
  const ptx::Modifiers& m = in.modifiers;
  return m.has(Flag::bulk_group) && m.space == ptx::Space::global &&
         m.source_space == ptx::Space::shared;
}

}  // namespace

bool decode_tensor_copy(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const auto& operands = in.operands;
  if (is_group(in)) {
    return decode_tensor(d, in, BulkKind::store, {&operands[1], &operands[0], 2}, code);
  }
  if (!m.has(Flag::complete_tx_bytes) || m.source_space != ptx::Space::global ||
      !is_one_of(m.space, {ptx::Space::shared, ptx::Space::shared_cluster})) {
    return false;
  }
  return decode_tensor(d, in, BulkKind::load, {&operands[0], &operands[1], 2}, code);
}

bool decode_tensor_reduction(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const auto& operands = in.operands;
  if (!is_group(in) ||
      !decode_tensor(d, in, BulkKind::store, {&operands[1], &operands[0], 2}, code)) {
    return false;
  }
  // The map alone knows the type: floating point sums depend on their order.
  if (is_one_of(in.modifiers.reduce, {ReduceOp::add, ReduceOp::inc, ReduceOp::dec})) {
    d.needs_->order_dependent = true;
  }
  return true;
}

bool decode_tensor_prefetch(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_tensor(d, in, BulkKind::prefetch, {nullptr, in.operands.data(), 1}, code);
}

}  // namespace tilescope::emulator
