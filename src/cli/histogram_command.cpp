#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <tilescope/histogram.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/sharded_lists.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/mapped_file.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "cli/rank_command.hpp"
#include "cli/show.hpp"
#include "io/png.hpp"
#include "report/histogram_report.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::cli {
namespace {

// The elements of a file, and their owner.
struct Source {
  std::optional<NpyFile> array;
  std::unique_ptr<MappedFile> bytes;
  io::Picture picture;
  ConstArrayView elements;

  void require_unchanged() const {
    if (array) array->require_unchanged();
    if (bytes) bytes->require_unchanged();
  }
};

struct HistogramCommand {
  std::string file;
  Bins bins;
  std::vector<double> range;
  bool as_bytes = false;
  ArrayOptions options;

  void declare(const Options& add) {
    add("FILE", file, "A .npy array, a PNG picture, or any file as bytes", required);
    add("--bins N", bins.count, "Number of bins, of equal width", shown, within(1, 65536));
    add("--range LO,HI", range,
        "From LO (included) to HI (excluded for integers, included for floats); default: all "
        "values of an integer type, the least to the greatest float")
        ->delimiter(',')
        ->expected(2);
    add("--text", bins.letters, "Count letters, four a bin: a-d, e-h, ..., y-z");
    add("--bytes", as_bytes, "Take .npy and .png files as bytes too");
    add("-o,--output COUNTS.npy", options.output, "Write the counts, uint64");
    options.declare_run(add);
    options.declare_devices(add);
    options.declare_memory(add);
    options.declare_resume(add, true);
  }

  int run() const {
    if (const auto launcher = options.launcher()) return run_ranks(*launcher);
    const Source source = open();
    const ConstArrayView& x = source.elements;
    if (!options.devices.empty()) {
      const auto devices = options.open_several();
      const Bins wanted = with_range(x.type, x.count, [&](Reduction reduction) {
        return reduce_sharded(devices, x, reduction).real;
      });
      const HistogramResult result =
          histogram_sharded(devices, x, wanted, {.variant = options.variant});
      source.require_unchanged();
      return finish(x.type, x.count, wanted, result, result.report, place_of(options, devices), {});
    }
    const auto bytes = static_cast<double>(x.bytes());
    const std::shared_ptr<Device> device = Device::open(options.device);
    const Bins wanted = with_range(x.type, x.count, [&](Reduction reduction) {
      const transfer::StreamOptions stream =
          streaming({.device_memory = options.device_memory}, *device, bytes);
      return transfer::reduce(*device, x, reduction, {}, stream).real;
    });
    const HistogramResult result = transfer::histogram(
        *device, x, wanted, {.variant = options.variant}, streaming(options, *device, bytes));
    source.require_unchanged();
    return finish(x.type, x.count, wanted, result, result.report, Place(*device), {});
  }

  int run_ranks(const ranks::Launcher& launcher) const {
    std::optional<Source> source;
    const ranks::ListFile list{.path = file,
                               .open = [&] { return source.emplace(open()).elements; },
                               .require_unchanged = [&] { source->require_unchanged(); }};
    return on_ranks(launcher, [&](const ranks::Session& session, bool is_first) {
      ranks::together(session, [&] { options.require_for_ranks(); });
      ranks::RankList shared(session, list, options.device, options.resume_of(purpose()));
      // Every rank gets the same extremes, and so the same range, or the same Error.
      Bins wanted;
      double least = 0.0, most = 0.0;
      if (needs_extremes(shared.type(), shared.count())) {
        least = shared.reduce(Reduction::min).real;
        most = shared.reduce(Reduction::max).real;
      }
      ranks::together(session, [&] {
        wanted = with_range(shared.type(), shared.count(), [&](Reduction reduction) {
          return reduction == Reduction::min ? least : most;
        });
      });
      const HistogramResult result = shared.histogram(wanted, {.variant = options.variant});
      const ranks::ListOutcome ran = shared.finish();
      if (!is_first) return;
      Outcome outcome;
      const Place place = place_of(shared, ran, outcome);
      finish(shared.type(), shared.count(), wanted, result, ran.report, place, std::move(outcome));
      shared.forget();
    });
  }

