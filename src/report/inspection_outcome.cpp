#include "report/inspection_outcome.hpp"

#include <set>

#include "report/program_report.hpp"

namespace tilescope::report {
namespace {

std::string reason_of_ending(const Inspection& result) {
  switch (result.ran.ending) {
    case Ending::interrupted:
      return "the run was interrupted";
    case Ending::killed:
      return end_in_words(*result.program);
    default:
      if (!result.program) return "";
      return result.program->launches.empty() ? "no kernel was launched" : result.program->absent;
  }
}

}  // namespace

Outcome outcome_of(const Inspection& result) {
  Outcome outcome{.target = result.target, .broken = reason_of_ending(result)};
  if (!result.program) {
    outcome.cases = {result.target};
    return outcome;
  }
  std::set<std::string> kernels;
  for (const ProgramLaunch& launch : result.program->launches) {
    if (kernels.insert(launch.kernel).second) outcome.cases.push_back(launch.kernel);
  }
  return outcome;
}

std::string test_case_of(const Inspection& result, const std::string& kernel) {
  if (!result.program) return result.target;
  return kernel.empty() ? "host code" : kernel;
}

}  // namespace tilescope::report
