// The parent's wishes for a watched program, as a JSON file that an environment variable names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tilescope/block_sample.hpp>
#include <tilescope/program.hpp>
#include <vector>

namespace tilescope::inspect {

enum class ProgramMode : std::uint8_t { run, check, explain };

/// The variable of the environment that names the file.
inline constexpr const char* program_variable = "TILESCOPE_PROGRAM";

struct ProgramSettings {
  ProgramMode mode = ProgramMode::run;
  std::string device = "emulated";         ///< as Device::open takes it
  std::string journal;                     ///< path of the journal
  std::int64_t watcher = 0;                ///< the process that waits for the program; 0: none
  std::uint64_t max_instructions = 0;      ///< warp instructions of one launch; 0: no limit
  std::uint64_t device_memory = 0;         ///< bytes of the device; 0: as the GPU has
  bool progress = false;                   ///< show that of long launches on a terminal
  std::vector<LaunchRange> launches = {};  ///< as in InspectOptions
  std::optional<BlockSample> blocks = {};  ///< explain: as in InspectOptions
  bool pictures = false;                   ///< explain: as in InspectOptions
  std::uint64_t max_findings = 0;          ///< as in InspectOptions
  std::uint64_t schedules = 1;             ///< as in InspectOptions
  std::optional<std::uint64_t> schedule = {};
  std::string resume = {};                  ///< as in InspectOptions; the journal is this file
  std::vector<std::uint64_t> checked = {};  ///< digests of launches that need not be watched again
};

void write_program_settings(const ProgramSettings& settings, const std::string& path);

/// Throws Error(bad_input) for a file that cannot be read or has other content.
ProgramSettings read_program_settings(const std::string& path);

}  // namespace tilescope::inspect