  /// All options that the counts depend on.
  std::string purpose() const {
    return fmt::format("histogram of {} bins, range {}, letters {}, bytes {}", bins.count,
                       fmt::join(range, ","), bins.letters, as_bytes);
  }

  /// Writes and shows the counts. `outcome` has what is special to the place.
  int finish(DataType type, std::size_t count, const Bins& wanted, const HistogramResult& result,
             const RunReport& report, const Place& place, Outcome outcome) const {
    if (!options.output.empty()) {
      NpyWriter writer(options.output, {.type = DataType::uint64, .shape = {result.counts.size()}});
      std::memcpy(writer.data().data(), result.counts.data(), writer.data().size());
      writer.commit();
    }
    const std::uint64_t counted =
        std::accumulate(result.counts.begin(), result.counts.end(), std::uint64_t{0});
    outcome.command = "histogram";
    outcome.text = printable(file);
    outcome.size = fmt::format("{} {} in {} bins", format_count(counted), name_of(type),
                               format_count(result.counts.size()));
    outcome.bytes = static_cast<double>(count * size_of(type));
    outcome.details.set("elements", count)
        .set("counted", counted)
        .set("type", name_of(type))
        .set("bins", result.counts.size())
        .set("letters", wanted.letters)
        .set("lower", result.lower)
        .set("upper", result.upper)
        .set("counts", result.counts);
    report::Page page = run_page(options, outcome, report, place);
    report::add_histogram(page, result, wanted, type);
    show(page, {options.json});
    return 0;
  }

  Source open() const {
    Source source;
    if (!as_bytes && has_extension(file, ".npy")) {
      source.array =
          open_npy(file, "histogram",
                   {DataType::uint8, DataType::int8, DataType::uint16, DataType::int16,
                    DataType::uint32, DataType::int32, DataType::float32, DataType::float64});
      source.elements = elements_of(*source.array);
    } else if (!as_bytes && has_extension(file, ".png")) {
      source.picture = io::read_png(file);
      source.elements = {DataType::uint8, source.picture.samples.size(),
                         source.picture.samples.data()};
    } else {
      source.bytes = std::make_unique<MappedFile>(file);
      source.elements = {DataType::uint8, source.bytes->bytes().size(),
                         source.bytes->bytes().data()};
    }
    return source;
  }

  bool needs_extremes(DataType type, std::size_t count) const {
    return range.empty() && is_floating(type) && !bins.letters && count > 0;
  }

  /// The bins with a range: that of the command line, or for floats from the least to the greatest
  /// element, as NumPy does. `extreme` finds these.
  Bins with_range(DataType type, std::size_t count,
                  const std::function<double(Reduction)>& extreme) const {
    Bins wanted = bins;
    if (!range.empty()) {
      wanted.lower = range.at(0);
      wanted.upper = range.at(1);
    }
    if (!range.empty() || !is_floating(type) || wanted.letters) return wanted;
    const double least = needs_extremes(type, count) ? extreme(Reduction::min) : 0.0;
    const double most = needs_extremes(type, count) ? extreme(Reduction::max) : 1.0;
    if (!std::isfinite(least) || !std::isfinite(most)) {
      throw input_error("{}: its elements reach from {} to {}; give a --range LO,HI", quoted(file),
                        least, most);
    }
    constexpr double half = 0.5;  // around a list of equal elements
    wanted.lower = least < most ? least : least - half;
    wanted.upper = least < most ? most : most + half;
    return wanted;
  }
};

}  // namespace

const Command histogram_command{"histogram", "Count how often elements fall into bins",
                                declare<HistogramCommand>,
                                "Elements outside the range, and NaN, are in no bin.",
                                "tilescope histogram picture.png --bins 16\n"
                                "tilescope histogram x.npy --bins 100 --range -1,1 -o counts.npy\n"
                                "tilescope histogram book.txt --text --json -\n"
                                "mpirun -n 4 tilescope histogram x.npy --range -1,1\n"
                                "mpirun -n 4 tilescope histogram x.npy --resume counts.kept"};

}  // namespace tilescope::cli
