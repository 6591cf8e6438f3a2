#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tilescope/error.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/reduction.hpp>

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/mapped_file.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "io/png.hpp"
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
                            streaming(options, *device, bytes_of(source.elements)));
    if (!options.output.empty()) {
      NpyWriter writer(options.output, {.type = DataType::uint64, .shape = {result.counts.size()}});
      std::memcpy(writer.data().data(), result.counts.data(), writer.data().size());
      source.require_unchanged();
      writer.commit();
    } else {
      source.require_unchanged();
    }
    const std::uint64_t counted =
        std::accumulate(result.counts.begin(), result.counts.end(), std::uint64_t{0});
    show(options,
         {.command = "histogram",
          .text = printable(file),
          .size = fmt::format("{} {} in {} bins", format_count(counted),
                              name_of(source.elements.type), format_count(result.counts.size())),
          .bytes = static_cast<double>(source.elements.bytes()),
          .details = {{"elements", source.elements.count},
                      {"counted", counted},
                      {"type", name_of(source.elements.type)},
                      {"bins", result.counts.size()},
                      {"letters", wanted.letters},
                      {"lower", result.lower},
                      {"upper", result.upper},
                      {"counts", result.counts}}},
         result.report, *device);
    if (options.json != "-") print(table(result, wanted, source.elements.type));
    return 0;
  }

  Source open() const {
    Source source;
    if (!as_bytes && has_extension(file, ".npy")) {
      source.array.emplace(file);
      require_type(*source.array, "histogram",
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

  static double bytes_of(const ConstArrayView& elements) {
    return static_cast<double>(elements.bytes());
  }

  // Sets the range from the least to the greatest element, as NumPy does.
  void set_range(Device& device, const ConstArrayView& elements, Bins& wanted) const {
    wanted.lower = 0.0;
    wanted.upper = 1.0;
    if (elements.count == 0) return;
    const transfer::StreamOptions stream =
        streaming({.device_memory = options.device_memory}, device, bytes_of(elements));
    const double least = transfer::reduce(device, elements, Reduction::min, {}, stream).real;
    const double most = transfer::reduce(device, elements, Reduction::max, {}, stream).real;
    if (!std::isfinite(least) || !std::isfinite(most)) {
      throw Error(ErrorKind::bad_input,
                  fmt::format("{}: its elements reach from {} to {}; give a --range LO,HI",
                              quoted(file), least, most));
    }
    constexpr double half = 0.5;  // around a list of equal elements
    wanted.lower = least < most ? least : least - half;
    wanted.upper = least < most ? most : most + half;
  }

  static std::string label(const HistogramResult& result, const Bins& wanted, DataType type,
                           std::size_t bin) {
    if (wanted.letters) {
      const char first = static_cast<char>('a' + 4 * bin);
      return fmt::format("{}-{}", first, static_cast<char>(std::min<int>(first + 3, 'z')));
    }
    const auto bins_there = static_cast<double>(result.counts.size());
    const double width = (result.upper - result.lower) / bins_there;
    const double lower = result.lower + width * static_cast<double>(bin);
    if (is_floating(type)) return fmt::format("{:.6g}", lower);
    // The first integer of the bin.
    return fmt::format("{:.0f}", std::ceil(lower));
  }

  // All bins if there are few, else the fullest.
  static std::string table(const HistogramResult& result, const Bins& wanted, DataType type) {
    constexpr std::size_t most_rows = 32;
    constexpr double bar_width = 40.0;
    const std::size_t count = result.counts.size();
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    const auto fuller = [&](std::size_t a, std::size_t b) {
      return result.counts[a] != result.counts[b] ? result.counts[a] > result.counts[b] : a < b;
    };
    const std::uint64_t most = *std::max_element(result.counts.begin(), result.counts.end());
    if (count > most_rows) {
      std::partial_sort(rows.begin(), rows.begin() + most_rows, rows.end(), fuller);
      rows.resize(most_rows);
    }
    std::string text = fmt::format("{:>12} {:>15}\n", wanted.letters ? "letters" : "from", "count");
    for (const std::size_t bin : rows) {
      const std::uint64_t here = result.counts[bin];
      const double share = most ? static_cast<double>(here) / static_cast<double>(most) : 0.0;
      std::string row =
          fmt::format("{:>12} {:>15} {}", label(result, wanted, type, bin), format_count(here),
                      std::string(static_cast<std::size_t>(bar_width * share), '#'));
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + '\n';
    }
    if (count > most_rows) {
      text += fmt::format("the fullest {} of {} bins; --json or -o has all\n", most_rows,
                          format_count(count));
    }
    return text;
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
