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

  int run() const {
    const NpyFile file(x);
    const ConstMatrixView in = require_matrix(file);
    compute_npy(
        options,
        {.command = "transpose",
         .text = fmt::format("{} = {} transposed", printable(options.output), printable(x))},
        {&file}, npy_matrix_header(in.type, in.columns, in.rows, in.order),
        [&](Device& device, void* out) {
          return transpose(device, in, dense_view(out, in.type, in.columns, in.rows, in.order),
                           {.variant = options.variant});
        });
    return 0;
  }
};

}  // namespace

void register_transpose(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<TransposeCommand>();
  CLI::App* sub = app.add_subcommand("transpose", "Exchange a matrix's rows and columns");
  sub->add_option("X", command->x, "A matrix, of any type")->required()->type_name("X.npy");
  add_output_option(*sub, command->options);
  add_run_options(*sub, command->options, "transpose");
  sub->footer(
      "The result is stored in the order of X, C or Fortran.\n"
      "\n"
      "Examples:\n"
      "  tilescope transpose x.npy -o y.npy\n"
      "  tilescope transpose x.npy -o y.npy --variant padded --device emulated");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
