#include <fmt/format.h>

#include <cmath>
#include <tilescope/reduction.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::cli {
namespace {

struct ReduceCommand {
  std::string x, operation = "sum";
  ArrayOptions options;

  void declare(const Options& add) {
    add("X X.npy", x, "float32, float64 or int32, of any shape", required);
    add("--op NAME", operation, "sum, min, max or argmax", shown,
        one_of({"sum", "min", "max", "argmax"}));
    options.declare_run(add);
    options.declare_memory(add);
  }

  int run() const {
    const NpyFile file =
        open_npy(x, "reduce", {DataType::float32, DataType::float64, DataType::int32});
    const Reduction reduction = parse_reduction(operation);
    const NpyHeader& header = file.header();
    if (reduction == Reduction::argmax && header.fortran_order && header.shape.size() > 1) {
      throw input_error(
          "{}: argmax counts in C order, and the array is in Fortran order (in NumPy: "
          "np.ascontiguousarray(x))",
          quoted(x));
    }
    const std::shared_ptr<Device> device = Device::open(options.device);
    const Reduced result =
        transfer::reduce(*device, elements_of(file), reduction, {.variant = options.variant},
                         streaming(options, *device, static_cast<double>(header.bytes())));
    file.require_unchanged();
    const bool real = result.type == DataType::float64;
    const std::string value =
        real ? value_text(result.real, header.type) : fmt::format("{}", result.integer);
    report::Record details{{"op", operation},
                           {"shape", header.shape},
                           {"type", name_of(header.type)},
                           {"value_text", value},
                           {"value", nullptr}};
    if (!real) details.set("value", result.integer);
    if (real && std::isfinite(result.real)) details.set("value", result.real);
    show(run_page(options,
                  {.command = "reduce",
                   .text = fmt::format("{} of {} = {}", operation, printable(x), value),
                   .size = size_text(header),
                   .bytes = static_cast<double>(header.bytes()),
                   .details = std::move(details)},
                  result.report, *device),
         {options.json});
    return 0;
  }

  // The fewest digits that distinguish it from every other value: as a float if it is an element.
  std::string value_text(double value, DataType element) const {
    if (std::isnan(value)) return "nan";  // whatever its sign
    if (element == DataType::float32 && operation != "sum") {
      return fmt::format("{}", static_cast<float>(value));
    }
    return fmt::format("{}", value);
  }
};

}  // namespace

const Command reduce_command{
    "reduce", "Reduce an array to one value", declare<ReduceCommand>,
    "The same data give the same result in every run on one device. Sums of int32 are\n"
    "exact. A NaN makes a sum, minimum or maximum NaN; argmax is the first NaN, if\n"
    "there is one, as in NumPy; a zero is +0. In JSON, a value that is not finite is\n"
    "null; value_text has it.",
    "tilescope reduce x.npy\n"
    "tilescope reduce x.npy --op argmax --json -"};

}  // namespace tilescope::cli
