// Where in the source an instruction belongs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/program.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

/// Is the file one of those that come with the CUDA toolkit (cooperative groups, half precision,
/// libcu++, CUB)? Its lines are credited to the line that called it.
bool is_toolkit_header(std::string_view path);

/// The innermost line that does not lie in a toolkit header; when all do, the innermost.
SourcePlace source_place(const emulator::Program& program, emulator::InstructionId id);

/// Where to count an instruction, so that nothing is left over: its source_place; for what the
/// compiler hoisted away from every line, the line that declares its function; in PTX without a
/// line table the line of the PTX, of a file without a name.
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
