#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/npy.hpp>

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "io/resumable_npy.hpp"
#include "report/wrap.hpp"
#include "transfer/out_of_core.hpp"

namespace tilescope::cli {
namespace {

constexpr int interrupted_exit = 130;

struct MatmulCommand {
  std::string a, b, output, device = "auto", precision, order = "C", json;
  MatmulOptions options;
  std::uint64_t device_memory = 0;
  bool resume = false;

  int run() const {
    const NpyFile a_file(a), b_file(b);
    const ConstMatrixView a_view = require_matrix(a_file), b_view = require_matrix(b_file);
    const MatmulShape shape = named_shape(a_view, b_view);
    const DataType type = product_type(require_floating(a_view, a), require_floating(b_view, b));
    const NpyHeader header = npy_matrix_header(
        type, shape.m, shape.n, order == "F" ? Order::column_major : Order::row_major);
    const std::shared_ptr<Device> opened = Device::open(device);
    const std::size_t limit = memory_limit(*opened, shape, type);
    if (resume && limit == 0) {
      throw Error(ErrorKind::usage,
                  "--resume needs --device-memory: without tiles there is nothing "
                  "to resume");
    }
    const auto unchanged = [&] {
      a_file.require_unchanged();
      b_file.require_unchanged();
    };
    MatmulReport report;
    bool cancelled = false;
    if (resume && shape.m > 0 && shape.n > 0) {
      const transfer::OutOfCorePlan plan = transfer::plan_of(
          *opened, a_view, b_view, type, {.device_bytes = limit, .variant = options.variant});
      io::ResumableNpy output_file(output, header, purpose(plan), plan.tiles());
      cancelled = multiply_in_tiles(
          *opened, a_view, b_view, output_file.matrix(), limit, report,
          [&](std::int64_t tile) { return output_file.is_done(tile); },
          [&](std::int64_t tile) {
            unchanged();
            output_file.mark_done(tile);
          });
      if (cancelled) {
        output_file.flush();
        note(
            fmt::format("tilescope: interrupted with {} of {} tiles done; the same command goes on",
                        output_file.done_count(), plan.tiles()));
      } else {
        output_file.commit();
      }
    } else {
      NpyWriter writer(output, header);
      const MatrixView c_view = writable_matrix(writer);
      if (limit > 0) {
        cancelled = multiply_in_tiles(*opened, a_view, b_view, c_view, limit, report, {}, {});
        if (cancelled) note("tilescope: interrupted; nothing was written");
      } else {
        report = matmul(*opened, a_view, b_view, c_view, options);
      }
      if (!cancelled) {
        unchanged();
        writer.commit();
      }
    }
    if (cancelled) return interrupted_exit;
    show(report, shape, type, opened->id());
    return 0;
  }

  /// What identifies a product for --resume: another state of an input is another product.
  std::string purpose(const transfer::OutOfCorePlan& plan) const {
    std::string text = fmt::format("{} in tiles of {}, variant {}, order {}",
                                   shape_text(plan.shape), shape_text(plan.tile),
                                   options.variant.empty() ? "auto" : options.variant, order);
    for (const std::string& path : {a, b}) {
      const FileStamp stamp = stamp_of(open_regular_file(path), path);
      text += fmt::format("; {} {} {}.{}", printable(path, 200), stamp.size, stamp.modified_s,
                          stamp.modified_ns);
    }
    return text;
  }

  /// The bytes that operands and result may take on the device; 0: all at once.
  std::size_t memory_limit(const Device& on, const MatmulShape& shape, DataType type) const {
    if (device_memory > 0) return device_memory;
    if (on.kind() != DeviceKind::cuda) return 0;
    const auto matrix = [](std::int64_t x, std::int64_t y) {
      return static_cast<double>(x) * static_cast<double>(y);
    };
    const double needed =
        (matrix(shape.m, shape.k) + matrix(shape.k, shape.n) + matrix(shape.m, shape.n)) *
        static_cast<double>(std::max(size_of(type), sizeof(float)));
    // Leave room for the context, other processes and padding.
    const double room = 0.85 * static_cast<double>(on.properties().global_bytes);
    return needed > room ? static_cast<std::size_t>(room) : 0;
  }

