#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/npy.hpp>
#include <tilescope/tuning.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "io/resumable_npy.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "transfer/matmul_files.hpp"
#include "transfer/out_of_core.hpp"
#include "transfer/tile_kernel.hpp"

namespace tilescope::cli {
namespace {

struct MatmulCommand {
  transfer::MatmulFiles files;
  std::string output, device = "auto", precision = "auto", activation, order = "C", json;
  MatmulOptions options;
  std::optional<double> beta;
  std::uint64_t device_memory = 0;
  bool resume = false;

  void declare(const Options& add) {
    add("A A.npy", files.a, "Left matrix, or a batch with 3 dimensions", required);
    add("B B.npy", files.b, "Right matrix, or a batch with 3 dimensions", required);
    add("-o,--output C.npy", output, "Where to write the product", required);
    add("--device DEVICE", device, "auto, cuda, cuda:N, emulated or cpu", shown);
    add("--precision NAME", precision, "Arithmetic; auto: fp64 if a matrix is float64, else fp32",
        shown, one_of({"auto", "fp32", "fp32_fast", "tf32", "bf16", "fp16", "fp64"}));
    add("--alpha X", options.alpha, "Factor of the product", shown);
    add("--accumulate C0.npy", files.accumulate,
        "Add the product to this matrix, which is not changed");
    add("--beta X", beta, "Factor of that matrix (default: 1)");
    add("--transpose-a", files.transpose_a, "Multiply with A transposed");
    add("--transpose-b", files.transpose_b, "Multiply with B transposed");
    add("--bias FILE.npy", files.bias, "Add this list's values, as float32, one to each column");
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
    add.json(json);
  }

  int run() {
    complete_options();
    const transfer::MatmulInputs inputs(files);
    options.bias = inputs.bias();
    if (inputs.is_batch() && order == "F") {
      throw usage_error("--order F is for one matrix: a batch is written in C order");
    }
    const std::shared_ptr<Device> opened = Device::open(device);
    const std::string trouble = options.variant.empty() ? tuning_trouble(*opened) : "";
    if (!trouble.empty()) note("tilescope: note: " + trouble);
    const std::size_t limit = memory_limit(*opened, inputs);
    if (resume && limit == 0) {
      throw usage_error("--resume needs --device-memory: without tiles there is nothing to resume");
    }
    if (limit > 0) require_tiles_can(inputs);
    MatmulReport report;
    const bool cancelled = resume && !inputs.a().first.empty() && !inputs.b().first.empty()
                               ? multiply_resumably(*opened, inputs, limit, report)
                               : multiply(*opened, inputs, limit, report);
    if (cancelled) return CancelScope::exit_code();
    show(report, inputs, opened->id());
    return 0;
  }

