// The operations of PTX and their facts. opcodes.def has the rows.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope::ptx {

enum class Opcode : std::uint16_t {
#define OPCODE(enumerator, ...) enumerator,
#include "ptx/opcodes.def"
#undef OPCODE
  count_  ///< the number of operations
};

/// The end that an instruction gives a run of straight-line code. An instruction that may suspend,
/// split or leave a path ends one.
enum class BlockEnd : std::uint8_t {
  fall_through,  ///< none: the next instruction follows
  branch,
  branch_indexed,
  call,
  ret,
  exit,
  barrier,          ///< a barrier of the block
  cluster_barrier,  ///< the barrier of the cluster
  product_wait,     ///< for the products of the warpgroup: wgmma.wait_group
  collective,       ///< the lanes of a warp meet: shfl, vote, bar.warp.sync
  trap,
  yield,  ///< nanosleep
};

/// The arithmetic on floating point types. With other types each kind but `none` and those of
/// matrices is an integer operation.
enum class Arithmetic : std::uint8_t {
  none,
  integer,  ///< not counted with floating point types: abs, min
  add,
  mul,
  fma,
  special,              ///< an approximation and a few fused operations around it: sin, div, sqrt
  matrix,               ///< by one warp
  group_matrix,         ///< by the four warps of a warpgroup, B in shared memory
  sparse_group_matrix,  ///< the same with half of A left out
};

/// The effect of an instruction on the memory at its address.
enum class Effect : std::uint8_t {
  none,
  load,
  store,
  atomic,        ///< reads, changes and returns the old value
  reduction,     ///< as atomic, but returns nothing
  copy,          ///< an asynchronous copy from global to shared memory
  load_matrix,   ///< rows of 16 bytes
  store_matrix,  ///< rows of 16 bytes
  fence,
};

/// The origin of the result.
enum class Result : std::uint8_t {
  computed,    ///< equal operands give equal results, in every thread
  copied,      ///< the value of the operand
  loaded,      ///< an equal address gives an equal result
  per_thread,  ///< may differ between threads, whatever the operands
};

/// The part of an operation in the work of engines: bulk copies and products of warpgroups.
enum class EngineRole : std::uint8_t {
  none,
  mbarrier,  ///< it acts on the word of an mbarrier
  bulk,      ///< it starts a bulk copy, or an asynchronous store
  product,   ///< it starts a product
  product_fence,
  product_commit,
  product_wait,
};

struct OpcodeInfo {
  std::string_view name;
  std::string_view operands =
      {};  ///< a letter each (operand_classes.hpp); a call has lists instead
  std::string_view other_form =
      {};  ///< the operands of bar.red, atom.cas and mbarrier waits with .parity
  BlockEnd end = BlockEnd::fall_through;
  Arithmetic arithmetic = Arithmetic::none;
  Effect effect = Effect::none;
  Result result = Result::computed;
  bool waits = false;     ///< a loop around it may wait for another thread
  bool orders = false;    ///< it orders memory: accesses of its thread stay before or behind it
  bool releases = false;  ///< makes earlier writes of its thread visible to others
  EngineRole engine = EngineRole::none;
};
const OpcodeInfo& info(Opcode opcode);

/// PTX's spelling of the operation: "cp.async.wait_all"; "unknown" for Opcode::unknown.
std::string_view name(Opcode opcode);

}  // namespace tilescope::ptx
