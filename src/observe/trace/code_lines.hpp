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
  using PtxOf = std::function<std::string(const ptx::Module&)>;

  /// `ptx_of` gives the text that a module was parsed from.
  explicit CodeLines(PtxOf ptx_of) : ptx_of_(std::move(ptx_of)) {}

  std::uint32_t events() const override { return emulator::kNoEvents; }
  void begin_launch(const emulator::LaunchInfo& launch) override { program_ = &launch.program; }
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;

  /// In the order of the text. Call it before the kernel is unloaded.
  std::vector<CodeLine> result() const;

 private:
  PtxOf ptx_of_;
  const emulator::Program* program_ = nullptr;
};

}  // namespace tilescope::observe
