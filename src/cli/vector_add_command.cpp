#include <fmt/format.h>

#include <tilescope/vector_add.hpp>

#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::cli {
namespace {

struct VectorAddCommand {
  std::string a, b;
  ArrayOptions options;

  void declare(const Options& add) {
    add("A A.npy", a, "float32 or float64, of any shape", required);
    add("B B.npy", b, "As A", required);
    options.declare_output(add, "C.npy");
    options.declare_run(add);
    options.declare_memory(add);
  }

  int run() const {
    const NpyFile a_file = open_npy(a, "vector_add", {DataType::float32, DataType::float64});
    const NpyFile b_file(b);
    require_alike(a_file, b_file);
    const ConstArrayView left = elements_of(a_file), right = elements_of(b_file);
    return compute_npy(
        options,
        {.command = "vector_add",
         .text =
             fmt::format("{} = {} + {}", printable(options.output), printable(a), printable(b))},
        {&a_file, &b_file}, a_file.header(), [&](Device& device, void* sum, const auto& stream) {
          return transfer::vector_add(device, left, right, {left.type, left.count, sum},
                                      {.variant = options.variant}, stream);
        });
  }
};

}  // namespace

const Command vector_add_command{"vector_add", "Add two arrays from .npy files",
                                 declare<VectorAddCommand>, "",
                                 "tilescope vector_add A.npy B.npy -o C.npy\n"
                                 "tilescope vector_add A.npy B.npy -o C.npy --device emulated"};

}  // namespace tilescope::cli
