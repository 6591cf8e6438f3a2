#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tilescope/gpu/access.hpp>
#include <tilescope/gpu/warps.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "expression/polynomial.hpp"
#include "gpu/access_cure.hpp"
#include "gpu/coalescing.hpp"
#include "gpu/index_names.hpp"
#include "gpu/shared_banks.hpp"

namespace tilescope::gpu {
namespace {

using expression::ArrayAccess;
using expression::Definitions;
using expression::Expression;
using expression::Polynomial;

constexpr std::int64_t size_taken = 1024;  // assumed for a size without a value

// All subscripts as one index.
Expression flat_index(const ArrayAccess& access, std::int64_t columns) {
  if (access.indices.size() == 1) return access.indices.front();
  if (access.indices.size() > 2) {
    throw usage_error("{} has {} subscripts; write them as one index", access.array,
                      access.indices.size());
  }
  if (columns < 1) {
    throw usage_error("{} has two subscripts: give the length of its rows with --columns N",
                      access.array);
  }
  return Expression::parse(
      fmt::format("({}) * {} + ({})", access.indices[0].text(), columns, access.indices[1].text()));
}

// Names in the index that have no meaning yet.
std::vector<std::string> free_names(const Expression& index) {
  std::vector<std::string> names;
  const auto& builtins = builtin_names();
  for (const std::string& name : index.variables()) {
    if (std::find(builtins.begin(), builtins.end(), name) == builtins.end()) names.push_back(name);
  }
  return names;
}

void collect_definitions(const Expression& expression, const Definitions& definitions,
                         std::set<std::string>& seen, AccessAnswer& answer) {
  for (const std::string& name : expression.variables()) {
    const auto found = definitions.find(name);
    if (found == definitions.end() || !seen.insert(name).second) continue;
    answer.definitions.emplace_back(name, found->second.text());
    collect_definitions(found->second, definitions, seen, answer);
  }
}

IndexStride stride_of(const Polynomial& index, const std::string& variable,
                      const std::vector<std::int64_t>& values,
                      const std::vector<std::string>& extra) {
  IndexStride stride{.variable = variable};
  if (index.dependence_on(variable) == Polynomial::Dependence::nonlinear) {
    stride.linear = false;
    stride.text = "varies";
    return stride;
  }
  stride.text = index.coefficient_of(variable).text();
  const Expression factor = Expression::parse(stride.text);
  if (!factor.reads_memory()) stride.value = BoundExpression(factor, extra).evaluate(values);
  return stride;
}

void count_global(const AccessQuestion& question, AccessAnswer& answer) {
  std::array<std::uint64_t, 32> addresses{};
  std::uint32_t mask = 0;
  // An index may be negative for the values assumed; only differences and the alignment matter.
  const std::int64_t least = *std::min_element(answer.indices.begin(), answer.indices.end());
  constexpr std::int64_t line_elements = 128;
  const std::int64_t shift =
      least < 0 ? (-least + line_elements - 1) / line_elements * line_elements : 0;
  for (std::size_t lane = 0; lane < answer.indices.size(); ++lane) {
    std::int64_t address = 0;
    if (__builtin_mul_overflow(answer.indices[lane] + shift, question.element_bytes, &address)) {
      throw usage_error("the access lies beyond 2^63 bytes; use smaller values");
    }
    addresses[lane] = static_cast<std::uint64_t>(address);
    mask |= std::uint32_t{1} << lane;
  }
  const Sectors sectors = coalesce(addresses.data(), mask, question.element_bytes);
  answer.sectors = static_cast<int>(sectors.sectors);
  answer.ideal_sectors = static_cast<int>(sectors.ideal);
  answer.lines = static_cast<int>(
      coalesce(addresses.data(), mask, question.element_bytes, kLineBytes).sectors);
  const std::set<std::int64_t> distinct(answer.indices.begin(), answer.indices.end());
  answer.used_bytes = static_cast<std::int64_t>(distinct.size()) * question.element_bytes;
  const SharedWavefronts banks =
      shared_wavefronts(addresses.data(), mask, question.element_bytes, SharedUse::load,
                        {.banks = question.shared_banks, .word_bytes = 4});
  answer.wavefronts = static_cast<int>(banks.wavefronts);
  answer.ideal_wavefronts = static_cast<int>(banks.ideal);
  answer.ways = static_cast<int>(banks.ways);
}

AccessPattern pattern_of(const AccessAnswer& answer, const Launch& launch) {
  const auto distinct = std::set<std::int64_t>(answer.indices.begin(), answer.indices.end()).size();
  if (distinct == 1) return AccessPattern::uniform;
  const IndexStride& x = answer.strides.front();
  const bool one_row = launch.block.x >= answer.indices.size();
  if (!one_row || !x.linear || !x.value) return AccessPattern::mixed;
  return *x.value == 1 || *x.value == -1 ? AccessPattern::consecutive : AccessPattern::strided;
}

void require_question(const AccessQuestion& question) {
  const int bytes = question.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
    throw usage_error("elements of {} bytes; 1, 2, 4, 8 or 16 are allowed", bytes);
  }
  if (question.launch.block.count() == 0 || question.launch.block.count() > 1024) {
    throw usage_error("a block of {} threads; 1 to 1,024 are allowed",
                      question.launch.block.count());
  }
  const std::uint64_t warps = warps_per_block(question.launch.block);
  if (question.warp >= warps) {
    throw usage_error("the block has warps 0 to {}, not {}", warps - 1, question.warp);
  }
}

}  // namespace

