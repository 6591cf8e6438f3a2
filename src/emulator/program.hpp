// A kernel and every function it may call, decoded for execution, with the table that leads from
// instruction numbers back to PTX and source lines.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/access_watch.hpp"
#include "emulator/code.hpp"
#include "emulator/events.hpp"
#include "ptx/location.hpp"
#include "ptx/module.hpp"

namespace tilescope::emulator {

class CompiledCode;  // compiled_code.hpp

/// One instruction, by InstructionId.
struct InstructionInfo {
  const ptx::Instruction* source = nullptr;
  std::uint32_t function = 0;     ///< index into Program::functions()
  std::uint32_t index = 0;        ///< in ptx::Function::instructions
  std::uint32_t basic_block = 0;  ///< number of its straight-line run, unique in the program
};

/// A named piece of a thread's frame in local memory, or of its parameters.
struct LocalVariable {
  std::string_view name;
  std::uint32_t offset = 0;  ///< from the frame's base
  std::uint32_t bytes = 0;
};

/// Parameter storage of an activation: `bytes` per lane at frame offset `offset + lane * bytes`, or
/// (in_register) a register at `offset`.
struct ParameterSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool in_register = false;
  bool is_predicate() const { return in_register && bytes == 0; }
};

struct DeviceFunction;  // device_runtime_calls.hpp

/// device: a function of the device runtime, such as a launch.
enum class Builtin : std::uint8_t { none, printf, malloc, free, assert_fail, device };

struct CallCode {
  std::uint32_t callee = kNone;  ///< index into Program::functions(); kNone: indirect
  std::uint32_t target = kNone;  ///< register with the function's address, if indirect
  Builtin builtin = Builtin::none;
  const DeviceFunction* device_function = nullptr;  ///< if builtin is `device`
  std::vector<ParameterSlot> arguments;             ///< in the caller's frame
  std::vector<ParameterSlot> returns;
};

/// A register that is filled when a frame is set up.
struct SpecialUse {
  ptx::SpecialRegister special;  ///< none: the base of the frame's local memory
  std::uint32_t offset;          ///< the register
  std::uint8_t bytes;            ///< 4 or 8 per lane; 0 for a predicate
  std::uint64_t addend;
};

/// A register of the image that holds a constant in every lane.
struct ConstantRegister {
  std::uint32_t offset;
  std::uint8_t bytes;  ///< per lane; 0 for a predicate
  std::uint64_t bits;
};

/// The place of a register operand in the frame of its function.
struct RegisterPlace {
  std::uint32_t offset;
  std::uint8_t width;  ///< bytes per lane: 4, 8, 16; 0 for a predicate
};

/// A loop that may wait for other threads.
struct SpinLoop {
  std::uint32_t first = 0, last = 0;  ///< its blocks
  std::uint32_t looks_at = kNone;     ///< index in CodeFunction::code of the instruction that reads
                                      ///< what others may change; kNone: there is none
};

struct MatrixPlan;  // instructions/matrix_product.hpp

struct CodeFunction {
  const ptx::Function* source = nullptr;
  std::vector<Code> code;
  std::vector<CodeBlock> blocks;
  std::vector<RegisterPlace> registers;  ///< by ptx::Function::registers
  std::vector<ConstantRegister> constants;
  std::vector<SpinLoop> spins;
  std::vector<CallCode> calls;                              ///< by Code::aux of a call
  std::vector<std::shared_ptr<const MatrixPlan>> products;  ///< by Code::aux of a matrix product
  std::vector<std::vector<std::uint32_t>> jump_tables;      ///< blocks, by Code::aux of a brx
  std::vector<std::uint8_t> image;   ///< initial registers of a frame; its size is the frame's
  std::vector<SpecialUse> specials;  ///< registers of the image to be filled per launch and warp
  std::vector<ParameterSlot> parameters;  ///< of a called function
  std::vector<ParameterSlot> returns;
  std::vector<LocalVariable> locals;
  std::uint32_t local_bytes = 0;
  std::deque<std::vector<std::uint32_t>> lists;  ///< owns Code::list
};

