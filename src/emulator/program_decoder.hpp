// Decodes a kernel and everything it may call into a Program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/decoder.hpp"
#include "ptx/control_flow.hpp"

namespace tilescope::emulator {

class ProgramDecoder {
 public:
  ProgramDecoder(std::shared_ptr<const ptx::Module> module, std::uint32_t kernel,
                 const SymbolAddresses& addresses, bool pauses);
  std::shared_ptr<const Program> run();

 private:
  void find_functions();
  void mention(std::uint32_t function);
  void mention_symbols(const ptx::Operand& operand);
  void lay_out_shared();
  void lay_out_variables(FunctionDecoder& decoder, std::uint32_t index);
  void decode_function(std::uint32_t index);
  void decode_instructions(FunctionDecoder& decoder);
  void split_blocks(FunctionDecoder& decoder, const ptx::ControlFlow& flow);
  void link_block(FunctionDecoder& decoder, const ptx::ControlFlow& flow,
                  const std::vector<std::uint32_t>& block_at, std::uint32_t block);
  void find_spins(CodeFunction& function) const;
  void refuse(const ptx::Function& function, const ptx::Instruction& instruction,
              const std::string& reason);
  std::string refusal_list() const;
  void size_locals();

  /// An operation that is not executed, at its first place.
  struct Refusal {
    std::string text, place, reason;
    std::size_t others = 0;  ///< further places
  };
  std::shared_ptr<const ptx::Module> module_;
  const SymbolAddresses& addresses_;
  bool pauses_;  ///< blocks end before accesses that other threads may see
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::vector<std::uint32_t> reached_;  ///< module indices of functions, in program order
  bool indirect_calls_ = false;
  std::vector<std::uint64_t> shared_offsets_;                 ///< by module variable
  std::vector<std::vector<std::uint64_t>> function_offsets_;  ///< by program function, variable
  std::vector<Refusal> refusals_;
};

}  // namespace tilescope::emulator
