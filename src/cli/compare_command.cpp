#include "cli/command.hpp"
#include "cli/show.hpp"
#include "report/compare_report.hpp"

namespace tilescope::cli {
namespace {

struct CompareCommand {
  std::string before, after;
  Outputs outputs;

  void declare(const Options& add) {
    add("BEFORE A.json", before, "A report of explain --json or check --json", required);
    add("AFTER B.json", after, "A later one", required);
    add.outputs(outputs);
  }

  int run() const {
    show(report::compare_page(report::read_snapshot(before), report::read_snapshot(after)),
         outputs);
    return 0;
  }
};

}  // namespace

const Command compare_command{
    "compare", "What moved between two reports, line by line", declare<CompareCommand>,
    "Lines are the same if their text is, even where they have moved.",
    "tilescope explain transpose.cu --launch launch.json --json before.json\n"
    "tilescope compare before.json after.json"};

}  // namespace tilescope::cli
