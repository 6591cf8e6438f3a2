#include "ptx/slots.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

namespace tilescope::ptx {
namespace {

struct Spelling {
  Group group;
  std::string_view word;
  std::uint8_t value;
};

template <typename Enum>
constexpr Spelling of(Group group, std::string_view word, Enum value) {
  return {group, word, static_cast<std::uint8_t>(value)};
}

// If a value has two spellings the first is the one to write.
// clang-format off
constexpr Spelling spellings[] = {
    of(Group::space, "global", Space::global), of(Group::space, "shared", Space::shared),
    of(Group::space, "shared::cta", Space::shared),
    of(Group::space, "shared::cluster", Space::shared_cluster),
    of(Group::space, "local", Space::local), of(Group::space, "const", Space::constant),
    of(Group::space, "param", Space::param), of(Group::space, "param::entry", Space::param_entry),
    of(Group::space, "param::func", Space::param_func), of(Group::space, "reg", Space::reg),
    of(Group::space, "tex", Space::texture),
    of(Group::vector, "v2", 2), of(Group::vector, "v4", 4), of(Group::vector, "v8", 8),
    of(Group::matrices, "x1", 1), of(Group::matrices, "x2", 2), of(Group::matrices, "x4", 4),
    of(Group::rounding, "rn", Rounding::rn), of(Group::rounding, "rz", Rounding::rz),
    of(Group::rounding, "rm", Rounding::rm), of(Group::rounding, "rp", Rounding::rp),
    of(Group::rounding, "rna", Rounding::rna), of(Group::rounding, "rs", Rounding::rs),
    of(Group::rounding, "rni", Rounding::rni), of(Group::rounding, "rzi", Rounding::rzi),
    of(Group::rounding, "rmi", Rounding::rmi), of(Group::rounding, "rpi", Rounding::rpi),
    of(Group::compare, "eq", Compare::eq), of(Group::compare, "ne", Compare::ne),
    of(Group::compare, "lt", Compare::lt), of(Group::compare, "le", Compare::le),
    of(Group::compare, "gt", Compare::gt), of(Group::compare, "ge", Compare::ge),
    of(Group::compare, "lo", Compare::lo), of(Group::compare, "ls", Compare::ls),
    of(Group::compare, "hi", Compare::hi), of(Group::compare, "hs", Compare::hs),
    of(Group::compare, "equ", Compare::equ), of(Group::compare, "neu", Compare::neu),
    of(Group::compare, "ltu", Compare::ltu), of(Group::compare, "leu", Compare::leu),
    of(Group::compare, "gtu", Compare::gtu), of(Group::compare, "geu", Compare::geu),
    of(Group::compare, "num", Compare::num), of(Group::compare, "nan", Compare::nan),
    of(Group::bool_op, "and", BoolOp::and_), of(Group::bool_op, "or", BoolOp::or_),
    of(Group::bool_op, "xor", BoolOp::xor_),
    of(Group::part, "lo", Part::lo), of(Group::part, "hi", Part::hi),
    of(Group::part, "wide", Part::wide),
    of(Group::reduce, "add", ReduceOp::add), of(Group::reduce, "min", ReduceOp::min),
    of(Group::reduce, "max", ReduceOp::max), of(Group::reduce, "inc", ReduceOp::inc),
    of(Group::reduce, "dec", ReduceOp::dec), of(Group::reduce, "and", ReduceOp::and_),
    of(Group::reduce, "or", ReduceOp::or_), of(Group::reduce, "xor", ReduceOp::xor_),
    of(Group::reduce, "exch", ReduceOp::exch), of(Group::reduce, "cas", ReduceOp::cas),
    of(Group::reduce, "popc", ReduceOp::popc),
    of(Group::ordering, "weak", Ordering::weak), of(Group::ordering, "volatile", Ordering::volatile_),
    of(Group::ordering, "relaxed", Ordering::relaxed),
    of(Group::ordering, "acquire", Ordering::acquire),
    of(Group::ordering, "release", Ordering::release),
    of(Group::ordering, "acq_rel", Ordering::acq_rel), of(Group::ordering, "sc", Ordering::sc),
    of(Group::scope, "cta", Scope::cta), of(Group::scope, "cluster", Scope::cluster),
    of(Group::scope, "gpu", Scope::gpu), of(Group::scope, "sys", Scope::sys),
    of(Group::membar_scope, "cta", Scope::cta), of(Group::membar_scope, "gl", Scope::gpu),
    of(Group::membar_scope, "sys", Scope::sys),
    of(Group::cache, "ca", CacheOp::ca), of(Group::cache, "cg", CacheOp::cg),
    of(Group::cache, "cs", CacheOp::cs), of(Group::cache, "lu", CacheOp::lu),
    of(Group::cache, "cv", CacheOp::cv), of(Group::cache, "wb", CacheOp::wb),
    of(Group::cache, "wt", CacheOp::wt),
    of(Group::cache_level, "L1", CacheLevel::l1), of(Group::cache_level, "L2", CacheLevel::l2),
    of(Group::l1_eviction, "L1::evict_normal", Eviction::normal),
    of(Group::l1_eviction, "L1::evict_first", Eviction::first),
    of(Group::l1_eviction, "L1::evict_last", Eviction::last),
    of(Group::l1_eviction, "L1::evict_unchanged", Eviction::unchanged),
    of(Group::l1_eviction, "L1::no_allocate", Eviction::no_allocate),
    of(Group::l2_eviction, "L2::evict_normal", Eviction::normal),
    of(Group::l2_eviction, "L2::evict_first", Eviction::first),
    of(Group::l2_eviction, "L2::evict_last", Eviction::last),
    of(Group::l2_eviction, "L2::evict_unchanged", Eviction::unchanged),
    of(Group::shuffle, "up", ShuffleMode::up), of(Group::shuffle, "down", ShuffleMode::down),
    of(Group::shuffle, "bfly", ShuffleMode::bfly), of(Group::shuffle, "idx", ShuffleMode::idx),
    of(Group::vote, "all", VoteMode::all), of(Group::vote, "any", VoteMode::any),
    of(Group::vote, "uni", VoteMode::uni), of(Group::vote, "ballot", VoteMode::ballot),
    of(Group::shift_direction, "l", ShiftDirection::left),
    of(Group::shift_direction, "r", ShiftDirection::right),
    of(Group::shift_mode, "clamp", ShiftMode::clamp), of(Group::shift_mode, "wrap", ShiftMode::wrap),
    of(Group::permute, "f4e", PermuteMode::f4e), of(Group::permute, "b4e", PermuteMode::b4e),
    of(Group::permute, "rc8", PermuteMode::rc8), of(Group::permute, "ecl", PermuteMode::ecl),
    of(Group::permute, "ecr", PermuteMode::ecr), of(Group::permute, "rc16", PermuteMode::rc16),
    of(Group::test, "finite", TestKind::finite), of(Group::test, "infinite", TestKind::infinite),
    of(Group::test, "number", TestKind::number), of(Group::test, "notanumber", TestKind::notanumber),
    of(Group::test, "normal", TestKind::normal), of(Group::test, "subnormal", TestKind::subnormal),
    of(Group::barrier, "sync", BarrierKind::sync), of(Group::barrier, "arrive", BarrierKind::arrive),
    of(Group::barrier, "red", BarrierKind::red), of(Group::barrier, "wait", BarrierKind::wait),
    of(Group::a_layout, "row", Layout::row), of(Group::a_layout, "col", Layout::col),
    of(Group::fragment, "a", Fragment::a), of(Group::fragment, "b", Fragment::b),
    of(Group::fragment, "c", Fragment::c), of(Group::fragment, "d", Fragment::d),
    of(Group::geometry, "1d", Geometry::d1), of(Group::geometry, "2d", Geometry::d2),
    of(Group::geometry, "3d", Geometry::d3), of(Group::geometry, "4d", Geometry::d4),
    of(Group::geometry, "5d", Geometry::d5), of(Group::geometry, "a1d", Geometry::a1d),
    of(Group::geometry, "a2d", Geometry::a2d), of(Group::geometry, "cube", Geometry::cube),
    of(Group::geometry, "acube", Geometry::acube), of(Group::geometry, "2dms", Geometry::d2ms),
    of(Group::geometry, "a2dms", Geometry::a2dms),
};

/// By the value of Flag.
constexpr std::string_view flag_names[] = {
    "ftz", "sat", "satfinite", "relu", "approx", "full", "NaN", "xorsign", "abs", "oob", "noftz",
    "cc", "shiftamt", "scaled::n2::ue8m0",
    "sync", "aligned", "uni", "cta", "launch_dependents", "wait", "inc", "dec",
    "nc", "mmio", "unified", "L2::cache_hint", "to",
    "trans", "popc", "acc::f16", "acc::f32",
    "parity", "expect_tx", "noComplete", "noinc", "read", "proxy", "alias", "async",
    "async::generic", "tensormap::generic", "mbarrier_init", "sync_restrict::shared::cta",
    "sync_restrict::shared::cluster", "mbarrier::complete_tx::bytes", "bulk_group",
    "multicast::cluster", "cp_mask", "tile", "im2col", "im2col_no_offs", "tensormap",
    "global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride",
    "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode", "b1024",
    "level", "base", "grad", "r", "g", "b", "a", "width", "height", "depth", "channel_data_type",
    "channel_order", "normalized_coords", "force_unnormalized_coords", "filter_mode",
    "addr_mode_0", "addr_mode_1", "addr_mode_2", "array_size", "num_mipmap_levels", "num_samples",
    "memory_layout", "b", "p", "trap", "zero", "texref", "samplerref", "surfref",
    "po", "shr7", "shr15", "add", "min", "max",
    "mask",
};
// clang-format on
static_assert(std::size(flag_names) == static_cast<std::size_t>(Flag::count_));

/// Groups that share the spellings of another.
Group spelled_as(Group group) {
  switch (group) {
    case Group::source_space:
      return Group::space;
    case Group::b_layout:
      return Group::a_layout;
    case Group::l2_second_eviction:
      return Group::l2_eviction;
    default:
      return group;
  }
}

/// Calls `use` with the one-byte field that a group sets.
template <typename M, typename Use>
void with_field(Group group, M& m, Use use) {
  switch (group) {
    case Group::space:
      return use(m.space);
    case Group::source_space:
      return use(m.source_space);
    case Group::vector:
      return use(m.vector);
    case Group::matrices:
      return use(m.matrices);
    case Group::rounding:
      return use(m.rounding);
    case Group::compare:
      return use(m.compare);
    case Group::bool_op:
      return use(m.bool_op);
    case Group::part:
      return use(m.part);
    case Group::reduce:
      return use(m.reduce);
    case Group::ordering:
      return use(m.ordering);
    case Group::scope:
    case Group::membar_scope:
      return use(m.scope);
    case Group::cache:
      return use(m.cache);
    case Group::cache_level:
      return use(m.cache_level);
    case Group::l1_eviction:
      return use(m.l1_eviction);
    case Group::l2_eviction:
      return use(m.l2_eviction);
    case Group::l2_second_eviction:
      return use(m.l2_second_eviction);
    case Group::shuffle:
      return use(m.shuffle);
    case Group::vote:
      return use(m.vote);
    case Group::shift_direction:
      return use(m.shift_direction);
    case Group::shift_mode:
      return use(m.shift_mode);
    case Group::permute:
      return use(m.permute);
    case Group::test:
      return use(m.test);
    case Group::barrier:
      return use(m.barrier);
    case Group::a_layout:
      return use(m.a_layout);
    case Group::b_layout:
      return use(m.b_layout);
    case Group::fragment:
      return use(m.fragment);
    case Group::geometry:
      return use(m.geometry);
    case Group::type:
    case Group::type_or_pred:
    case Group::optional_type:
    case Group::l2_prefetch:
    case Group::shape:
      return;  // not one byte: handled by the callers
  }
}

bool take_number(std::string_view& text, char letter, std::uint16_t& value) {
  if (text.empty() || text.front() != letter) return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc{} || value == 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool accept_shape(std::string_view word, MatrixShape& shape) {
  MatrixShape read;
  if (!take_number(word, 'm', read.m) || !take_number(word, 'n', read.n)) return false;
  if (!word.empty() && !take_number(word, 'k', read.k)) return false;
  if (!word.empty()) return false;
  shape = read;
  return true;
}

bool accept_prefetch(std::string_view word, std::uint16_t& bytes) {
  for (const std::uint16_t size : {64, 128, 256}) {
    if (word == fmt::format("L2::{}B", size)) {
      bytes = size;
      return true;
    }
  }
  return false;
}

bool accept_type(std::string_view word, bool pred, Modifiers& modifiers) {
  const Type type = type_of(word);
  if (type == Type::none || (type == Type::pred && !pred) ||
      modifiers.type_count == modifiers.types.size())
    return false;
  modifiers.types[modifiers.type_count++] = type;
  return true;
}

}  // namespace

bool accept(Slot slot, std::string_view word, Modifiers& modifiers) {
  if (slot.is_flag) {
    if (word != flag_names[static_cast<std::size_t>(slot.flag)]) return false;
    modifiers.flags.set(static_cast<std::size_t>(slot.flag));
    return true;
  }
  switch (slot.group) {
    case Group::type:
      return accept_type(word, false, modifiers);
    case Group::type_or_pred:
    case Group::optional_type:
      return accept_type(word, true, modifiers);
    case Group::shape:
      return accept_shape(word, modifiers.shape);
    case Group::l2_prefetch:
      return accept_prefetch(word, modifiers.l2_prefetch);
    default:
      break;
  }
  const Group table = spelled_as(slot.group);
  for (const Spelling& spelling : spellings) {
    if (spelling.group != table || spelling.word != word) continue;
    with_field(slot.group, modifiers,
               [&]<typename Field>(Field& field) { field = static_cast<Field>(spelling.value); });
    return true;
  }
  return false;
}

void write(Slot slot, const Modifiers& modifiers, unsigned& types_written, std::string& out) {
  const auto append = [&out](std::string_view word) { out.append(".").append(word); };
  if (slot.is_flag) {
    if (modifiers.has(slot.flag)) append(flag_names[static_cast<std::size_t>(slot.flag)]);
    return;
  }
  switch (slot.group) {
    case Group::type:
    case Group::type_or_pred:
    case Group::optional_type:
      if (types_written < modifiers.type_count) append(name(modifiers.types[types_written++]));
      return;
    case Group::shape:
      if (modifiers.shape.m == 0) return;
      append(fmt::format("m{}n{}", modifiers.shape.m, modifiers.shape.n));
      if (modifiers.shape.k != 0) out += fmt::format("k{}", modifiers.shape.k);
      return;
    case Group::l2_prefetch:
      if (modifiers.l2_prefetch != 0) append(fmt::format("L2::{}B", modifiers.l2_prefetch));
      return;
    default:
      break;
  }
  unsigned value = 0;
  with_field(slot.group, modifiers,
             [&](const auto& field) { value = static_cast<unsigned>(field); });
  const Group table = spelled_as(slot.group);
  for (const Spelling& spelling : spellings) {
    if (spelling.group == table && spelling.value == value) return append(spelling.word);
  }
}

Type type_of(std::string_view word) {
  for (auto type = Type::b1; type <= Type::surfref;
       type = static_cast<Type>(static_cast<std::size_t>(type) + 1)) {
    if (name(type) == word) return type;
  }
  return Type::none;
}

Space space_of(std::string_view word) {
  for (const Spelling& spelling : spellings) {
    if (spelling.group == Group::space && spelling.word == word) {
      return static_cast<Space>(spelling.value);
    }
  }
  return Space::none;
}

std::string_view name(Space space) {
  for (const Spelling& spelling : spellings) {
    if (spelling.group == Group::space && spelling.value == static_cast<std::uint8_t>(space)) {
      return spelling.word;
    }
  }
  return "";
}

}  // namespace tilescope::ptx
