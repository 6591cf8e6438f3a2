#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/npy.hpp>

#include "base/format.hpp"
#include "base/signals.hpp"
#include "cli/command.hpp"

namespace tilescope::cli {
namespace {

struct MatmulCommand {
  std::string a, b, output, device = "auto", precision, order = "C", json;
  MatmulOptions options;

  int run() const {
    const NpyFile a_file(a), b_file(b);
    const ConstMatrixView a_view = require_matrix(a_file), b_view = require_matrix(b_file);
    const MatmulShape shape = named_shape(a_view, b_view);
    const DataType type = product_type(require_floating(a_view, a), require_floating(b_view, b));
    NpyWriter writer(output,
                     npy_matrix_header(type, shape.m, shape.n,
                                       order == "F" ? Order::column_major : Order::row_major));
    std::string why;
    const std::shared_ptr<Device> opened = Device::open(device, &why);
    const MatmulReport report = matmul(*opened, a_view, b_view, writable_matrix(writer), options);
    a_file.require_unchanged();
    b_file.require_unchanged();
    writer.commit();

    const double seconds = report.compute_ms * 1e-3;
    if (json != "-") {
      print(fmt::format(
          "{} = {} x {}: {} {}, {} on {} in {}{}\n", output, a, b,
          shape.m == 0 || shape.n == 0 ? "an empty" : fmt::format("{} x {}", shape.m, shape.n),
          name_of(type), report.variant, opened->id(), format_duration(seconds),
          seconds > 0.0 && shape.flops() > 0.0
              ? ", " + format_rate(shape.flops() / seconds, "FLOP/s")
              : ""));
    }
    write_json({{"version", 1},
                {"command", "matmul"},
                {"output", output},
                {"m", shape.m},
                {"n", shape.n},
                {"k", shape.k},
                {"type", name_of(type)},
                {"device", opened->id()},
                {"variant", report.variant},
                {"time_ms", report.compute_ms}},
               json);
    return 0;
  }

  // The files' names say more than "A" and "B".
  MatmulShape named_shape(const ConstMatrixView& a_view, const ConstMatrixView& b_view) const {
    if (a_view.columns != b_view.rows) {
      throw Error(
          ErrorKind::usage,
          fmt::format("{} is {} and {} is {}: the first's {} columns must equal the "
                      "second's {} rows",
                      a, shape_text(a_view), b, shape_text(b_view), a_view.columns, b_view.rows));
    }
    return product_shape(a_view, b_view);
  }

  static DataType require_floating(const ConstMatrixView& view, const std::string& path) {
    if (view.type == DataType::float16 || view.type == DataType::float32 ||
        view.type == DataType::float64) {
      return view.type;
    }
    throw Error(ErrorKind::bad_input,
                fmt::format("{}: its elements are {}; matmul takes float16, float32 and float64 "
                            "(in NumPy: a.astype('<f4'))",
                            path, name_of(view.type)));
  }
};

}  // namespace

void register_matmul(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<MatmulCommand>();
  CLI::App* sub = app.add_subcommand("matmul", "Multiply two matrices from .npy files");
  sub->add_option("A", command->a, "Left matrix, .npy")->required()->type_name("A.npy");
  sub->add_option("B", command->b, "Right matrix, .npy")->required()->type_name("B.npy");
  sub->add_option("-o,--output", command->output, "Where to write the product")
      ->required()
      ->type_name("C.npy");
  sub->add_option("--device", command->device, "auto, cuda, cuda:N, emulated or cpu")
      ->type_name("DEVICE")
      ->capture_default_str();
  sub->add_option("--precision", command->precision,
                  "fp32: sums in float32 (float64 operands: in float64), the only one so far")
      ->check(CLI::IsMember({"fp32"}))
      ->type_name("NAME");
  sub->add_option("--variant", command->options.variant,
                  "A rung of the ladder (default: the device's best)")
      ->type_name("NAME");
  sub->add_option("--order", command->order, "Storage order of the output: C or F")
      ->check(CLI::IsMember({"C", "F"}))
      ->type_name("C|F")
      ->capture_default_str();
  add_json_option(*sub, command->json);
  sub->footer(
      "The product has the wider of the two types, as in NumPy. C.npy is written to a\n"
      "temporary file beside it and renamed: it is complete or not there.\n"
      "\n"
      "Examples:\n"
      "  tilescope matmul A.npy B.npy -o C.npy\n"
      "  tilescope matmul A.npy B.npy -o C.npy --device cuda --variant tiled_16");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
