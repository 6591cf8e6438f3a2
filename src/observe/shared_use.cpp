#include "observe/shared_use.hpp"

namespace tilescope::observe {
namespace {

/// `atom` has a destination before the address, `red` has none. A loop whose optimised form has the
/// 1 in a register is not recognised.
bool adds_one(const ptx::Instruction& in) {
  const std::size_t value = ptx::info(in.opcode).effect == ptx::Effect::atomic ? 2 : 1;
  const ptx::Type type = in.modifiers.type();
  return in.modifiers.reduce == ptx::ReduceOp::add &&
         (type == ptx::Type::u32 || type == ptx::Type::s32) && in.operands.size() > value &&
         in.operands[value].kind == ptx::Operand::Kind::immediate && in.operands[value].bits == 1;
}

}  // namespace

gpu::SharedUse shared_use(const ptx::Instruction& instruction, emulator::AccessKind kind) {
  switch (kind) {
    case emulator::AccessKind::store:
    case emulator::AccessKind::async_store:
      return gpu::SharedUse::store;
    case emulator::AccessKind::atomic:
      return gpu::SharedUse::atomic;
    case emulator::AccessKind::reduction:
      return adds_one(instruction) ? gpu::SharedUse::increment : gpu::SharedUse::atomic;
    default:
      return gpu::SharedUse::load;
  }
}

}  // namespace tilescope::observe
