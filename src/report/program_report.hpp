// The parts of reports that only whole programs have: how the program ended, and its launches.
#pragma once

#include <string>
#include <tilescope/explain.hpp>
#include <tilescope/run.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// "the program ended with exit code 3", "signal 11 (Segmentation fault) ended the program"; empty
/// for a program that ended well.
std::string end_in_words(const ProgramRun& program);

/// The values of `program` beside those of its launches: exit_code, signal, kernels, and which
/// launches were watched, if not all.
Record program_record(const ProgramRun& program);

/// "watched: 2 of 3 launches (0, scale:1); the others ran unwatched"
std::string watched_sentence(const ProgramRun& program);

/// For each launch: kernel, grid, block, place, and `totals` where it was watched.
List launch_list(const ExplainResult& result);

/// A table of the launches; equal ones in a row share a line.
void add_launches(Page& page, const ExplainResult& result);

/// The launches one after the other, each as long as it has instructions, for a renderer with
/// graphics.
TimeLine launches_figure(const ExplainResult& result);

/// The run of a program: nothing to read, since the program speaks for itself, but values.
Page program_page(const RunResult& result);

}  // namespace tilescope::report
