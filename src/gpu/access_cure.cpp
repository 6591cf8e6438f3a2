#include "gpu/access_cure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gpu/index_names.hpp"

namespace tilescope::gpu {
namespace {

using expression::Polynomial;

// A name other than the built-ins along which neighbouring elements lie: the k of A[col * n + k].
std::string unit_stride_name(const Polynomial& index) {
  const auto& builtins = builtin_names();
  for (const std::string& name : index.variables()) {
    const bool builtin = std::find(builtins.begin(), builtins.end(), name) != builtins.end();
    if (builtin || index.dependence_on(name) != Polynomial::Dependence::linear) continue;
    const Polynomial factor = index.coefficient_of(name);
    if (factor.is_constant() && factor.constant() == 1) return name;
  }
  return {};
}

}  // namespace

std::string global_cure(const AccessQuestion& question, const AccessAnswer& answer,
                        const Polynomial& index) {
  const std::string& array = answer.array;
  if (answer.pattern == AccessPattern::data_dependent) {
    return fmt::format(
        "the addresses come from data: in the worst case every thread fetches a sector of its own. "
        "Sort or group the indices so that neighbouring threads take neighbouring elements, or "
        "bring {} into shared memory first",
        array);
  }
  if (answer.pattern == AccessPattern::uniform) return {};
  if (answer.coalesced) {
    if (answer.sectors == answer.ideal_sectors) return {};
    return fmt::format(
        "the warp's first element does not begin a sector, which costs one sector "
        "more; rows that are multiples of {} elements begin all alike",
        std::max(1, 32 / question.element_bytes));
  }
  const IndexStride& x = answer.strides[0];
  const IndexStride& y = answer.strides[1];
  if (!x.linear) {
    return fmt::format(
        "the index is not linear in threadIdx.x; make it a term free of "
        "threadIdx.x, plus threadIdx.x");
  }
  if (y.linear && (y.text == "1" || y.text == "-1")) {
    return fmt::format(
        "exchange threadIdx.x and threadIdx.y: the stride of threadIdx.y is {}, and "
        "threadIdx.x is what neighbouring lanes differ in",
        y.text);
  }
  if (question.launch.block.x < 32 && x.text == "1") {
    return fmt::format(
        "the block is {} threads wide, so a warp takes pieces of {} rows; make it "
        "32 wide",
        question.launch.block.x, (32 + question.launch.block.x - 1) / question.launch.block.x);
  }
  const std::string along = unit_stride_name(index);
  if (!along.empty()) {
    return fmt::format(
        "neighbours lie along {}: bring a tile of {} into shared memory with "
        "threadIdx.x running along {} (corner turning), or store {} transposed",
        along, array, along, array);
  }
  if (x.value && (*x.value == 2 || *x.value == 4) && question.element_bytes * *x.value <= 16) {
    return fmt::format(
        "every thread skips {} of {} elements: load all {} of them at once as a "
        "vector (float{}), or keep them in {} arrays",
        *x.value - 1, *x.value, *x.value, *x.value, *x.value);
  }
  return fmt::format(
      "a stride of {} between neighbouring threads: store what one warp reads side "
      "by side (an array for each of the {} parts instead of an array of structures)",
      x.text, x.text);
}

std::string bank_cure(const AccessQuestion& question, const AccessAnswer& answer) {
  if (answer.indices.empty() || answer.wavefronts <= answer.ideal_wavefronts) return {};
  if (question.columns > 0) {
    for (int padding = 1; padding <= question.shared_banks; ++padding) {
      AccessQuestion padded = question;
      padded.columns = question.columns + padding;
      Polynomial unused;
      const AccessAnswer cured = count_access(padded, unused);
      if (cured.wavefronts == cured.ideal_wavefronts) {
        return fmt::format("pad the rows by {}: {}[...][{} + {}]", padding, answer.array,
                           question.columns, padding);
      }
    }
  }
  return fmt::format(
      "let neighbouring lanes take neighbouring words, or an odd stride: a stride of "
      "{} words meets the same banks again and again",
      answer.strides[0].text);
}

}  // namespace tilescope::gpu
