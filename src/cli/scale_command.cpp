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

  int run() const {
    const NpyFile file(x);
    require_type(file, "scale", {DataType::float32, DataType::float64});
    const ConstMatrixView in = rows_of(file);
    compute_npy(
        options,
        {.command = "scale",
         .text = fmt::format("{} = {:g} * {}", printable(options.output), factor, printable(x)),
         .details = {{"factor", factor}}},
        {&file}, file.header(), [&](Device& device, void* out) {
          return transfer::scale(device, factor, in, dense_view(out, in.type, in.rows, in.columns),
                                 {.variant = options.variant},
                                 streaming(options, device, traffic({&file}, file.header())));
        });
    return 0;
  }
};

}  // namespace

void register_scale(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<ScaleCommand>();
  CLI::App* sub = app.add_subcommand("scale", "Multiply a picture or any array by a number");
  sub->add_option("X", command->x, "float32 or float64, of any shape")
      ->required()
      ->type_name("X.npy");
  sub->add_option("-f,--factor", command->factor, "The number, rounded to the elements' type")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_output_option(*sub, command->options);
  add_run_options(*sub, command->options, "scale");
  add_memory_option(*sub, command->options);
  sub->footer(
      "Examples:\n"
      "  tilescope scale picture.npy -o bright.npy\n"
      "  tilescope scale picture.npy -f 0.5 -o dark.npy --variant picture");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
