// Code of warp instructions that all 32 lanes run, with their frame up to date.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/compiled_state.hpp"

namespace tilescope::emulator::compiled {

/// Moves values between the lanes, where every lane's source is known when the code is compiled.
class ShuffleEmitter {
 public:
  /// `by` and `control`: operands b and c, the same for all lanes.
  ShuffleEmitter(Assembler& assembler, const Code& code, std::uint32_t by, std::uint32_t control);
  void emit();

 private:
  void permute();
  void load(int to, const int* from);
  void load_half(int to, const int* from);
  Place lane(int number) const { return at(kFrame, std::int64_t{code_.a} + number * 4); }

  Assembler& a_;
  const Code& code_;
  std::array<int, 32> sources_{};  ///< by lane
  LaneMask inside_ = 0;            ///< lanes whose source is in range
};

}  // namespace tilescope::emulator::compiled