  /// Returns whether Ctrl-C ended it.
  bool multiply_in_tiles(Device& on, const ConstMatrixView& a_view, const ConstMatrixView& b_view,
                         const MatrixView& c_view, std::size_t limit, MatmulReport& report,
                         const std::function<bool(std::int64_t)>& is_done,
                         const std::function<void(std::int64_t)>& tile_done) const {
    if (c_view.empty() || a_view.columns == 0) {
      report = matmul(on, a_view, b_view, c_view, options);
      return false;
    }
    const CancelScope cancel;
    ProgressLine progress("tiles");
    std::uint64_t done = 0;
    const transfer::OutOfCoreReport tiled =
        transfer::out_of_core_matmul(on, a_view, b_view, c_view,
                                     {.device_bytes = limit,
                                      .variant = options.variant,
                                      .is_done = is_done,
                                      .tile_done =
                                          [&](std::int64_t tile) {
                                            if (tile_done) tile_done(tile);
                                            progress.update(++done);
                                          },
                                      .cancelled = CancelScope::cancelled});
    report = {.variant = fmt::format("{} in {} tiles", tiled.variant, tiled.plan.tiles()),
              .compute_ms = tiled.seconds * 1e3};
    return tiled.cancelled;
  }

  void show(const MatmulReport& report, const MatmulShape& shape, DataType type,
            const std::string& device_id) const {
    const double seconds = report.compute_ms * 1e-3;
    if (json != "-") {
      const std::string line =
          fmt::format("{} = {} x {}: {} x {} {}, {} on {} in {}{}", printable(output), printable(a),
                      printable(b), shape.m, shape.n, name_of(type), report.variant, device_id,
                      format_duration(seconds),
                      seconds > 0.0 && shape.flops() > 0.0
                          ? ", " + format_rate(shape.flops() / seconds, "FLOP/s")
                          : "");
      print((line.size() > 80 ? report::hang(line, 2, 78) : line) + '\n');
    }
    write_json({{"version", 1},
                {"command", "matmul"},
                {"output", output},
                {"m", shape.m},
                {"n", shape.n},
                {"k", shape.k},
                {"type", name_of(type)},
                {"device", device_id},
                {"variant", report.variant},
                {"time_ms", report.compute_ms}},
               json);
  }

  // The files' names say more than "A" and "B".
  MatmulShape named_shape(const ConstMatrixView& a_view, const ConstMatrixView& b_view) const {
    if (a_view.columns != b_view.rows) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} is {} and {} is {}: the first's {} columns must equal the "
                              "second's {} rows",
                              quoted(a), shape_text(a_view), quoted(b), shape_text(b_view),
                              a_view.columns, b_view.rows));
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
                            quoted(path), name_of(view.type)));
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
  sub->add_option("--device-memory", command->device_memory,
                  "Use at most this much device memory: tiles are streamed (default: all of it)")
      ->transform(byte_size())
      ->type_name("BYTES");
  sub->add_flag("--resume", command->resume,
                "Keep finished tiles on disk and go on from them after an interruption");
  add_json_option(*sub, command->json);
  sub->footer(
      "The product has the wider of the two types, as in NumPy. C.npy is written to a\n"
      "temporary file beside it and renamed: it is complete or not there.\n"
      "\n"
      "Examples:\n"
      "  tilescope matmul A.npy B.npy -o C.npy\n"
      "  tilescope matmul A.npy B.npy -o C.npy --device cuda --variant tiled_16\n"
      "  tilescope matmul A.npy B.npy -o C.npy --device-memory 2GiB --resume");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
