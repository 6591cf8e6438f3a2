// The instructions of a kernel as the compiler wrote them, with the lines that they came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/events.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

struct CodeLine {
  SourcePlace place;  ///< as counted_place()
  std::uint32_t ptx_line = 0;
  std::string text;  ///< without its line break, blanks joined
};

/// The kernel of the last launch and the functions that it calls.
class CodeLines : public emulator::Observer {
 public:
  /// `ptx_of` gives the text that a kernel was parsed from.
  explicit CodeLines(std::function<std::string(const std::string&)> ptx_of)
      : ptx_of_(std::move(ptx_of)) {}

  std::uint32_t events() const override { return emulator::kNoEvents; }
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;

  /// In the order of the text.
  const std::vector<CodeLine>& result() const { return lines_; }

 private:
  std::function<std::string(const std::string&)> ptx_of_;
  std::vector<CodeLine> lines_;
};

}  // namespace tilescope::observe
