#include "inspect/rung_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "compile/embedded_kernels.hpp"
#include "gpu/launch_limits.hpp"

namespace tilescope::inspect {
namespace {

bool gives_size(const ProblemOptions& options) {
  return options.size || options.rows || options.columns || options.inner;
}

bool is_of_matrices(std::string_view operation) {
  const auto& takes = operations::registered_operation(operation).options;
  return std::find(takes.begin(), takes.end(), "--rows") != takes.end();
}

/// As much work as one block of threads can do.
ProblemOptions one_block_size(std::string_view operation, ProblemOptions options) {
  constexpr std::int64_t matrix_extent = 32, list_elements = 1024;
  options.size = is_of_matrices(operation) ? matrix_extent : list_elements;
  return options;
}

}  // namespace

ProblemOptions emulated_size(std::string_view operation, ProblemOptions options) {
  if (gives_size(options)) return options;
  constexpr std::int64_t matrix_extent = 128, list_elements = 65536;
  options.size = is_of_matrices(operation) ? matrix_extent : list_elements;
  return options;
}

namespace {

/// The full name of the variant that a user calls `name`. A variant with several widths and a name
/// without one gets `tile`, or if that is 0 a width of 16, else its widest.
std::string chosen_variant(const operations::Operation& operation, const std::string& name,
                           int tile) {
  if (tile != 0) return operation.variant_name(fmt::format("{}_{}", name, tile));
  std::string widest;
  for (const operations::VariantInfo& variant : operation.variants()) {
    if (variant.name == name) return name;
    const bool is_width =
        variant.name.starts_with(name + '_') &&
        variant.name.find_first_not_of("0123456789", name.size() + 1) == std::string::npos;
    if (!is_width) continue;
    widest = variant.name;
    if (widest == name + "_16") break;
  }
  return widest.empty() ? operation.variant_name(name) : widest;
}

operations::VariantInfo variant_info(const operations::Operation& operation,
                                     const std::string& name) {
  for (operations::VariantInfo& variant : operation.variants()) {
    if (variant.name == name && !variant.source.empty()) return std::move(variant);
  }
  throw usage_error("{}/{} is not a Tilescope kernel, so it cannot be inspected", operation.name(),
                    name);
}

/// The reason why the variant cannot run, by its own rules or by the device's limits on launches.
std::optional<std::string> refusal(const operations::Operation& operation,
                                   const operations::VariantInfo& variant, const Device& device) {
  if (auto why = operation.refusal(variant, device)) return why;
  try {
    for (const operations::Step& step : operation.plan(variant, device.properties()).steps) {
      if (!step.kernel.empty()) {
        gpu::require_launchable(step.kernel, step.launch, device.properties(), {});
      }
    }
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace

RungSubject::RungSubject(const LadderRung& rung, Device& device) {
  const std::size_t slash = rung.name.find('/');
  if (slash == std::string::npos || rung.name.find('/', slash + 1) != std::string::npos) {
    throw usage_error(
        "\"{}\" is neither a .cu or .ptx file nor OPERATION/VARIANT, such as matmul/tiled_16",
        printable(rung.name, 120));
  }
  const std::string name(operations::registered_operation(rung.name.substr(0, slash)).name);
  operation_ = operations::make_operation(name, emulated_size(name, rung.problem));
  const std::string variant = chosen_variant(*operation_, rung.name.substr(slash + 1), rung.tile);
  operations::VariantInfo info = variant_info(*operation_, variant);
  std::optional<std::string> why = refusal(*operation_, info, device);
  if (why && !gives_size(rung.problem)) {  // a rung of one block takes only little
    operation_ = operations::make_operation(name, one_block_size(name, rung.problem));
    info = variant_info(*operation_, variant);
    why = refusal(*operation_, info, device);
  }
  if (why) throw usage_error("{}/{}: {}", name, variant, *why);
  for (const compile::EmbeddedKernel& file : compile::embedded_kernels()) {
    sources.push_back({std::string(file.text), fmt::format("kernels/{}", file.name)});
  }
  prepared_ = operation_->prepare(info, device);
  prepared_->poison(0);
  title = fmt::format("{}/{}, {}", name, variant, operation_->size_text());
  if (const std::string note = prepared_->note(); !note.empty()) notes.push_back(note);
}

}  // namespace tilescope::inspect
