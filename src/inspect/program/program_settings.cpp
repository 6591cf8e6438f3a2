#include "inspect/program/program_settings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/json_object.hpp"
#include "base/output_file.hpp"

namespace tilescope::inspect {

void write_program_settings(const ProgramSettings& settings, const std::string& path) {
  nlohmann::json object{{"mode", settings.mode},
                        {"device", settings.device},
                        {"journal", settings.journal},
                        {"watcher", settings.watcher},
                        {"max_instructions", settings.max_instructions},
                        {"device_memory", settings.device_memory},
                        {"progress", settings.progress},
                        {"pictures", settings.pictures},
                        {"max_findings", settings.max_findings},
                        {"schedules", settings.schedules},
                        {"resume", settings.resume},
                        {"checked", settings.checked}};
  for (const LaunchRange& range : settings.launches) {
    object["launches"].push_back({range.kernel, range.first, range.last});
  }
  if (const auto& blocks = settings.blocks) {
    object["blocks"] = {blocks->blocks, blocks->percent, blocks->first, blocks->last, blocks->seed};
  }
  if (settings.schedule) object["schedule"] = *settings.schedule;
  OutputFile file(path);
  file.append(object.dump());
  file.commit();
}

ProgramSettings read_program_settings(const std::string& path) {
  const nlohmann::json object = parse_json_object(read_text_file(path), quoted(path));
  ProgramSettings settings;
  try {
    object.at("mode").get_to(settings.mode);
    object.at("device").get_to(settings.device);
    object.at("journal").get_to(settings.journal);
    object.at("watcher").get_to(settings.watcher);
    object.at("max_instructions").get_to(settings.max_instructions);
    object.at("device_memory").get_to(settings.device_memory);
    object.at("progress").get_to(settings.progress);
    object.at("pictures").get_to(settings.pictures);
    object.at("max_findings").get_to(settings.max_findings);
    object.at("schedules").get_to(settings.schedules);
    object.at("resume").get_to(settings.resume);
    object.at("checked").get_to(settings.checked);
    for (const nlohmann::json& range : object.value("launches", nlohmann::json::array())) {
      settings.launches.push_back({range.at(0), range.at(1), range.at(2)});
    }
    if (object.contains("blocks")) {
      const nlohmann::json& blocks = object["blocks"];
      settings.blocks =
          BlockSample{blocks.at(0), blocks.at(1), blocks.at(2), blocks.at(3), blocks.at(4)};
    }
    if (object.contains("schedule")) settings.schedule = object["schedule"].get<std::uint64_t>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::bad_input,
                fmt::format("{} has no settings of a program; unset {}, which names it",
                            quoted(path), program_variable));
  }
  return settings;
}

}  // namespace tilescope::inspect
