#include "observe/trace/code_lines.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace tilescope::observe {
namespace {

/// The instruction that begins in the first of `lines`, up to its semicolon.
std::string instruction_text(const std::vector<std::string_view>& lines, std::size_t first) {
  constexpr std::size_t most_lines = 12;
  std::string text;
  for (std::size_t i = first; i < std::min(lines.size(), first + most_lines); ++i) {
    if (!text.empty()) text.push_back(' ');
    for (const char c : trim(lines[i])) {
      const bool is_blank = c == ' ' || c == '\t';
      if (!is_blank) text.push_back(c);
      if (is_blank && text.back() != ' ') text.push_back(' ');
    }
    if (text.ends_with(';')) break;
  }
  return text;
}

}  // namespace

std::vector<CodeLine> CodeLines::result() const {
  if (program_ == nullptr) return {};
  std::vector<CodeLine> lines;
  const emulator::Program& program = *program_;
  const std::string ptx = ptx_of_(program.module());
  const std::vector<std::string_view> text = split(ptx, '\n');
  const auto count = static_cast<emulator::InstructionId>(program.instructions().size());
  for (emulator::InstructionId id = 0; id < count; ++id) {
    const std::uint32_t line = program.instruction(id).source->line;
    if (line == 0 || line > text.size()) continue;
    lines.push_back({counted_place(program, id), line, instruction_text(text, line - 1)});
  }
  return lines;
}

std::unique_ptr<emulator::BlockObserver> CodeLines::make_block_observer() {
  return std::make_unique<emulator::BlockObserver>();
}

}  // namespace tilescope::observe
