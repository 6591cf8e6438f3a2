#include <fmt/format.h>

#include <tilescope/transpose.hpp>

#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"

namespace tilescope::cli {
namespace {

struct TransposeCommand {
  std::string x;
  ArrayOptions options;

  void declare(const Options& add) {
    add("X X.npy", x, "A matrix, of any type", required);
    options.declare_output(add);
    options.declare_run(add);
  }

  int run() const {
    const NpyFile file(x);
    const ConstMatrixView in = require_matrix(file);
    return compute_npy(
        options,
        {.command = "transpose",
         .text = fmt::format("{} = {} transposed", printable(options.output), printable(x))},
        {&file}, npy_matrix_header(in.type, in.columns, in.rows, in.order),
        [&](Device& device, void* out, const auto&) {
          return transpose(device, in, dense_view(out, in.type, in.columns, in.rows, in.order),
                           {.variant = options.variant});
        });
  }
};

}  // namespace

const Command transpose_command{
    "transpose", "Exchange a matrix's rows and columns", declare<TransposeCommand>,
    "The result is stored in the order of X, C or Fortran.",
    "tilescope transpose x.npy -o y.npy\n"
    "tilescope transpose x.npy -o y.npy --variant padded --device emulated"};

}  // namespace tilescope::cli
