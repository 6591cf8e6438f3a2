#include <fmt/format.h>

#include <tilescope/laplacian.hpp>

#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"

namespace tilescope::cli {
namespace {

struct LaplacianCommand {
  std::string x;
  LaplacianOptions stencil;
  ArrayOptions options;

  int run() const {
    const NpyFile file(x);
    require_type(file, "laplacian", {DataType::float32, DataType::float64});
    const ConstMatrixView in = require_matrix(file);
    LaplacianOptions steps = stencil;
    steps.variant = options.variant;
    compute_npy(
        options,
        {.command = "laplacian",
         .text = fmt::format("{} = {} step{} of the stencil on {}", printable(options.output),
                             steps.iterations, steps.iterations == 1 ? "" : "s", printable(x)),
         .details = {{"iterations", steps.iterations},
                     {"center", steps.center},
                     {"side", steps.side}}},
        {&file}, file.header(), [&](Device& device, void* out) {
          return laplacian(device, in, dense_view(out, in.type, in.rows, in.columns, in.order),
                           steps);
        });
    return 0;
  }
};

}  // namespace

void register_laplacian(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<LaplacianCommand>();
  CLI::App* sub = app.add_subcommand("laplacian", "Apply a five-point stencil to a grid");
  sub->add_option("X", command->x, "A matrix of float32 or float64")
      ->required()
      ->type_name("X.npy");
  add_output_option(*sub, command->options);
  sub->add_option("--iterations", command->stencil.iterations, "Steps, all on the device")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--center", command->stencil.center, "Weight of the cell itself")
      ->type_name("NUMBER")
      ->capture_default_str();
  sub->add_option("--side", command->stencil.side, "Weight of its four neighbours")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_run_options(*sub, command->options, "laplacian");
  sub->footer(
      "A step is out = center * in + side * (north + south + west + east), with zeros\n"
      "outside the grid. The defaults give the Laplacian; --center 1-4r --side r a\n"
      "step of diffusion, which does not grow.\n"
      "\n"
      "Examples:\n"
      "  tilescope laplacian x.npy -o y.npy\n"
      "  tilescope laplacian x.npy -o y.npy --iterations 64 --center 0.2 --side 0.2");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
