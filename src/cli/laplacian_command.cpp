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

  void declare(const Options& add) {
    add("X X.npy", x, "A matrix of float32 or float64", required);
    options.declare_output(add);
    add("--iterations N", stencil.iterations, "Steps, all on the device", shown,
        within(std::int64_t{1}, std::int64_t{1'000'000}));
    add("--center NUMBER", stencil.center, "Weight of the cell itself", shown);
    add("--side NUMBER", stencil.side, "Weight of its four neighbours", shown);
    options.declare_run(add);
  }

  int run() const {
    const NpyFile file = open_npy(x, "laplacian", {DataType::float32, DataType::float64});
    const ConstMatrixView in = require_matrix(file);
    LaplacianOptions steps = stencil;
    steps.variant = options.variant;
    return compute_npy(
        options,
        {.command = "laplacian",
         .text = fmt::format("{} = {} step{} of the stencil on {}", printable(options.output),
                             steps.iterations, steps.iterations == 1 ? "" : "s", printable(x)),
         .details = {{"iterations", steps.iterations},
                     {"center", steps.center},
                     {"side", steps.side}}},
        {&file}, file.header(), [&](Device& device, void* out, const auto&) {
          return laplacian(device, in, dense_view(out, in.type, in.rows, in.columns, in.order),
                           steps);
        });
  }
};

}  // namespace

const Command laplacian_command{
    "laplacian", "Apply a five-point stencil to a grid", declare<LaplacianCommand>,
    "A step is out = center * in + side * (north + south + west + east), with zeros\n"
    "outside the grid. The defaults give the Laplacian; --center 1-4r --side r a\n"
    "step of diffusion, which does not grow.",
    "tilescope laplacian x.npy -o y.npy\n"
    "tilescope laplacian x.npy -o y.npy --iterations 64 --center 0.2 --side 0.2"};

}  // namespace tilescope::cli
