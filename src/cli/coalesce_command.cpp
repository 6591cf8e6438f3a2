#include <fmt/format.h>

#include <tilescope/error.hpp>

#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "report/access_report.hpp"

namespace tilescope::cli {

namespace {

struct CoalesceCommand {
  AccessOptions access;
  ReasoningOptions options;

  void declare(const Options& add) {
    add("ACCESS", access.expression, AccessOptions::help, required);
    access.declare(add);
    options.declare(add, false);
  }

  int run() const {
    const gpu::AccessQuestion question = access.question(32);
    return options.finish(report::coalescing_page(question, gpu::analyse_access(question)));
  }
};

}  // namespace

const Command coalesce_command{
    "coalesce", "Is an access to global memory coalesced?", declare<CoalesceCommand>,
    "An index is coalesced when it is a part free of threadIdx.x, plus threadIdx.x.\n"
    "Known names: threadIdx, blockIdx, blockDim, gridDim (.x .y .z), and as lectures\n"
    "use them tx, ty, bx, by, row, col, i, j. Other names get a value with --let;\n"
    "without one, 1,024 if they multiply something, else 0.",
    "tilescope coalesce 'A[row*n + k]'\n"
    "tilescope coalesce 'A[i*n + k]' --let n=1000 --show\n"
    "tilescope coalesce 'points[3*i]' --block 256\n"
    "tilescope coalesce 'table[key[i]]'"};

}  // namespace tilescope::cli