  /// Completes the options, or reports why they do not fit together.
  void complete_options() {
    options.precision = parse_precision(precision);
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

  Order output_order() const { return order == "F" ? Order::column_major : Order::row_major; }

  /// Multiplies into a file that is complete or absent. Returns whether Ctrl-C ended it.
  bool multiply(Device& on, const transfer::MatmulInputs& inputs, std::size_t limit,
                MatmulReport& report) const {
    NpyWriter writer(output, inputs.header(output_order()));
    const MatrixBatch c = inputs.start(writer);
    if (limit > 0) {
      if (multiply_in_tiles(on, inputs, c.first, limit, report, {}, {})) {
        note("tilescope: interrupted; nothing was written");
        return true;
      }
    } else {
      report = matmul_batched(on, inputs.a(), inputs.b(), c, options);
    }
    inputs.require_unchanged();
    writer.commit();
    return false;
  }

  /// Multiplies into a file whose finished tiles stay. Returns whether Ctrl-C ended it.
  bool multiply_resumably(Device& on, const transfer::MatmulInputs& inputs, std::size_t limit,
                          MatmulReport& report) const {
    const transfer::OutOfCorePlan plan =
        transfer::plan_of(on, inputs.a().first, inputs.b().first, inputs.type(), output_order(),
                          {.device_bytes = limit, .variant = options.variant});
    io::ResumableNpy file(output, inputs.header(output_order()), purpose(plan), plan.tiles());
    const bool cancelled = multiply_in_tiles(
        on, inputs, file.matrix(), limit, report,
        [&](std::int64_t tile) { return file.is_done(tile); },
        [&](std::int64_t tile) {
          inputs.require_unchanged();
          file.mark_done(tile);
        });
    if (!cancelled) {
      file.commit();
      return false;
    }
    file.flush();
    note(fmt::format("tilescope: interrupted with {} of {} tiles done; the same command continues",
                     file.done_count(), plan.tiles()));
    return true;
  }

  /// The identity of a product for --resume: another state of an input is another product.
  std::string purpose(const transfer::OutOfCorePlan& plan) const {
    std::string text = fmt::format("{} in tiles of {}, variant {}, order {}",
                                   shape_text(plan.shape), shape_text(plan.tile),
                                   options.variant.empty() ? "auto" : options.variant, order);
    for (const auto& [path, transposed] :
         {std::pair{files.a, files.transpose_a}, std::pair{files.b, files.transpose_b}}) {
      const FileStamp stamp = stamp_of(open_regular_file(path), path);
      text += fmt::format("; {}{} {} {}.{}", printable(path, 200), transposed ? " transposed" : "",
                          stamp.size, stamp.modified_s, stamp.modified_ns);
    }
    return text;
  }

  Precision precision_of_tiles(const transfer::MatmulInputs& inputs) const {
    return inputs.type() == DataType::float64 ? Precision::fp64 : Precision::fp32;
  }
  bool has_other_precision(const transfer::MatmulInputs& inputs) const {
    return options.precision != Precision::automatic &&
           options.precision != precision_of_tiles(inputs);
  }

  /// The first option that needs more than the A * B in one arithmetic that products in tiles
  /// compute; nullptr if there is none.
  const char* beyond_tiles(const transfer::MatmulInputs& inputs) const {
    return inputs.is_batch()             ? "a batch of matrices"
           : has_other_precision(inputs) ? "--precision"
           : options.alpha != 1.0        ? "--alpha"
           : !files.accumulate.empty()   ? "--accumulate"
           : !files.bias.empty()         ? "--bias"
           : !activation.empty()         ? "--activation"
           : is_for_whole_products()     ? "--variant"
                                         : nullptr;
  }

  /// Options that tiles cannot honour are refused, not ignored.
  void require_tiles_can(const transfer::MatmulInputs& inputs) const {
    const char* const option = beyond_tiles(inputs);
    if (option == nullptr) return;
    const std::string value = option == std::string_view("--precision") ? " " + precision
                              : option == std::string_view("--variant") ? " " + options.variant
                                                                        : "";
    throw usage_error(
        "{}{} does not work with {}: products in tiles are {} and A * B alone{}", option, value,
        device_memory > 0 ? "--device-memory" : "operands beyond the device's memory",
        name_of(precision_of_tiles(inputs)), device_memory > 0 ? "" : "; use --device cpu");
  }
  bool is_for_whole_products() const {
    return operations::find_gemm_variant(options.variant) != nullptr &&
           !transfer::multiplies_in_tiles(options.variant);
  }

  /// The bytes for operands and result on the device; 0: all at once.
  std::size_t memory_limit(const Device& on, const transfer::MatmulInputs& inputs) const {
    if (device_memory > 0) return device_memory;
    if (on.kind() != DeviceKind::cuda) return 0;
    return inputs.memory_limit(on, beyond_tiles(inputs) == nullptr);
  }

  /// Returns whether Ctrl-C ended it.
  bool multiply_in_tiles(Device& on, const transfer::MatmulInputs& inputs, const MatrixView& c,
                         std::size_t limit, MatmulReport& report,
                         const std::function<bool(std::int64_t)>& is_done,
                         const std::function<void(std::int64_t)>& tile_done) const {
    const ConstMatrixView &a = inputs.a().first, &b = inputs.b().first;
    if (c.empty() || a.columns == 0) {
      report = matmul(on, a, b, c, options);
      return false;
    }
    const CancelScope cancel;
    ProgressLine progress("tiles");
    std::uint64_t done = 0;
    const transfer::OutOfCoreReport tiled =
        transfer::out_of_core_matmul(on, a, b, c,
                                     {.device_bytes = limit,
                                      .variant = options.variant,
                                      .is_done = is_done,
                                      .tile_done =
                                          [&](std::int64_t tile) {
                                            if (tile_done) tile_done(tile);
                                            progress.update(++done);
                                          },
                                      .cancelled = CancelScope::cancelled});
    const std::int64_t tiles = tiled.plan.tiles();
    report = {
        .variant = fmt::format("{} in {} tile{}", tiled.variant, tiles, tiles == 1 ? "" : "s"),
        .compute_ms = tiled.seconds * 1e3,
        .precision = precision_of_tiles(inputs)};
    if (on.kind() == DeviceKind::cuda && tiled.seconds > 0.0) {
      report.note = fmt::format("kernels running {:.1f}% of the time",
                                100.0 * tiled.busy_seconds / tiled.seconds);
    }
    return tiled.cancelled;
  }

  void show(const MatmulReport& report, const transfer::MatmulInputs& inputs,
            const std::string& device_id) const {
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
    std::string text = fmt::format("{} = {}: ", printable(output), product_text());
    if (inputs.is_batch()) text += page.data.fill("{batch:plain} x ");
    text += page.data.fill("{m:plain} x {n:plain} {type}, {variant}");
    if (options.precision != Precision::automatic) text += page.data.fill(" ({precision})");
    text += page.data.fill(" on {device} in {time_ms}");
    if (seconds > 0.0 && flops > 0.0) text += ", " + format_rate(flops / seconds, "FLOP/s");
    if (!report.note.empty()) text += "; " + report.note;
    page.add(report::Text{std::move(text), 0, 2});
    cli::show(page, json);
  }

  /// "relu(2 * A.npy^T x B.npy + C0.npy + bias.npy)"
  std::string product_text() const {
    std::string text = fmt::format("{}{}{} x {}{}",
                                   options.alpha == 1.0 ? "" : fmt::format("{} * ", options.alpha),
                                   printable(files.a), files.transpose_a ? "^T" : "",
                                   printable(files.b), files.transpose_b ? "^T" : "");
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
    "matrices' types, as in NumPy. A matrix beside a batch is multiplied with each\n"
    "of it. C.npy is written to a temporary file beside it and renamed: it is\n"
    "complete or absent.",
    "tilescope matmul A.npy B.npy -o C.npy\n"
    "tilescope matmul A.npy B.npy -o C.npy --precision bf16 --transpose-b\n"
    "tilescope matmul X.npy W.npy -o Y.npy --bias b.npy --activation gelu\n"
    "tilescope matmul A.npy B.npy -o C.npy --alpha -1 --accumulate C0.npy\n"
    "tilescope matmul A.npy B.npy -o C.npy --device cuda --variant tiled_16\n"
    "tilescope matmul A.npy B.npy -o C.npy --device-memory 2GiB --resume"};

}  // namespace tilescope::cli
