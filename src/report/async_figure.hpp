// Findings in asynchronous code for the page in a browser: what threads, engines and barriers do.
#pragma once

#include <optional>
#include <tilescope/finding.hpp>

#include "report/page/figure.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// One side of a finding.
RaceScene::Side scene_side(const FindingAccess& access, SourceTexts& sources);

/// The scene of a finding with AsyncFacts or PhaseFacts, and of an unfinished copy; nothing for
/// others.
std::optional<AsyncScene> async_scene(const Finding& finding, SourceTexts& sources);

}  // namespace tilescope::report
