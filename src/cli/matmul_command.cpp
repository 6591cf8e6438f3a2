#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/sharded.hpp>
#include <tilescope/tuning.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/precision.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/rank_command.hpp"
#include "cli/shared_options.hpp"
#include "cli/show.hpp"
#include "ranks/rank_job.hpp"
#include "transfer/matmul_to_file.hpp"

namespace tilescope::cli {
namespace {

struct MatmulCommand {
  transfer::MatmulFiles files;
  std::string output, devices, grid, device = "auto", precision = "auto", activation, order = "C",
                                     json;
  MatmulOptions options;
  std::optional<double> beta;
  std::uint64_t device_memory = 0;
  std::int64_t band = 0;
  bool resume = false, exchange = false;

  void declare(const Options& add) {
    add("A A.npy", files.a, "Left matrix, or a batch with 3 dimensions", required);
    add("B B.npy", files.b, "Right matrix, or a batch with 3 dimensions", required);
    add("-o,--output C.npy", output, "Where to write the product", required);
    add("--device DEVICE", device, "auto, cuda, cuda:N, emulated or cpu", shown);
    add("--devices LIST", devices,
        "Share the product among these: all (every GPU), or a list such as cuda:0,cuda:1");
    add("--grid RxC", grid,
        "Rows and columns of the grid of ranks that mpirun started (default: by the shape)");
    add("--band COLUMNS", band,
        "Columns of C that ranks compute, and with --resume keep, at a time (default: some "
        "seconds' work)");
    add("--exchange", exchange,
        "Ranks of one machine send each other panels of A and B too, instead of reading the "
        "files' pages, which they share");
    add("--precision NAME", precision,
        fmt::format("Arithmetic: {}; auto: fp64 if a matrix is float64, int8 if both are int8, "
                    "else fp32",
                    fmt::join(precision_names().subspan(1), ", ")),
        shown, one_of_listed(precision_names()));
    add("--alpha X", options.alpha, "Factor of the product", shown);
    add("--accumulate C0.npy", files.accumulate,
        "Add the product to this matrix, which is not changed");
    add("--beta X", beta, "Factor of that matrix (default: 1)");
    add("--transpose-a", files.transpose_a, "Multiply with A transposed");
    add("--transpose-b", files.transpose_b, "Multiply with B transposed");
    add("--bias FILE.npy", files.bias, "Add this list's values, as float32, one to each column");
    add("--scale-a FILE.npy", files.scale_a,
        "Multiply A, in 8-bit floats, by these: a number, one for each row, or one for each row "
        "and 128 columns");
    add("--scale-b FILE.npy", files.scale_b,
        "The same for B: a number, one for each column, or one for each 128 x 128 elements");
    add("--activation NAME", activation, "Applied at the end: relu or gelu",
        one_of({"relu", "gelu"}));
    add("--variant NAME", options.variant,
        "A rung of the ladder, or a kernel that takes all options, such as general (default: the "
        "device's best)");
    add("--order C|F", order, "Storage order of the output: C or F", shown, one_of({"C", "F"}));
    add("--device-memory BYTES", device_memory,
        "Use at most this much device memory: tiles are streamed (default: all of it)", in_bytes);
    add("--resume", resume,
        "Keep finished tiles on disk and continue from them after an interruption");
    add.interpret();
    add.json(json);
  }

  int run() {
    complete_options();
    if (const auto launcher = ranks::find_launcher(takes_one_rank() ? 1 : 2)) {
      return run_ranks(*launcher);
    }
    if (const char* option = !grid.empty() ? "--grid"
                             : band != 0   ? "--band"
                             : exchange    ? "--exchange"
                                           : nullptr) {
      throw usage_error("{} is for ranks that mpirun started, and there are none", option);
    }
    const transfer::MatmulInputs inputs(files);
    options.bias = inputs.bias();
    options.scale_a = inputs.scale_a();
    options.scale_b = inputs.scale_b();
    if (inputs.is_batch() && order == "F") {
      throw usage_error("--order F is for one matrix: a batch is written in C order");
    }
    if (!devices.empty()) return run_sharded(inputs);
    const std::shared_ptr<Device> opened = Device::open(device);
    const std::string trouble = options.variant.empty() ? tuning_trouble(*opened) : "";
    if (!trouble.empty()) note("tilescope: note: " + trouble);
    const transfer::MatmulOutcome outcome = multiply(*opened, inputs);
    if (!outcome.cancelled) {
      show(outcome.report, inputs, opened->id());
      return 0;
    }
    note(outcome.tiles == 0
             ? "tilescope: interrupted; nothing was written"
             : fmt::format("tilescope: interrupted with {} of {} tiles done; the same command "
                           "continues",
                           outcome.tiles_kept, outcome.tiles));
    return CancelScope::exit_code();
  }

