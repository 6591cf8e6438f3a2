#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <tilescope/reduction.hpp>
#include <tilescope/sharded_lists.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "cli/rank_command.hpp"
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
    options.declare_devices(add);
    options.declare_memory(add);
    options.declare_resume(add, true);
  }

  int run() const {
    if (const auto launcher = options.launcher()) return run_ranks(*launcher);
    const NpyFile file = open();
    if (!options.devices.empty()) {
      require_no_variant("--devices");
      const auto devices = options.open_several();
      const Reduced result = reduce_sharded(devices, elements_of(file), reduction());
      file.require_unchanged();
      return print(file, result, result.report, place_of(options, devices), {});
    }
    const std::shared_ptr<Device> device = Device::open(options.device);
    const Reduced result =
        transfer::reduce(*device, elements_of(file), reduction(), {.variant = options.variant},
                         streaming(options, *device, static_cast<double>(file.header().bytes())));
    file.require_unchanged();
    return print(file, result, result.report, Place(*device), {});
  }

  int run_ranks(const ranks::Launcher& launcher) const {
    std::optional<NpyFile> file;
    const ranks::ListFile list = npy_list(x, file, [&] { return open(); });
    return on_ranks(launcher, [&](const ranks::Session& session, bool is_first) {
      ranks::together(session, [&] {
        options.require_for_ranks();
        require_no_variant("ranks of mpirun");
      });
      ranks::RankList shared(session, list, options.device,
                             options.resume_of("reduce " + operation));
      const Reduced result = shared.reduce(reduction());
      const ranks::ListOutcome ran = shared.finish();
      if (!is_first) return;
      Outcome outcome;
      const Place place = place_of(shared, ran, outcome);
      print(*file, result, ran.report, place, std::move(outcome));
      shared.forget();
    });
  }

  Reduction reduction() const { return parse_reduction(operation); }

  NpyFile open() const {
    NpyFile file = open_npy(x, "reduce", {DataType::float32, DataType::float64, DataType::int32});
    const NpyHeader& header = file.header();
    if (reduction() == Reduction::argmax && header.fortran_order && header.shape.size() > 1) {
      throw input_error(
          "{}: argmax counts in C order, and the array is in Fortran order (in NumPy: "
          "np.ascontiguousarray(x))",
          quoted(x));
    }
    return file;
  }

  // Several of them compute parts by a kernel of their own, whose sums have a fixed order.
  void require_no_variant(std::string_view several) const {
    if (options.variant.empty()) return;
    throw usage_error("--variant does not work with {}: sums are added up in a fixed order",
                      several);
  }

  /// Shows the result. `outcome` has what is special to the place.
  int print(const NpyFile& file, const Reduced& result, const RunReport& report, const Place& place,
            Outcome outcome) const {
    const NpyHeader& header = file.header();
    const bool real = result.type == DataType::float64;
    const std::string value =
        real ? value_text(result.real, header.type) : fmt::format("{}", result.integer);
    outcome.command = "reduce";
    outcome.text = fmt::format("{} of {} = {}", operation, printable(x), value);
    outcome.size = size_text(header);
    outcome.bytes = static_cast<double>(header.bytes());
    outcome.details.set("op", operation)
        .set("shape", header.shape)
        .set("type", name_of(header.type))
        .set("value_text", value)
        .set("value", nullptr);
    if (!real) outcome.details.set("value", result.integer);
    if (real && std::isfinite(result.real)) outcome.details.set("value", result.real);
    show(run_page(options, outcome, report, place), {options.json});
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
    "null; value_text has it. With --devices and under mpirun, floats are added up in\n"
    "a fixed order: the bits are those of one CPU, however many take part.",
    "tilescope reduce x.npy\n"
    "tilescope reduce x.npy --op argmax --json -\n"
    "tilescope reduce x.npy --devices all\n"
    "mpirun -n 4 tilescope reduce x.npy\n"
    "mpirun -n 4 tilescope reduce x.npy --resume sum.kept"};

}  // namespace tilescope::cli
