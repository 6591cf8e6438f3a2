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

  void declare(const Options& add) {
    add("X X.npy", x, "A list, of any type", required);
    options.declare_output(add);
    options.declare_run(add);
    options.declare_memory(add);
  }

  int run() const {
    const NpyFile file(x);
    require_list(file);
    const ConstArrayView from = elements_of(file);
    return compute_npy(
        options,
        {.command = "reverse",
         .text = fmt::format("{} = {} backwards", printable(options.output), printable(x))},
        {&file}, file.header(), [&](Device& device, void* out, const auto& stream) {
          return transfer::reverse(device, from, {from.type, from.count, out},
                                   {.variant = options.variant}, stream);
        });
  }
};

}  // namespace

const Command reverse_command{
    "reverse", "Reverse a list", declare<ReverseCommand>, "",
    "tilescope reverse x.npy -o y.npy\n"
    "tilescope reverse x.npy -o y.npy --variant shared --device emulated"};

}  // namespace tilescope::cli
