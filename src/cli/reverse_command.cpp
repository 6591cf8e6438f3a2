#include <fmt/format.h>

#include <tilescope/reverse.hpp>

#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::cli {
namespace {

struct ReverseCommand {
  std::string x;
  ArrayOptions options;

  int run() const {
    const NpyFile file(x);
    require_list(file);
    const ConstArrayView from = elements_of(file);
    compute_npy(options,
                {.command = "reverse",
                 .text = fmt::format("{} = {} backwards", printable(options.output), printable(x))},
                {&file}, file.header(), [&](Device& device, void* out) {
                  return transfer::reverse(
                      device, from, {{from.type, from.count, out}}, {.variant = options.variant},
                      streaming(options, device, traffic({&file}, file.header())));
                });
    return 0;
  }
};

}  // namespace

void register_reverse(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<ReverseCommand>();
  CLI::App* sub = app.add_subcommand("reverse", "Reverse a list");
  sub->add_option("X", command->x, "A list, of any type")->required()->type_name("X.npy");
  add_output_option(*sub, command->options);
  add_run_options(*sub, command->options, "reverse");
  add_memory_option(*sub, command->options);
  sub->footer(
      "Examples:\n"
      "  tilescope reverse x.npy -o y.npy\n"
      "  tilescope reverse x.npy -o y.npy --variant shared --device emulated");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