/// The needs of a program besides its instructions.
struct ProgramNeeds {
  bool heap = false;
  bool alloca_stack = false;
  bool prints = false;
  bool maps_ranks = false;  ///< it makes addresses of other blocks' shared memory
  bool device_runtime = false;
  bool reserved_shared = false;  ///< it reads the address of the system's part of shared memory
  bool order_dependent = false;  ///< results of atomics depend on the order of the blocks
};

/// Immutable once decoded, but for its compiled code; launches share it.
class Program {
 public:
  std::string_view kernel() const { return functions_.front().source->name; }
  const ptx::Module& module() const { return *module_; }
  std::span<const InstructionInfo> instructions() const { return instructions_; }
  const InstructionInfo& instruction(InstructionId id) const { return instructions_[id]; }
  /// The kernel is the first; the others are called, directly or through a pointer.
  std::span<const CodeFunction> functions() const { return functions_; }
  /// The source of an instruction, innermost inlined function first; empty without line table.
  std::vector<ptx::InlinedLocation> location(InstructionId id) const {
    return ptx::inline_chain(*module_, *instructions_[id].source);
  }
  /// "kernel.cu:12", or "line 34 of the PTX" without line table.
  std::string place(InstructionId id) const;

  /// Static shared memory in order of offset; dynamic shared memory begins at static_shared_bytes.
  std::span<const SharedVariable> shared_variables() const { return shared_; }
  std::uint32_t static_shared_bytes() const { return static_shared_bytes_; }
  std::uint32_t local_bytes_per_thread() const { return local_bytes_; }
  std::uint32_t parameter_bytes() const;
  /// Threads per block that its launch bounds allow; 0: no bound.
  int most_threads_per_block() const;
  /// Function index of an address that a program may call through, or kNone.
  std::uint32_t function_at(std::uint64_t address) const;
  bool recursive() const { return recursive_; }
  const ProgramNeeds& needs() const { return needs_; }
  /// The GPU's compute capability: 10 times major plus minor.
  unsigned capability() const { return capability_; }
  std::uint32_t pattern_slots() const { return pattern_slots_; }
  std::uint32_t block_counters() const { return block_counters_; }
  /// Null where nothing can be compiled.
  CompiledCode* compiled_code(AccessWatch watch) const {
    return compiled_code_[static_cast<std::size_t>(watch)].get();
  }

 private:
  friend class ProgramDecoder;
  std::shared_ptr<const ptx::Module> module_;
  std::vector<InstructionInfo> instructions_;
  std::vector<CodeFunction> functions_;
  std::vector<SharedVariable> shared_;
  std::uint32_t static_shared_bytes_ = 0;
  std::uint32_t local_bytes_ = 0;
  std::uint32_t pattern_slots_ = 0;
  std::uint32_t block_counters_ = 0;
  std::vector<std::uint32_t> by_module_index_;  ///< module function -> program function
  bool recursive_ = false;
  ProgramNeeds needs_;
  unsigned capability_ = 0;
  std::array<std::shared_ptr<CompiledCode>, 3> compiled_code_;  ///< by AccessWatch
};

/// Addresses of a loaded module's symbols, and its GPU, which decoding needs.
struct SymbolAddresses {
  unsigned capability = 0;               ///< of the GPU: 10 times major plus minor
  std::vector<std::uint64_t> variables;  ///< by index in Module::variables; 0 if not in memory
};

/// Decodes `kernel` and what it calls. Throws bad_input naming every operation that has no
/// implementation, with its source line. `pauses`: for launches with a schedule.
std::shared_ptr<const Program> decode_program(std::shared_ptr<const ptx::Module> module,
                                              std::uint32_t kernel,
                                              const SymbolAddresses& addresses,
                                              bool pauses = false);

}  // namespace tilescope::emulator
