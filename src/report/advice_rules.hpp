// The rules behind advise(), by the kind of access.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tilescope/explain.hpp>
#include <vector>

#include "observe/count/counts.hpp"
#include "observe/trace/lane_samples.hpp"
#include "report/access_words.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// All accesses of one line to one object, unrolled copies together, with the costliest of them.
struct AccessGroup {
  SourcePlace place;
  const observe::LaneSample* sample = nullptr;
  Counts counts;
};

struct AdviceInput {
  const LaunchCounts& counts;
  const std::vector<observe::InstructionCount>& instructions;
  const std::vector<observe::LaneSample>& samples;
  SourceTexts& sources;
  std::set<std::string> objects;  ///< names of all accessed buffers and variables
};

/// Anything below this share of its kind is left out.
constexpr double least_share = 0.02;

std::string_view access_verb(emulator::AccessKind kind);
/// "The load of A[row * k + i]", or its known part.
std::string access_name(const AdviceInput& input, const AccessGroup& group);
/// The access in the source's own text.
WrittenAccess written(const AdviceInput& input, const AccessGroup& group);

void advise_on_sectors(const AdviceInput& input, const AccessGroup& group,
                       std::vector<Advice>& advice);
void advise_on_conflicts(const AdviceInput& input, const AccessGroup& group,
                         std::vector<Advice>& advice);
void advise_on_flow(const AdviceInput& input, std::vector<Advice>& advice);

}  // namespace tilescope::report