  /// Whether a process that mpirun started alone is a rank: one that goes on with what several
  /// ranks have kept, or has options that only ranks take.
  bool takes_one_rank() const {
    return (resume && device_memory == 0) || !grid.empty() || band != 0 || exchange;
  }

  /// Computes on several devices.
  int run_sharded(const transfer::MatmulInputs& inputs) {
    const char* other = device_memory > 0 ? "--device-memory" : resume ? "--resume" : nullptr;
    if (other != nullptr) throw usage_error("--devices does not work with {}", other);
    if (inputs.is_batch()) throw usage_error("--devices is for one matrix, not for a batch");
    const auto opened = open_devices(devices);
    ShardedReport sharded;
    const transfer::MatmulTarget target{
        .path = output,
        .order = c_order(),
        .tile_done = {},
        .multiply = [&](const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c) {
          sharded = matmul_sharded(opened, a, b, c, options);
          return sharded.product;
        }};
    const auto outcome = transfer::multiply_into(target, *opened.front(), inputs, options);
    show(outcome.report, inputs, devices);
    return 0;
  }

  /// Computes on the devices of all ranks.
  int run_ranks(const ranks::Launcher& launcher) {
    ProgressLine progress("bands");
    ranks::RankJob job{.output = output,
                       .device = device,
                       .order = c_order(),
                       .options = options,
                       .resume = resume,
                       .band = band,
                       .grid = {},
                       .exchange = exchange,
                       .band_done = {}};
    job.band_done = [&](std::int64_t done, std::int64_t) {
      progress.update(static_cast<std::uint64_t>(done));
    };
    return on_ranks(launcher, [&](const ranks::Session& session, bool is_first) {
      ranks::together(session, [&] { complete_job(job); });
      const ranks::RankOutcome outcome = ranks::multiply_with_ranks(session, files, job);
      if (!is_first) return;
      const std::string hosts =
          fmt::format("{} host{}", outcome.hosts, outcome.hosts == 1 ? "" : "s");
      report::Record place{{"ranks", session.all().size()},
                           {"hosts", outcome.hosts},
                           {"rank_device", kind_name(outcome.device)}};
      if (!outcome.carrier.empty()) {
        place.set("exchange", outcome.carrier).set("exchange_note", outcome.why_not_nccl);
      }
      if (outcome.device == DeviceKind::cuda && outcome.carrier == "mpi") {
        note("tilescope: note: GPUs exchange panels through MPI: " + outcome.why_not_nccl);
      }
      show(outcome.report, transfer::MatmulInputs(files), hosts, place);
    });
  }

  /// Refuses options that ranks cannot honour, and reads the grid.
  void complete_job(ranks::RankJob& job) const {
    const char* other = device_memory > 0          ? "--device-memory"
                        : !devices.empty()         ? "--devices"
                        : !options.variant.empty() ? "--variant"
                                                   : nullptr;
    if (other != nullptr) throw usage_error("{} does not work with ranks of mpirun", other);
    if (band < 0) throw usage_error("--band {}: expected a number of columns", band);
    if (grid.empty()) return;
    const std::vector<std::int64_t> extents = parse_numbers(grid, "--grid");
    const auto is_extent = [](std::int64_t n) { return n >= 1 && n <= 1'000'000; };
    if (extents.size() != 2 || !is_extent(extents[0]) || !is_extent(extents[1])) {
      throw usage_error("--grid {}: expected rows x columns, such as 2x3", printable(grid, 40));
    }
    job.grid = ranks::RankGrid{static_cast<int>(extents[0]), static_cast<int>(extents[1])};
  }

  Order c_order() const { return order == "F" ? Order::column_major : Order::row_major; }

  /// Completes the options, or reports why they do not fit together.
  void complete_options() {
    options.precision = parse_precision(precision);
    if (options.precision == Precision::fp8_e4m3) files.bytes_hold = DataType::float8_e4m3;
    if (options.precision == Precision::fp8_e5m2) files.bytes_hold = DataType::float8_e5m2;
    if (activation == "relu") options.activation = Activation::relu;
    if (activation == "gelu") options.activation = Activation::gelu;
    if (beta && files.accumulate.empty()) {
      throw usage_error(
          "--beta needs --accumulate C0.npy: it is the factor of the matrix that the product is "
          "added to");
    }
    if (!files.accumulate.empty()) options.beta = beta.value_or(1.0);
    if (!files.accumulate.empty() && options.beta == 0.0) {
      throw usage_error("--beta 0 would ignore --accumulate: leave both out");
    }
    for (const double factor : {options.alpha, options.beta}) {
      if (!std::isfinite(factor)) {
        throw usage_error("--alpha and --beta must be finite, and one is {}", factor);
      }
    }
  }

