#include <tilescope/gpu/banks.hpp>

#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "report/access_report.hpp"
#include "report/banks_report.hpp"

namespace tilescope::cli {
namespace {

struct BanksCommand {
  AccessOptions access;
  ReasoningOptions options;
  gpu::BankMatrix matrix;

  void declare(const Options& add) {
    add("ACCESS", access.expression, AccessOptions::help);
    access.declare(add);
    add("--banks N", matrix.banks, "Banks: 1, 2, 4, ... 64", shown);
    add("--word-bytes N", matrix.word_bytes, "Width of a bank, 4 or 8", shown);
    add("--rows N", matrix.rows, "Rows of the matrix", shown);
    add("--padding N", matrix.padding, "Unused elements at the end of each row", shown);
    add("--lanes N", matrix.lanes, "Lanes of an access (default: as many as banks, at most 32)");
    options.declare(add, false);
  }

  int run() const {
    gpu::BankMatrix asked = matrix;
    asked.element_bytes = access.element_bytes;
    if (access.columns > 0) {
      asked.columns = static_cast<int>(std::min<std::int64_t>(access.columns, 1 << 21));
    }
    gpu::require_bank_matrix(asked);
    if (access.expression.empty()) return options.finish(report::banks_page(asked));
    gpu::AccessQuestion question = access.question(matrix.banks);
    if (question.columns > 0) question.columns += matrix.padding;
    return options.finish(report::bank_access_page(question, gpu::analyse_access(question)));
  }
};

}  // namespace

const Command banks_command{
    "banks", "Shared-memory banks: picture, conflicts, padding", declare<BanksCommand>,
    "Without ACCESS: the bank of every element of a matrix (32 x 32 by default), and\n"
    "what it costs to read it along rows and down columns. With ACCESS: what one\n"
    "warp's access costs.",
    "tilescope banks --banks 8 --rows 8 --columns 8\n"
    "tilescope banks --banks 8 --rows 8 --columns 8 --padding 1\n"
    "tilescope banks --element-bytes 8 --show\n"
    "tilescope banks 'tile[tx][k]' --columns 32 --block 32,32"};

}  // namespace tilescope::cli
