// The place of an instruction in the source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/program.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

/// Whether the instruction belongs to a part of the toolkit's library, by a word in the path of the
/// headers: "cooperative_groups".
bool is_from_library(const emulator::Program& program, emulator::InstructionId id,
                     std::string_view part);

/// The line of ptx::own_line.
SourcePlace source_place(const emulator::Program& program, emulator::InstructionId id);

/// The lines of the calls through which source_place() was inlined, innermost first.
std::vector<SourcePlace> places_of_calls(const emulator::Program& program,
                                         emulator::InstructionId id);

/// The place where an instruction is counted, so that every instruction has one: its source_place;
/// for code that the compiler moved away from every line, the line that declares its function; in
/// PTX without a line table the line of the PTX, of a file without a name.
SourcePlace counted_place(const emulator::Program& program, emulator::InstructionId id);

/// The places of all instructions of a program, as indices into a sorted table of lines.
class PlaceTable {
 public:
  using PlaceOf = SourcePlace (*)(const emulator::Program&, emulator::InstructionId);

  PlaceTable() = default;
  explicit PlaceTable(const emulator::Program& program, PlaceOf place_of = source_place);

  const std::vector<SourcePlace>& places() const { return places_; }
  std::uint32_t index(emulator::InstructionId id) const { return index_[id]; }
  const SourcePlace& place(emulator::InstructionId id) const { return places_[index_[id]]; }

 private:
  std::vector<SourcePlace> places_;
  std::vector<std::uint32_t> index_;
};

}  // namespace tilescope::observe