  transfer::MatmulOutcome multiply(Device& on, const transfer::MatmulInputs& inputs) const {
    ProgressLine progress("tiles");
    std::uint64_t done = 0;
    return transfer::multiply_into({.path = output,
                                    .order = c_order(),
                                    .device_memory = device_memory,
                                    .resume = resume,
                                    .tile_done = [&](std::int64_t) { progress.update(++done); }},
                                   on, inputs, options);
  }

  void show(const MatmulReport& report, const transfer::MatmulInputs& inputs,
            const std::string& device_id, const report::Record& place = {}) const {
    const double seconds = report.compute_ms * 1e-3;
    const MatmulShape shape = inputs.shape();
    const double flops = shape.flops() * static_cast<double>(inputs.a().count);
    report::Page page("matmul");
    page.data = {{"output", output},
                 {"m", shape.m},
                 {"n", shape.n},
                 {"k", shape.k},
                 {"batch", inputs.a().count},
                 {"type", name_of(inputs.type())},
                 {"device", device_id},
                 {"variant", report.variant},
                 {"precision", name_of(report.precision)},
                 {"note", report.note},
                 {"time_ms", report.compute_ms}};
    page.data.set_all(place);
    const bool is_scaled =
        report.precision == Precision::fp8_e4m3 || report.precision == Precision::fp8_e5m2;
    if (is_scaled) {
      page.data.set("scale_a", report.scale_a);
      page.data.set("scale_b", report.scale_b);
    }
    std::string text = fmt::format("{} = {}: ", printable(output), product_text());
    if (inputs.is_batch()) text += page.data.fill("{batch:plain} x ");
    text += page.data.fill("{m:plain} x {n:plain} {type}, {variant}");
    if (options.precision != Precision::automatic) text += page.data.fill(" ({precision})");
    text += page.data.fill(" on {device} in {time_ms}");
    if (seconds > 0.0 && flops > 0.0) text += ", " + format_rate(flops / seconds, "FLOP/s");
    if (!report.note.empty()) text += "; " + report.note;
    if (is_scaled) text += page.data.fill("; A / {scale_a}, B / {scale_b}");
    page.add(report::Text{std::move(text), 0, 2});
    cli::show(page, {json});
  }

  /// "relu(2 * A.npy^T x B.npy + C0.npy + bias.npy)"
  std::string product_text() const {
    const auto operand = [](const std::string& scale, const std::string& path, bool transposed) {
      return fmt::format("{}{}{}", scale.empty() ? "" : printable(scale) + " * ", printable(path),
                         transposed ? "^T" : "");
    };
    std::string text =
        fmt::format("{}{} x {}", options.alpha == 1.0 ? "" : fmt::format("{} * ", options.alpha),
                    operand(files.scale_a, files.a, files.transpose_a),
                    operand(files.scale_b, files.b, files.transpose_b));
    if (!files.accumulate.empty()) {
      text += fmt::format(" + {}{}", options.beta == 1.0 ? "" : fmt::format("{} * ", options.beta),
                          printable(files.accumulate));
    }
    if (!files.bias.empty()) text += " + " + printable(files.bias);
    return activation.empty() ? text : fmt::format("{}({})", activation, text);
  }
};

}  // namespace

const Command matmul_command{
    "matmul", "Multiply matrices from .npy files", declare<MatmulCommand>,
    "C = activation(alpha A B + beta C0 + bias). The product has the widest of the\n"
    "matrices' types, as in NumPy; of two int8 it is int32. For fp8_e4m3 and\n"
    "fp8_e5m2 matrices are divided by a power of two each and rounded; files of\n"
    "uint8 hold such numbers as bits. A matrix beside a batch is multiplied with each\n"
    "of it. C.npy is written to a temporary file beside it and renamed: it is\n"
    "complete or absent.",
    "tilescope matmul A.npy B.npy -o C.npy\n"
    "tilescope matmul A.npy B.npy -o C.npy --precision bf16 --transpose-b\n"
    "tilescope matmul A.npy B.npy -o C.npy --precision fp8_e4m3\n"
    "tilescope matmul X.npy W.npy -o Y.npy --bias b.npy --activation gelu\n"
    "tilescope matmul A.npy B.npy -o C.npy --alpha -1 --accumulate C0.npy\n"
    "tilescope matmul A.npy B.npy -o C.npy --device cuda --variant tiled_16\n"
    "tilescope matmul A.npy B.npy -o C.npy --device-memory 2GiB --resume\n"
    "tilescope matmul A.npy B.npy -o C.npy --devices all --precision bf16\n"
    "mpirun -n 4 tilescope matmul A.npy B.npy -o C.npy --resume\n"
    "mpirun -n 4 tilescope matmul A.npy B.npy -o C.npy --device cuda"};

}  // namespace tilescope::cli
