#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <tilescope/histogram.hpp>
#include <tilescope/reduction.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/mapped_file.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
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
    options.declare_memory(add);
  }

  int run() const {
    const Source source = open();
    const auto bytes = static_cast<double>(source.elements.bytes());
    const std::shared_ptr<Device> device = Device::open(options.device);
    Bins wanted = bins;
    if (!range.empty()) {
      wanted.lower = range.at(0);
      wanted.upper = range.at(1);
    } else if (is_floating(source.elements.type) && !wanted.letters) {
      set_range(*device, source.elements, wanted);
    }
    const HistogramResult result =
        transfer::histogram(*device, source.elements, wanted, {.variant = options.variant},
                            streaming(options, *device, bytes));
    source.require_unchanged();
    if (!options.output.empty()) {
      NpyWriter writer(options.output, {.type = DataType::uint64, .shape = {result.counts.size()}});
      std::memcpy(writer.data().data(), result.counts.data(), writer.data().size());
      writer.commit();
    }
    const std::uint64_t counted =
        std::accumulate(result.counts.begin(), result.counts.end(), std::uint64_t{0});
    report::Page page = run_page(
        options,
        {.command = "histogram",
         .text = printable(file),
         .size = fmt::format("{} {} in {} bins", format_count(counted),
                             name_of(source.elements.type), format_count(result.counts.size())),
         .bytes = bytes,
         .details = {{"elements", source.elements.count},
                     {"counted", counted},
                     {"type", name_of(source.elements.type)},
                     {"bins", result.counts.size()},
                     {"letters", wanted.letters},
                     {"lower", result.lower},
                     {"upper", result.upper},
                     {"counts", result.counts}}},
        result.report, *device);
    report::add_histogram(page, result, wanted, source.elements.type);
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

  // Sets the range from the least to the greatest element, as NumPy does.
  void set_range(Device& device, const ConstArrayView& elements, Bins& wanted) const {
    wanted.lower = 0.0;
    wanted.upper = 1.0;
    if (elements.count == 0) return;
    const transfer::StreamOptions stream = streaming({.device_memory = options.device_memory},
                                                     device, static_cast<double>(elements.bytes()));
    const double least = transfer::reduce(device, elements, Reduction::min, {}, stream).real;
    const double most = transfer::reduce(device, elements, Reduction::max, {}, stream).real;
    if (!std::isfinite(least) || !std::isfinite(most)) {
      throw input_error("{}: its elements reach from {} to {}; give a --range LO,HI", quoted(file),
                        least, most);
    }
    constexpr double half = 0.5;  // around a list of equal elements
    wanted.lower = least < most ? least : least - half;
    wanted.upper = least < most ? most : most + half;
  }
};

}  // namespace

const Command histogram_command{"histogram", "Count how often elements fall into bins",
                                declare<HistogramCommand>,
                                "Elements outside the range, and NaN, are in no bin.",
                                "tilescope histogram picture.png --bins 16\n"
                                "tilescope histogram x.npy --bins 100 --range -1,1 -o counts.npy\n"
                                "tilescope histogram book.txt --text --json -"};

}  // namespace tilescope::cli
