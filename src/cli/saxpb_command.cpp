#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tilescope/saxpb.hpp>
#include <tilescope/sharded_lists.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "cli/rank_command.hpp"
#include "cli/show.hpp"
#include "operations/numerics/random.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::cli {
namespace {

struct SaxpbCommand {
  std::string x;
  double a = 1.0, b = 0.0;
  std::optional<std::int64_t> values;
  SaxpbOptions launch;
  ArrayOptions options;

  void declare(const Options& add) {
    add("X X.npy", x, "float32 or float64, of any shape");
    add("-a NUMBER", a, "Factor, rounded to the elements' type", shown);
    add("-b NUMBER", b, "Summand", shown);
    add("-o,--output Y.npy", options.output, "Where to write the result");
    add("--nvals N", values,
        "Instead of X: this many random values, computed on the CPU and on the device",
        within(std::int64_t{0}, std::int64_t{1} << 33));
    add("--nblocks N", launch.blocks, "Blocks of the kernel many_blocks (default: of 256 threads)",
        within(std::int64_t{1}, std::int64_t{1} << 31));
    add("--niters N", launch.iterations, "Launches, timed together", shown, within(1, 1'000'000));
    options.declare_run(add);
    options.declare_devices(add);
    options.declare_memory(add);
    options.declare_resume(add, false);
  }

  int run() const {
    if (const auto launcher = options.launcher()) return run_ranks(*launcher);
    require_fitting();
    if (values) return compare();
    const NpyFile file = open();
    const ConstArrayView from = elements_of(file);
    if (!options.devices.empty()) {
      const auto devices = options.open_several();
      return write_npy(
          options, outcome(), {&file}, file.header(), place_of(options, devices), [&](void* y) {
            return saxpb_sharded(devices, a, from, b, {from.type, from.count, y}, named());
          });
    }
    return compute_npy(
        options, outcome(), {&file}, file.header(),
        [&](Device& device, void* y, const auto& stream) {
          return transfer::saxpb(device, a, from, b, {from.type, from.count, y}, named(), stream);
        });
  }

  int run_ranks(const ranks::Launcher& launcher) const {
    std::optional<NpyFile> file;
    const ranks::ListFile list = npy_list(x, file, [&] { return open(); });
    return on_ranks(launcher, [&](const ranks::Session& session, bool is_first) {
      ranks::together(session, [&] {
        if (values) throw usage_error("--nvals does not work with ranks of mpirun");
        options.require_for_ranks();
        require_fitting();
      });
      ranks::RankList shared(
          session, list, options.device,
          options.resume_of(fmt::format("saxpb {} {} {}", a, b, named().variant)));
      shared.saxpb(a, b, named(), options.output, file ? file->header() : NpyHeader{});
      const ranks::ListOutcome ran = shared.finish();
      if (!is_first) return;
      Outcome said = with_arrays(outcome(), {&*file}, file->header());
      const Place place = place_of(shared, ran, said);
      show(run_page(options, said, ran.report, place), {options.json});
    });
  }

  NpyFile open() const { return open_npy(x, "saxpb", {DataType::float32, DataType::float64}); }

  /// Throws for options that do not fit together.
  void require_fitting() const {
    if (values.has_value() == !x.empty()) {
      throw usage_error("saxpb takes either a file or --nvals; see tilescope saxpb --help");
    }
    const char* other = options.device_memory > 0  ? "--device-memory"
                        : !options.devices.empty() ? "--devices"
                                                   : nullptr;
    if (values && other != nullptr) {
      throw usage_error("{} is for a file, not for --nvals", other);
    }
    if (!values && options.output.empty()) throw usage_error("saxpb of a file needs -o/--output");
  }

  Outcome outcome() const {
    return {
        .command = "saxpb",
        .text = fmt::format("{} = {:g} * {} + {:g}", printable(options.output), a, printable(x), b),
        .details = {{"a", a}, {"b", b}, {"iterations", launch.iterations}}};
  }

  /// --nblocks is the grid of many_blocks.
  SaxpbOptions named() const {
    SaxpbOptions all = launch;
    all.variant = options.variant;
    if (all.variant.empty() && all.blocks > 0) all.variant = "many_blocks";
    return all;
  }

  /// The lecture's program: random values, the CPU's time, the device's, and the difference between
  /// the results.
  int compare() const {
    std::string why;
    const std::shared_ptr<Device> device = Device::open(options.device, &why);
    const std::shared_ptr<Device> cpu = Device::open("cpu");
    const auto count = static_cast<std::size_t>(*values);
    const operations::HostArray from = operations::random_array(DataType::float32, count, 1);
    operations::HostArray here(DataType::float32, count), there(DataType::float32, count);
    const auto into = [](operations::HostArray& y) {
      return ArrayView(y.type(), y.count(), y.data());
    };
    const bool on_cpu = device->kind() == DeviceKind::cpu;
    if (on_cpu && options.device == "auto") note("tilescope: " + why);
    const RunReport of_device =
        saxpb(*device, a, from.view(), b, into(there), on_cpu ? SaxpbOptions{} : named());
    double cpu_ms = 0.0;
    for (std::int64_t i = 0; i < launch.iterations; ++i) {
      cpu_ms += saxpb(*cpu, a, from.view(), b, into(here)).compute_ms;
    }
    double difference = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double one = here.as<float>()[i], other = there.as<float>()[i];
      const bool alike = one == other || (std::isnan(one) && std::isnan(other));  // infinities too
      const double apart = alike ? 0.0 : std::abs(one - other);
      difference = std::isnan(apart) ? apart : std::max(difference, apart);
    }
    report::Page page("saxpb");
    page.data = {{"device", device->id()},
                 {"variant", of_device.variant},
                 {"values", *values},
                 {"blocks", launch.blocks},
                 {"iterations", launch.iterations},
                 {"cpu_time_ms", cpu_ms},
                 {"time_ms", of_device.compute_ms},
                 {"difference", difference}};
    page.say(
        "CPU time: {cpu_time_ms}\n{device} time: {time_ms} ({variant})\nresults differ by "
        "{difference:.3g}");
    show(page, {options.json});
    // One rounding of a product and one of a sum, each of at most |a| + |b|, on either side.
    const double bound = 4.0 * 0x1p-24 * (2.0 * std::abs(a) + std::abs(b));
    return difference == 0.0 || difference <= bound ? 0 : static_cast<int>(ErrorKind::wrong_result);
  }
};

}  // namespace

const Command saxpb_command{
    "saxpb", "Compute y = a * x + b", declare<SaxpbCommand>,
    "With --nvals, a difference beyond rounding is exit code 1. A block has at most\n"
    "1,024 threads: --nblocks 1 --nvals 2048 cannot be launched.",
    "tilescope saxpb x.npy -a 2 -b 1 -o y.npy\n"
    "tilescope saxpb --nblocks 8 --nvals 8192 --niters 100 --device emulated\n"
    "mpirun -n 4 tilescope saxpb x.npy -a 2 -b 1 -o y.npy\n"
    "mpirun -n 4 tilescope saxpb x.npy -a 2 -b 1 -o y.npy --resume"};

}  // namespace tilescope::cli
