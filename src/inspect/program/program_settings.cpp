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
                        {"max_instructions", settings.max_instructions},
                        {"device_memory", settings.device_memory},
                        {"progress", settings.progress},
                        {"pictures", settings.pictures},
                        {"schedules", settings.schedules}};
  if (settings.launch) object["launch"] = *settings.launch;
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
    object.at("max_instructions").get_to(settings.max_instructions);
    object.at("device_memory").get_to(settings.device_memory);
    object.at("progress").get_to(settings.progress);
    object.at("pictures").get_to(settings.pictures);
    object.at("schedules").get_to(settings.schedules);
    if (object.contains("launch")) settings.launch = object["launch"].get<std::uint64_t>();
    if (object.contains("schedule")) settings.schedule = object["schedule"].get<std::uint64_t>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::bad_input,
                fmt::format("{} has no settings of a program; unset {}, which names it",
                            quoted(path), program_variable));
  }
  return settings;
}

}  // namespace tilescope::inspect