std::string_view name_of(AccessPattern pattern) {
  constexpr std::string_view names[] = {"uniform", "consecutive", "strided", "mixed",
                                        "data_dependent"};
  return names[static_cast<std::size_t>(pattern)];
}

AccessAnswer count_access(const AccessQuestion& question, Polynomial& polynomial) {
  require_question(question);
  const ArrayAccess access = expression::parse_access(question.expression);
  const Expression given = flat_index(access, question.columns);
  const Definitions definitions = definitions_with(question.definitions);
  const Expression index = given.substitute(definitions);
  polynomial = Polynomial::of(index);

  AccessAnswer answer;
  answer.array = access.array;
  answer.index = polynomial.text();
  std::set<std::string> seen;
  collect_definitions(given, definitions, seen, answer);

  const std::vector<std::string> extra = free_names(index);
  const auto sizes = polynomial.multiplied_variables();
  std::vector<std::int64_t> values = builtin_values({}, question.block_index, question.launch);
  for (const std::string& name : extra) {
    const std::int64_t taken = sizes.contains(name) ? size_taken : 0;
    answer.assumed.emplace_back(name, taken);
    values.push_back(taken);
  }
  for (const char* variable : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
    answer.strides.push_back(stride_of(polynomial, variable, values, extra));
  }

  const std::uint64_t first = question.warp * 32;
  const std::uint64_t last = std::min(question.launch.block.count(), first + 32);
  answer.lanes = static_cast<int>(last - first);
  if (index.reads_memory()) {
    answer.pattern = AccessPattern::data_dependent;
    answer.sectors = answer.lines = answer.lanes;
    answer.used_bytes = std::int64_t{answer.lanes} * question.element_bytes;
    answer.ideal_sectors = static_cast<int>((answer.used_bytes + kSectorBytes - 1) / kSectorBytes);
  } else {
    const BoundExpression bound(index, extra);
    for (std::uint64_t thread = first; thread < last; ++thread) {
      const std::vector<std::int64_t> thread_values = builtin_values(
          thread_at(thread, question.launch.block), question.block_index, question.launch);
      std::copy(thread_values.begin(), thread_values.end(), values.begin());
      answer.indices.push_back(bound.evaluate(values));
    }
    count_global(question, answer);
    answer.pattern = pattern_of(answer, question.launch);
  }
  answer.fetched_bytes = std::int64_t{answer.sectors} * kSectorBytes;
  answer.wasted_share = 1.0 - double(answer.used_bytes) / double(answer.fetched_bytes);
  const bool off_start =
      answer.pattern == AccessPattern::consecutive && answer.sectors == answer.ideal_sectors + 1;
  answer.coalesced = answer.sectors <= answer.ideal_sectors || off_start;
  return answer;
}

AccessAnswer analyse_access(const AccessQuestion& question) {
  Polynomial index;
  AccessAnswer answer = count_access(question, index);
  answer.cure = global_cure(question, answer, index);
  answer.bank_cure = bank_cure(question, answer);
  return answer;
}

}  // namespace tilescope::gpu
