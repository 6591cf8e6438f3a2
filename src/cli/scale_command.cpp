#include <fmt/format.h>

#include <tilescope/scale.hpp>

#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::cli {
namespace {

struct ScaleCommand {
  std::string x;
  double factor = 2.0;
  ArrayOptions options;

  void declare(const Options& add) {
    add("X X.npy", x, "float32 or float64, of any shape", required);
    add("-f,--factor NUMBER", factor, "The number, rounded to the elements' type", shown);
    options.declare_output(add);
    options.declare_run(add);
    options.declare_memory(add);
  }

  int run() const {
    const NpyFile file = open_npy(x, "scale", {DataType::float32, DataType::float64});
    const ConstMatrixView in = rows_of(file);
    return compute_npy(
        options,
        {.command = "scale",
         .text = fmt::format("{} = {:g} * {}", printable(options.output), factor, printable(x)),
         .details = {{"factor", factor}}},
        {&file}, file.header(), [&](Device& device, void* out, const auto& stream) {
          return transfer::scale(device, factor, in, dense_view(out, in.type, in.rows, in.columns),
                                 {.variant = options.variant}, stream);
        });
  }
};

}  // namespace

const Command scale_command{"scale", "Multiply a picture or any array by a number",
                            declare<ScaleCommand>, "",
                            "tilescope scale picture.npy -o bright.npy\n"
                            "tilescope scale picture.npy -f 0.5 -o dark.npy --variant picture"};

}  // namespace tilescope::cli
