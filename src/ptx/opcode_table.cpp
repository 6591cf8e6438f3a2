#include "ptx/opcode_table.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <iterator>
#include <unordered_map>

namespace tilescope::ptx {
namespace {

using enum Group;

struct SlotList {
  std::array<Slot, 16> slots{type, type, type, type, type, type, type, type,
                             type, type, type, type, type, type, type, type};
  std::size_t count = 0;

  constexpr SlotList(std::initializer_list<Slot> list) {
    for (const Slot& slot : list) slots[count++] = slot;
  }
};

struct Row {
  OpcodeInfo info;
  SlotList slots;

  constexpr Row(std::string_view operation, std::string_view operands, SlotList list)
      : info{operation, operands}, slots(list) {}
};

// In the order of Opcode. Modifiers are accepted in any order, since real programs vary it
// (atom.add.relaxed.gpu), and written in the order given here, which is the ISA manual's.
// clang-format off
constexpr Row rows[] = {
    {"unknown", "", {}},
    {"abs", "ds", {Flag::ftz, type}},
    {"add", "dss", {rounding, Flag::ftz, Flag::sat, Flag::cc, type, optional_type}},
    {"addc", "dss", {Flag::cc, type}},
    {"bfe", "dsss", {type}},
    {"bfi", "dssss", {type}},
    {"bfind", "ds", {Flag::shiftamt, type}},
    {"bmsk", "dss", {shift_mode, type}},
    {"brev", "ds", {type}},
    {"clz", "ds", {type}},
    {"cnot", "ds", {type}},
    {"copysign", "dss", {type}},
    {"cos", "ds", {Flag::approx, Flag::ftz, type}},
    {"div", "dss", {Flag::approx, Flag::full, rounding, Flag::ftz, type}},
    {"dp2a", "dsss", {part, type, type}},
    {"dp4a", "dsss", {type, type}},
    {"ex2", "ds", {Flag::approx, Flag::ftz, type}},
    {"fma", "dsss", {rounding, Flag::ftz, Flag::sat, Flag::oob, Flag::relu, type, optional_type}},
    {"fns", "dsss", {type}},
    {"lg2", "ds", {Flag::approx, Flag::ftz, type}},
    {"mad", "dsss", {rounding, part, Flag::ftz, Flag::sat, Flag::cc, type}},
    {"mad24", "dsss", {part, Flag::sat, type}},
    {"madc", "dsss", {part, Flag::cc, type}},
    {"max", "dss", {Flag::ftz, Flag::nan, Flag::xorsign, Flag::abs, Flag::relu, type}},
    {"min", "dss", {Flag::ftz, Flag::nan, Flag::xorsign, Flag::abs, Flag::relu, type}},
    {"mul", "dss", {rounding, part, Flag::ftz, Flag::sat, type}},
    {"mul24", "dss", {part, type}},
    {"neg", "ds", {Flag::ftz, type}},
    {"popc", "ds", {type}},
    {"rcp", "ds", {Flag::approx, rounding, Flag::ftz, type}},
    {"rem", "dss", {type}},
    {"rsqrt", "ds", {Flag::approx, Flag::ftz, type}},
    {"sad", "dsss", {type}},
    {"sin", "ds", {Flag::approx, Flag::ftz, type}},
    {"sqrt", "ds", {Flag::approx, rounding, Flag::ftz, type}},
    {"sub", "dss", {rounding, Flag::ftz, Flag::sat, Flag::cc, type, optional_type}},
    {"subc", "dss", {Flag::cc, type}},
    {"szext", "dss", {shift_mode, type}},
    {"tanh", "ds", {Flag::approx, Flag::ftz, type}},
    {"testp", "ds", {test, type}},
    {"and", "dss", {type}},
    {"lop3", "dssss?s", {bool_op, type}},
    {"not", "ds", {type}},
    {"or", "dss", {type}},
    {"selp", "dsss", {type}},
    {"set", "dss?s", {compare, bool_op, Flag::ftz, type, type}},
    {"setp", "dss?s", {compare, bool_op, Flag::ftz, type}},
    {"shf", "dsss", {shift_direction, shift_mode, type}},
    {"shl", "dss", {type}},
    {"shr", "dss", {type}},
    {"slct", "dsss", {Flag::ftz, type, type}},
    {"xor", "dss", {type}},
    {"applypriority", "as", {space, l2_eviction}},
    {"createpolicy.cvt", "ds", {cache_level, type}},
    {"createpolicy.fractional", "d?s", {l2_eviction, l2_second_eviction, type}},
    {"createpolicy.range", "dass", {space, l2_eviction, l2_second_eviction, type}},
    {"cvt", "ds?s", {rounding, Flag::ftz, Flag::sat, Flag::satfinite, Flag::relu,
     Flag::scaled, type, type}},
    {"cvt.pack", "dss?s", {Flag::sat, type, type, optional_type}},
    {"cvta", "ds", {Flag::to, space, type}},
    {"discard", "as", {space, cache_level}},
    {"getctarank", "ds", {space, type}},
    {"isspacep", "ds", {space}},
    {"ld", "da?s", {ordering, Flag::mmio, scope, space, Flag::nc, cache, l1_eviction,
     l2_eviction, Flag::cache_hint, l2_prefetch, vector, Flag::unified, type}},
    {"ldu", "da", {space, vector, type}},
    {"mapa", "dss", {space, type}},
    {"mov", "ds", {type}},
    {"movmatrix", "ds", {Flag::sync, Flag::aligned, shape, Flag::trans, type}},
    {"multimem.ld_reduce", "da", {ordering, scope, space, reduce, Flag::acc_f16,
     Flag::acc_f32, vector, type}},
    {"multimem.red", "as", {ordering, scope, space, reduce, vector, type}},
    {"multimem.st", "as", {ordering, scope, space, vector, type}},
    {"prefetch", "a", {space, cache_level, l2_eviction, Flag::tensormap}},
    {"prefetchu", "a", {cache_level}},
    {"prmt", "dsss", {type, permute}},
    {"shfl", "dsss?s", {Flag::sync, shuffle, type}},
    {"st", "as?s", {ordering, Flag::mmio, scope, space, cache, l1_eviction, l2_eviction,
     Flag::cache_hint, vector, type}},
    {"st.async", "as?a", {ordering, scope, space, Flag::complete_tx_bytes, vector, type}},
    {"st.bulk", "as?s", {ordering, space}},
    {"cp.async", "aas?sss", {cache, space, source_space, Flag::cache_hint, l2_prefetch}},
    {"cp.async.bulk", "aas?xss", {space, source_space, Flag::complete_tx_bytes,
     Flag::bulk_group, Flag::multicast, Flag::cache_hint, Flag::cp_mask}},
    {"cp.async.bulk.commit_group", "", {}},
    {"cp.async.bulk.prefetch", "as?s", {cache_level, space, Flag::cache_hint}},
    {"cp.async.bulk.prefetch.tensor", "a?ss", {geometry, cache_level, space, Flag::tile,
     Flag::im2col, Flag::cache_hint}},
    {"cp.async.bulk.tensor", "aa?xsss", {geometry, space, source_space, Flag::tile,
     Flag::im2col, Flag::im2col_no_offs, Flag::complete_tx_bytes, Flag::bulk_group,
     Flag::multicast, Flag::cache_hint}},
    {"cp.async.bulk.wait_group", "s", {Flag::read}},
    {"cp.async.commit_group", "", {}},
    {"cp.async.mbarrier.arrive", "a", {Flag::no_inc, space, type}},
    {"cp.async.wait_all", "", {}},
    {"cp.async.wait_group", "s", {}},
    {"cp.reduce.async.bulk", "aas?xs", {space, source_space, Flag::complete_tx_bytes,
     Flag::bulk_group, Flag::cache_hint, reduce, Flag::noftz, type}},
    {"cp.reduce.async.bulk.tensor", "aa?ss", {geometry, space, source_space, reduce,
     Flag::tile, Flag::im2col_no_offs, Flag::bulk_group, Flag::cache_hint}},
    {"tensormap.cp_fenceproxy", "aas", {space, source_space, Flag::tensormap_generic,
     ordering, scope, Flag::sync, Flag::aligned}},
    {"tensormap.replace", "as?s", {Flag::tile, Flag::global_address, Flag::rank,
     Flag::box_dim, Flag::global_dim, Flag::global_stride, Flag::element_stride,
     Flag::elemtype, Flag::interleave_layout, Flag::swizzle_mode, Flag::swizzle_atomicity,
     Flag::fill_mode, space, Flag::b1024, type}},
    {"istypep", "ds", {Flag::texref, Flag::samplerref, Flag::surfref}},
    {"suld", "da", {Flag::surface_bytes, Flag::surface_pixels, geometry, cache, vector, type,
     shift_mode, Flag::surface_trap, Flag::surface_zero}},
    {"suq", "da", {Flag::width, Flag::height, Flag::depth, Flag::channel_data_type,
     Flag::channel_order, Flag::array_size, Flag::memory_layout, type}},
    {"sured", "as", {Flag::surface_bytes, Flag::surface_pixels, reduce, geometry, type,
     shift_mode, Flag::surface_trap, Flag::surface_zero}},
    {"sust", "as", {Flag::surface_bytes, Flag::surface_pixels, geometry, cache, vector, type,
     shift_mode, Flag::surface_trap, Flag::surface_zero}},
    {"tex", "da?ssss", {Flag::level, Flag::base, Flag::grad, geometry, vector, type, type}},
    {"tld4", "da?ss", {Flag::red, Flag::green, Flag::blue, Flag::alpha, geometry, vector,
     type, type}},
    {"txq", "da?s", {Flag::level, Flag::width, Flag::height, Flag::depth,
     Flag::channel_data_type, Flag::channel_order, Flag::normalized_coords,
     Flag::force_unnormalized_coords, Flag::filter_mode, Flag::addr_mode_0, Flag::addr_mode_1,
     Flag::addr_mode_2, Flag::array_size, Flag::num_mipmap_levels, Flag::num_samples, type}},
    {"bra", "l", {Flag::uni}},
    {"brx.idx", "s", {Flag::uni}},
    {"call", "", {Flag::uni}},
    {"exit", "", {}},
    {"ret", "", {Flag::uni}},
    {"activemask", "d", {type}},
    {"atom", "das?sss", {ordering, scope, space, reduce, Flag::noftz, Flag::cache_hint,
     vector, type}},
    {"bar", "s?sss", {Flag::cta, barrier, Flag::aligned, reduce, optional_type}},
    {"bar.warp.sync", "s", {}},
    {"barrier", "s?sss", {Flag::cta, barrier, Flag::aligned, reduce, optional_type}},
    {"barrier.cluster", "", {barrier, ordering, Flag::aligned}},
    {"elect", "ds", {Flag::sync}},
    {"fence", "?as", {Flag::proxy, Flag::alias, Flag::async, Flag::async_generic,
     Flag::tensormap_generic, Flag::mbarrier_init, space, ordering, Flag::sync_restrict_cta,
     Flag::sync_restrict_cluster, scope}},
    {"griddepcontrol", "", {Flag::launch_dependents, Flag::wait}},
    {"match", "dss", {vote, Flag::sync, type}},
    {"mbarrier.arrive", "da?s", {Flag::expect_tx, Flag::no_complete, ordering, scope, space, type}},
    {"mbarrier.arrive_drop", "da?s", {Flag::expect_tx, Flag::no_complete, ordering, scope,
     space, type}},
    {"mbarrier.complete_tx", "as", {ordering, scope, space, type}},
    {"mbarrier.expect_tx", "as", {ordering, scope, space, type}},
    {"mbarrier.init", "as", {space, type}},
    {"mbarrier.inval", "a", {space, type}},
    {"mbarrier.pending_count", "ds", {type}},
    {"mbarrier.test_wait", "das", {Flag::parity, ordering, scope, space, type}},
    {"mbarrier.try_wait", "das?s", {Flag::parity, ordering, scope, space, type}},
    {"membar", "", {Flag::proxy, Flag::alias, membar_scope}},
    {"red", "as?s", {ordering, scope, space, reduce, Flag::noftz, Flag::cache_hint, vector, type}},
    {"red.async", "asa", {ordering, scope, space, Flag::complete_tx_bytes, reduce, type}},
    {"redux", "dss", {Flag::sync, reduce, Flag::abs, Flag::nan, type}},
    {"vote", "ds?s", {Flag::sync, vote, type}},
    {"ldmatrix", "da", {Flag::sync, Flag::aligned, shape, matrices, Flag::trans, space, type}},
    {"mma", "dsss", {Flag::sync, Flag::aligned, shape, a_layout, b_layout, Flag::satfinite,
     type, type, type, type, bool_op, Flag::popc}},
    {"mma.sp", "dsssss", {Flag::sync, Flag::aligned, shape, a_layout, b_layout,
     Flag::satfinite, type, type, type, type}},
    {"mma.sp::ordered_metadata", "dsssss", {Flag::sync, Flag::aligned, shape, a_layout,
     b_layout, Flag::satfinite, type, type, type, type}},
    {"stmatrix", "as", {Flag::sync, Flag::aligned, shape, matrices, Flag::trans, space, type}},
    {"wgmma.commit_group", "", {Flag::sync, Flag::aligned}},
    {"wgmma.fence", "", {Flag::sync, Flag::aligned}},
    {"wgmma.mma_async", "dsss?ssss", {Flag::sync, Flag::aligned, shape, type, type, type,
     Flag::satfinite, bool_op, Flag::popc}},
    {"wgmma.mma_async.sp", "dsssss?ssss", {Flag::sync, Flag::aligned, shape, type, type, type,
     Flag::satfinite}},
    {"wgmma.wait_group", "s", {Flag::sync, Flag::aligned}},
    {"wmma.load", "da?s", {fragment, Flag::sync, Flag::aligned, a_layout, shape, space, type}},
    {"wmma.mma", "dsss", {bool_op, Flag::popc, Flag::sync, Flag::aligned, a_layout, b_layout,
     shape, rounding, Flag::satfinite, type, type, optional_type, optional_type}},
    {"wmma.store", "as?s", {fragment, Flag::sync, Flag::aligned, a_layout, shape, space, type}},
    {"alloca", "ds?s", {type}},
    {"stackrestore", "s", {type}},
    {"stacksave", "d", {type}},
    {"vabsdiff", "dss?s", {type, type, type, Flag::sat, Flag::op_add, Flag::op_min, Flag::op_max}},
    {"vabsdiff2", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vabsdiff4", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vadd", "dss?s", {type, type, type, Flag::sat, Flag::op_add, Flag::op_min, Flag::op_max}},
    {"vadd2", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vadd4", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vavrg2", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vavrg4", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vmad", "dsss", {type, type, type, Flag::po, Flag::sat, Flag::shr7, Flag::shr15}},
    {"vmax", "dss?s", {type, type, type, Flag::sat, Flag::op_add, Flag::op_min, Flag::op_max}},
    {"vmax2", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vmax4", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vmin", "dss?s", {type, type, type, Flag::sat, Flag::op_add, Flag::op_min, Flag::op_max}},
    {"vmin2", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vmin4", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vset", "dss?s", {type, type, compare, Flag::op_add, Flag::op_min, Flag::op_max}},
    {"vset2", "dsss", {type, type, compare, Flag::op_add}},
    {"vset4", "dsss", {type, type, compare, Flag::op_add}},
    {"vshl", "dss?s", {type, type, type, Flag::sat, shift_mode, Flag::op_add, Flag::op_min,
     Flag::op_max}},
    {"vshr", "dss?s", {type, type, type, Flag::sat, shift_mode, Flag::op_add, Flag::op_min,
     Flag::op_max}},
    {"vsub", "dss?s", {type, type, type, Flag::sat, Flag::op_add, Flag::op_min, Flag::op_max}},
    {"vsub2", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"vsub4", "dsss", {type, type, type, Flag::sat, Flag::op_add}},
    {"brkpt", "", {}},
    {"nanosleep", "s", {type}},
    {"pmevent", "s", {Flag::mask}},
    {"setmaxnreg", "s", {Flag::increase, Flag::decrease, Flag::sync, Flag::aligned, type}},
    {"trap", "", {}},
};
// clang-format on
static_assert(std::size(rows) == static_cast<std::size_t>(Opcode::count_));

const Row& row(Opcode opcode) {
  return rows[static_cast<std::size_t>(opcode)];
}

const std::unordered_map<std::string_view, Opcode>& by_name() {
  static const auto map = [] {
    std::unordered_map<std::string_view, Opcode> built;
    for (std::size_t i = 1; i < std::size(rows); ++i) {
      built.emplace(rows[i].info.name, static_cast<Opcode>(i));
    }
    return built;
  }();
  return map;
}

/// The longest beginning of `text`, ending at a dot or at the end, that names an operation.
Opcode longest_operation(std::string_view text, std::size_t& length) {
  constexpr std::size_t longest = 40;  // no name of an operation is longer
  text = text.substr(0, longest);
  Opcode found = Opcode::unknown;
  for (std::size_t end = text.find('.');; end = text.find('.', end + 1)) {
    const auto entry = by_name().find(text.substr(0, end));
    if (entry != by_name().end()) {
      found = entry->second;
      length = end == std::string_view::npos ? text.size() : end;
    }
    if (end == std::string_view::npos) return found;
  }
}

/// Fills the first free slot that takes `word`.
bool fill(std::span<const Slot> list, std::string_view word, std::uint32_t& filled,
          Modifiers& modifiers) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::uint32_t bit = 1u << i;
    if ((filled & bit) != 0 || !accept(list[i], word, modifiers)) continue;
    filled |= bit;
    return true;
  }
  return false;
}

}  // namespace

