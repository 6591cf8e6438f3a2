// Decoded instructions, for the interpreter's loop. Plain data without any inline function of the
// standard library, because the lane kernels compile it for several instruction sets.
//
// A register is an array of 32 lanes in the frame of a function activation: 4 bytes a lane for
// types up to 32 bits (8- and 16-bit values are kept zero-extended), 8 for 64 bits, 16 for 128 bits
// (all low halves, then all high halves); a predicate is one 32-bit mask. Constants and the special
// registers that never change are registers too: they are in the image that a frame starts from. So
// every operand is a byte offset from the frame's start and one executor serves every operand.
#pragma once

#include <cstdint>

#include "ptx/opcode.hpp"

namespace tilescope::emulator {

using ptx::BlockEnd;

struct Context;
struct Code;

/// Runs one instruction for the lanes in Context::mask.
using Execute = void (*)(Context&, const Code&);

inline constexpr std::uint32_t kNone = 0xffffffffu;
inline constexpr std::uint32_t kAllLanes = 0xffffffffu;

/// The place of the condition code (carry) mask in every frame, and of registers that absorb unused
/// results.
inline constexpr std::uint32_t kCarryOffset = 0;
inline constexpr std::uint32_t kSinkOffset = 64;  // 512 bytes: wide enough for 128-bit registers
inline constexpr std::uint32_t kFirstRegister = kSinkOffset + 512;
/// The alignment of everything in a frame but predicates.
inline constexpr std::uint32_t kRegisterAlignment = 64;

/// A decoded instruction. Operands are byte offsets in the frame.
struct Code {
  Execute execute = nullptr;
  std::uint32_t dst = kSinkOffset;
  std::uint32_t a = 0, b = 0, c = 0;
  std::uint32_t guard = kNone;       ///< predicate of `@p`
  std::uint32_t guard_flip = 0;      ///< all ones for `@!p`
  std::int64_t offset = 0;           ///< offset of an address, or another constant of the executor
  std::uint32_t id = 0;              ///< InstructionId
  std::uint32_t slot = 0;            ///< index of a memory access's AccessPattern
  std::uint32_t dst2 = kSinkOffset;  ///< second result (`d|p`)
  std::uint32_t aux = 0;             ///< meaning by executor
  std::uint32_t a_flip = 0, b_flip = 0, c_flip = 0;  ///< all ones for a negated predicate operand
  std::uint16_t bytes = 0;                           ///< bytes per lane of a memory access
  std::uint8_t space = 0;                            ///< Space, kGenericSpace, kClusterSpace
  std::uint8_t access = 0;                           ///< AccessKind
  std::uint8_t order = 0;                            ///< MemoryOrder
  std::uint8_t scope = 0;                            ///< Scope
  std::uint16_t list_size = 0;
  const std::uint32_t* list = nullptr;  ///< further operands: elements of vectors
};

inline constexpr std::uint8_t kGenericSpace = 0xff;
inline constexpr std::uint8_t kClusterSpace = 0xfe;  ///< shared memory of any block of the cluster

/// A run of straight-line code: entered only at its begin, left only at its end. `end` describes
/// its last instruction, unless it is fall_through.
struct CodeBlock {
  std::uint32_t begin = 0;     ///< index in CodeFunction::code
  std::uint32_t body_end = 0;  ///< one past the last instruction that `execute` runs
  std::uint32_t size = 0;      ///< instructions, the ending one included
  BlockEnd end = BlockEnd::fall_through;
  bool backward = false;         ///< a branch to this block or an earlier one
  bool spin = false;             ///< a backward branch of a loop that may wait for other threads
  bool pause = false;            ///< a schedule may run another warp before it
  std::uint32_t target = kNone;  ///< block of a branch
  std::uint32_t next = kNone;    ///< block behind this one; kNone: the function ends
  std::uint32_t reconverge = kNone;  ///< block where lanes that diverge here meet; kNone: at the
                                     ///< end
  std::uint32_t counter = 0;         ///< index of the block's counters
};

}  // namespace tilescope::emulator
