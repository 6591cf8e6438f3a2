#include <fmt/format.h>

#include <tilescope/blur.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/output_target.hpp"
#include "base/text.hpp"
#include "cli/array_command.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "io/png.hpp"

namespace tilescope::cli {
namespace {

struct BlurCommand {
  std::string in;
  int radius = 1;
  ArrayOptions options;

  void declare(const Options& add) {
    add("IN IN.png", in, "A picture of 8 bits a sample, grey or RGB: PNG or .npy", required);
    options.declare_output(add, "OUT.png");
    add("--radius N", radius, "Of the box: 2 RADIUS + 1 pixels a side", shown, within(0, 64));
    options.declare_run(add);
  }

  int run() const {
    const Outcome outcome{.command = "blur",
                          .text = fmt::format("{} = {} blurred, radius {}",
                                              printable(options.output), printable(in), radius),
                          .details = {{"radius", radius}}};
    const bool from_npy = has_extension(in, ".npy");
    if (from_npy != has_extension(options.output, ".npy")) {
      throw usage_error("{} and {} must both be PNG pictures or both .npy arrays", quoted(in),
                        quoted(options.output));
    }
    if (from_npy) {
      blur_npy(outcome);
    } else {
      blur_png(outcome);
    }
    return 0;
  }

  BlurOptions named() const {
    BlurOptions all{.radius = radius};
    all.variant = options.variant;
    return all;
  }

  void blur_png(Outcome outcome) const {
    const io::Picture picture = io::read_png(in);
    resolve_output_target(options.output);  // reports a bad target before the work
    io::Picture result = picture;
    const std::shared_ptr<Device> device = Device::open(options.device);
    const RunReport report =
        blur(*device, picture.samples.data(), result.samples.data(), picture.height, picture.width,
             static_cast<int>(picture.channels), named());
    io::write_png(options.output, result);
    outcome.size = fmt::format("{} x {} pixels, {}", picture.width, picture.height,
                               picture.channels == 1 ? "grey" : "RGB");
    outcome.bytes = 2.0 * static_cast<double>(picture.samples.size());
    outcome.details.set("width", picture.width);
    outcome.details.set("height", picture.height);
    outcome.details.set("channels", picture.channels);
    show(run_page(options, outcome, report, *device), {options.json});
  }

  void blur_npy(const Outcome& outcome) const {
    const NpyFile file = open_npy(in, "blur", {DataType::uint8});
    const NpyHeader& header = file.header();
    const std::size_t dimensions = header.shape.size();
    const std::uint64_t channels = dimensions == 3 ? header.shape[2] : 1;
    if (dimensions < 2 || dimensions > 3 || channels < 1 || channels > 4 || header.fortran_order) {
      throw input_error(
          "{} is {}{}; a picture is (height, width) or (height, width, 1 to 4 samples), in C order",
          quoted(in), size_text(header), header.fortran_order ? " in Fortran order" : "");
    }
    compute_npy(options, outcome, {&file}, header, [&](Device& device, void* out, const auto&) {
      return blur(device, reinterpret_cast<const std::uint8_t*>(file.data().data()),
                  static_cast<std::uint8_t*>(out), static_cast<std::int64_t>(header.shape[0]),
                  static_cast<std::int64_t>(header.shape[1]), static_cast<int>(channels), named());
    });
  }
};

}  // namespace

const Command blur_command{
    "blur", "Blur a picture: means over boxes", declare<BlurCommand>,
    "At the border the box is cut to the picture. Means are rounded\n"
    "down.",
    "tilescope blur in.png -o out.png --radius 5\n"
    "tilescope blur in.npy -o out.npy --variant separable --device emulated"};

}  // namespace tilescope::cli
