#include "report/race_figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/async_figure.hpp"
#include "report/source_figure.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

constexpr std::size_t most_scenes = 8;

struct MissingOrder {
  std::string name;          ///< empty where a single word does not name it
  std::string meaning = {};  ///< for readers who do not know the name; may be empty
};

/// The thing that would order the two sides.
MissingOrder missing_order(const RaceFacts& facts) {
  constexpr const char* barrier = "no thread passes it before all have come";
  if (facts.same_bits) return {};
  if (facts.update) return {"one atomic operation"};
  switch (facts.relation) {
    case RaceRelation::same_instruction:
      return {};
    case RaceRelation::same_warp:
      return {"__syncwarp()", barrier};
    case RaceRelation::same_block:
      return {"a barrier, __syncthreads()", barrier};
    case RaceRelation::two_blocks:
      return {"blocks wait for nobody"};
    case RaceRelation::unfinished_copy:
    case RaceRelation::copy_source:
      return {};  // async_scene() draws them
    case RaceRelation::relaxed_flag:
      return {"an acquire"};
    case RaceRelation::unfenced_relay:
      return {"__threadfence()"};
    case RaceRelation::child_grid:
      return {"a grid and its children run at the same time"};
  }
  return {};
}

RaceScene scene_of(const Finding& finding, SourceTexts& sources) {
  MissingOrder missing = missing_order(facts_of<RaceFacts>(finding));
  RaceScene scene{
      .sides = {scene_side(finding.first, sources), scene_side(*finding.second, sources)},
      .memory = to_string(memory_of(finding)),
      .message = message(finding),
      .cure = cure(finding),
      .missing = std::move(missing.name),
      .meaning = std::move(missing.meaning)};
  // As the source has them, from the top down.
  const SourcePlace &a = finding.first.place, &b = finding.second->place;
  if (a.file == b.file && b.line < a.line) std::swap(scene.sides[0], scene.sides[1]);
  return scene;
}

}  // namespace

void add_finding_figures(Page& page, const std::vector<Finding>& findings, SourceTexts& sources) {
  SourceFacts facts;
  for (const Finding& finding : findings) {
    std::size_t scene = 0;
    if (page.figures.size() < most_scenes) {
      if (auto drawn = async_scene(finding, sources)) {
        page.figures.emplace_back(std::move(*drawn));
        scene = page.figures.size();
      } else if (std::holds_alternative<RaceFacts>(finding.facts) && finding.second) {
        page.figures.emplace_back(scene_of(finding, sources));
        scene = page.figures.size();
      }
    }
    if (finding.first.place.line == 0) continue;
    facts.remarks[finding.first.place].push_back({std::string(to_string(finding.severity)),
                                                  std::string(to_string(finding.kind)),
                                                  message(finding), cure(finding), scene});
  }
  add_source_figures(page, facts, sources);
}

}  // namespace tilescope::report
