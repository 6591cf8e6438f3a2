#include "transfer/matmul_to_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "io/resumable_npy.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "transfer/out_of_core.hpp"
#include "transfer/tile_kernel.hpp"

namespace tilescope::transfer {
namespace {

/// One call of multiply_into().
struct FileProduct {
  const MatmulTarget& target;
  Device& device;
  const MatmulInputs& inputs;
  const MatmulOptions& options;
  /// Without device_bytes the product is computed at once.
  OutOfCoreOptions tiling = {.device_bytes = target.device_memory,
                             .variant = options.variant,
                             .is_done = {},
                             .tile_done = target.tile_done,
                             .cancelled = CancelScope::cancelled};
  Precision tile_precision = inputs.type() == DataType::float64 ? Precision::fp64 : Precision::fp32;
  MatmulOutcome outcome = {};

  /// The first option that needs more than the A * B in one arithmetic that products in tiles
  /// compute; empty if there is none.
  std::string beyond_tiles() const {
    const bool has_other_precision =
        options.precision != Precision::automatic && options.precision != tile_precision;
    const bool is_for_whole_products = operations::find_gemm_variant(options.variant) != nullptr &&
                                       !multiplies_in_tiles(options.variant);
    return inputs.is_batch()      ? "a batch of matrices"
           : inputs.is_integer()  ? "a product of int8"
           : has_other_precision  ? fmt::format("--precision {}", name_of(options.precision))
           : options.alpha != 1.0 ? "--alpha"
           : !inputs.files().accumulate.empty()     ? "--accumulate"
           : !inputs.files().bias.empty()           ? "--bias"
           : !options.scale_a.values.empty()        ? "--scale-a"
           : !options.scale_b.values.empty()        ? "--scale-b"
           : options.activation != Activation::none ? "--activation"
           : is_for_whole_products                  ? "--variant " + options.variant
                                                    : "";
  }

  void choose_limit() {
    const std::string option = beyond_tiles();
    const bool is_given = target.device_memory > 0;
    if (!is_given && device.kind() == DeviceKind::cuda && !target.multiply) {
      tiling.device_bytes = inputs.memory_limit(device, option.empty());
    }
    if (target.resume && tiling.device_bytes == 0) {
      throw usage_error("--resume needs --device-memory: without tiles there is nothing to resume");
    }
    if (tiling.device_bytes == 0 || option.empty()) return;
    throw usage_error("{} does not work with {}: products in tiles are {} and A * B alone{}",
                      option, is_given ? "--device-memory" : "operands beyond the device's memory",
                      name_of(tile_precision), is_given ? "" : "; use --device cpu");
  }

  /// Multiplies into a file that is complete or absent.
  void multiply() {
    NpyWriter writer(target.path, inputs.header(target.order));
    if (device.kind() == DeviceKind::cpu) writer.fill_with_zeros();
    const MatrixBatch c = inputs.start(writer);
    if (target.multiply) {
      outcome.report = target.multiply(inputs.a().first, inputs.b().first, c.first);
    } else if (tiling.device_bytes == 0) {
      outcome.report = matmul_batched(device, inputs.a(), inputs.b(), c, options);
    } else {
      multiply_in_tiles(c.first);
      if (outcome.cancelled) return;
    }
    inputs.require_unchanged();
    writer.commit();
  }

  /// Multiplies into a file whose finished tiles stay.
  void multiply_resumably() {
    const OutOfCorePlan plan =
        plan_of(device, inputs.a().first, inputs.b().first, inputs.type(), target.order, tiling);
    io::ResumableNpy file(target.path, inputs.header(target.order), purpose(plan), plan.tiles());
    tiling.is_done = [&](std::int64_t tile) { return file.is_done(tile); };
    tiling.tile_done = [&](std::int64_t tile) {
      inputs.require_unchanged();
      file.mark_done(tile);
      if (target.tile_done) target.tile_done(tile);
    };
    multiply_in_tiles(file.matrix());
    if (!outcome.cancelled) return file.commit();
    file.flush();
    outcome.tiles_kept = file.done_count();
    outcome.tiles = plan.tiles();
  }

  /// The identity of a product that is resumed: another state of an input is another product.
  std::string purpose(const OutOfCorePlan& plan) const {
    const MatmulFiles& files = inputs.files();
    std::string text =
        fmt::format("{} in tiles of {}, variant {}, order {}", shape_text(plan.shape),
                    shape_text(plan.tile), options.variant.empty() ? "auto" : options.variant,
                    target.order == Order::row_major ? "C" : "F");
    for (const auto& [path, transposed] :
         {std::pair{files.a, files.transpose_a}, std::pair{files.b, files.transpose_b}}) {
      const FileStamp stamp = stamp_of(open_regular_file(path), path);
      text += fmt::format("; {}{} {} {}.{}", printable(path, 200), transposed ? " transposed" : "",
                          stamp.size, stamp.modified_s, stamp.modified_ns);
    }
    return text;
  }

  void multiply_in_tiles(const MatrixView& c) {
    const ConstMatrixView &a = inputs.a().first, &b = inputs.b().first;
    if (c.empty() || a.columns == 0) {
      outcome.report = matmul(device, a, b, c, options);
      return;
    }
    const CancelScope cancel;
    const OutOfCoreReport tiled = out_of_core_matmul(device, a, b, c, tiling);
    const std::int64_t tiles = tiled.plan.tiles();
    outcome.report = {
        .variant = fmt::format("{} in {} tile{}", tiled.variant, tiles, tiles == 1 ? "" : "s"),
        .compute_ms = tiled.seconds * 1e3,
        .precision = tile_precision};
    if (device.kind() == DeviceKind::cuda && tiled.seconds > 0.0) {
      outcome.report.note = fmt::format("kernels running {:.1f}% of the time",
                                        100.0 * tiled.busy_seconds / tiled.seconds);
    }
    outcome.cancelled = tiled.cancelled;
  }
};

}  // namespace

MatmulOutcome multiply_into(const MatmulTarget& target, Device& device, const MatmulInputs& inputs,
                            const MatmulOptions& options) {
  FileProduct product{target, device, inputs, options};
  product.choose_limit();
  if (target.resume && !inputs.a().first.empty() && !inputs.b().first.empty()) {
    product.multiply_resumably();
  } else {
    product.multiply();
  }
  return product.outcome;
}

}  // namespace tilescope::transfer