const OpcodeInfo& info(Opcode opcode) {
  return row(opcode).info;
}
std::string_view name(Opcode opcode) {
  return row(opcode).info.name;
}

std::span<const Slot> slots(Opcode opcode) {
  const SlotList& list = row(opcode).slots;
  return {list.slots.data(), list.count};
}

Mnemonic parse_mnemonic(std::string_view text) {
  Mnemonic result;
  std::size_t length = 0;
  const Opcode opcode = longest_operation(text, length);
  if (opcode == Opcode::unknown) {
    result.problem = fmt::format("unknown operation '{}'", text.substr(0, text.find('.')));
    return result;
  }
  std::string_view rest = text.substr(length);
  std::uint32_t filled = 0;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the dot
    const std::string_view word = rest.substr(0, rest.find('.'));
    if (!fill(slots(opcode), word, filled, result.modifiers)) {
      result.problem = fmt::format("'{}' does not allow the modifier '.{}'", name(opcode), word);
      result.modifiers = {};
      return result;
    }
    rest.remove_prefix(word.size());
  }
  result.opcode = opcode;
  std::size_t types_needed = 0;
  for (const Slot& slot : slots(opcode)) {
    if (!slot.is_flag && slot.group == type) ++types_needed;
  }
  if (result.modifiers.type_count < types_needed) {
    result.problem = fmt::format("'{}' needs {} type{}, this has {}", name(opcode), types_needed,
                                 types_needed == 1 ? "" : "s", result.modifiers.type_count);
  }
  return result;
}

std::string mnemonic(Opcode opcode, const Modifiers& modifiers) {
  std::string text(name(opcode));
  unsigned types_written = 0;
  for (const Slot& slot : slots(opcode)) write(slot, modifiers, types_written, text);
  return text;
}

}  // namespace tilescope::ptx
