// The link's rates and the pipelines' timelines, as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measure/link.hpp"
#include "measure/pipelines.hpp"

namespace tilescope::report {

/// Rates by size: one line a size, one column a kind of copy, and a bar for the pinned upload.
std::string link_table(const std::vector<measure::LinkRate>& rates);
nlohmann::json link_json(const std::vector<measure::LinkRate>& rates);

std::string pipeline_table(const std::vector<measure::PipelineResult>& results);
/// Three rows, one per engine, `width` columns for the whole time; a task is drawn as its
/// segment's last digit.
std::string timeline(const measure::PipelineResult& result, int width);
nlohmann::json pipeline_json(const std::vector<measure::PipelineResult>& results);

}  // namespace tilescope::report
