#include "drawn_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <utility>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope::products {
namespace {

// In [0, 1), from the generator's bits alone: the library's distributions differ between machines.
double fraction(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11U) * 0x1p-53;
}

std::int64_t draw_extent(const Range& range, std::int64_t alignment, std::mt19937_64& generator) {
  const auto least = static_cast<double>(range.least), most = static_cast<double>(range.most);
  const double extent = least * std::pow(most / least, fraction(generator));
  const std::int64_t units = std::llround(extent / static_cast<double>(alignment));
  const std::int64_t first = (range.least + alignment - 1) / alignment;
  return std::clamp(units, first, range.most / alignment) * alignment;
}

void require_multiple(const Range& range, std::int64_t alignment) {
  const bool is_range = alignment >= 1 && range.least >= 1;
  if (is_range && range.most / alignment * alignment >= range.least) return;
  throw usage_error("range {}:{}: expected at least one multiple of {}, from 1 up", range.least,
                    range.most, alignment);
}

Order flipped(Order order) {
  return order == Order::row_major ? Order::column_major : Order::row_major;
}

// Columns and rows of the weights of one layer.
struct Weights {
  std::int64_t n, k;
};

}  // namespace

std::string text_of(const Form& form) {
  std::string text{form.a_transposed ? 'T' : 'N', form.b_transposed ? 'T' : 'N'};
  if (form.c_by_columns) text += " C^T";
  if (form.adds_c) text += " +C";
  if (form.has_bias) text += " +bias";
  return text;
}

Form parse_form(std::string_view text) {
  constexpr int forms = 32;
  for (int bits = 0; bits < forms; ++bits) {
    const Form form{.a_transposed = (bits & 1) != 0,
                    .b_transposed = (bits & 2) != 0,
                    .c_by_columns = (bits & 4) != 0,
                    .adds_c = (bits & 8) != 0,
                    .has_bias = (bits & 16) != 0};
    if (text_of(form) == text) return form;
  }
  throw usage_error("expected a form such as \"NN\" or \"TN C^T +C +bias\", got \"{}\"",
                    printable(text, 40));
}

std::vector<NamedProduct> draw_products(const Draw& draw) {
  const Range& rows = draw.rows_and_columns;
  const Range& columns = draw.columns ? *draw.columns : rows;
  require_multiple(rows, draw.alignment);
  require_multiple(columns, draw.alignment);
  require_multiple(draw.k, draw.alignment);
  std::mt19937_64 generator(draw.seed);
  const auto one_in = [&](double many) { return fraction(generator) * many < 1.0; };
  std::vector<NamedProduct> products;
  for (int i = 0; i < draw.count; ++i) {
    NamedProduct product{.shape = {}, .form = {}, .set = "random"};
    product.shape.m = draw_extent(rows, draw.alignment, generator);
    product.shape.n = draw_extent(columns, draw.alignment, generator);
    product.shape.k = draw_extent(draw.k, draw.alignment, generator);
    Form form{.a_transposed = one_in(2.0),
              .b_transposed = one_in(2.0),
              .c_by_columns = one_in(4.0),
              .adds_c = one_in(4.0),
              .has_bias = one_in(4.0)};
    if (!draw.only_plain) product.form = form;
    products.push_back(std::move(product));
  }
  return products;
}

Range parse_range(const std::string& option, const std::string& text) {
  long long least = 0, most = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%lld:%lld%n", &least, &most, &end) != 2 ||
      static_cast<std::size_t>(end) != text.size()) {
    throw usage_error("{}: expected LEAST:MOST such as 64:8192, got \"{}\"", option,
                      printable(text, 40));
  }
  return {least, most};
}

std::vector<NamedProduct> language_model_products() {
  // Projections of Llama 3 (8B, 70B), Qwen 2.5 (7B), Mixtral's experts and DeepSeek V3: queries,
  // keys and values; attention's output; gate and up; down; low-rank projections. Then Llama 2 (7B)
  // and a speech model's layers.
  constexpr Weights weights[] = {
      {6144, 4096},  {4096, 4096},  {28672, 4096}, {4096, 14336}, {10240, 8192}, {8192, 8192},
      {8192, 28672}, {4608, 3584},  {37888, 3584}, {3584, 18944}, {2112, 7168},  {24576, 1536},
      {32768, 512},  {7168, 16384}, {4096, 7168},  {7168, 2048},  {12288, 4096}, {11008, 4096},
      {4096, 11008}, {14336, 4096}, {6000, 2816}};
  std::vector<NamedProduct> products;
  for (const Weights& w : weights) {
    for (const std::int64_t tokens : {1, 8, 16, 64, 128, 512, 1024, 2048, 4096, 8192}) {
      products.push_back(
          {.shape = {tokens, w.n, w.k}, .form = {.b_transposed = true}, .set = "llm"});
    }
  }
  return products;
}

std::vector<NamedProduct> many_products() {
  std::vector<NamedProduct> products;
  const auto add = [&](const MatmulShape& shape, std::int64_t batch) {
    products.push_back({.shape = shape, .form = {}, .set = "many", .batch = batch});
  };
  add({16, 16, 16}, 100'000);
  add({16, 16, 16}, 1'000'000);
  add({32, 32, 32}, 40'000);
  add({64, 64, 64}, 10'000);
  add({128, 128, 128}, 3'000);
  add({50, 37, 61}, 10'000);
  return products;
}

std::size_t layout_of(const Form& form) {
  return (form.a_transposed ? 2U : 0U) + (form.b_transposed ? 1U : 0U);
}

std::string_view name_of_layout(std::size_t layout) {
  constexpr std::string_view names[layouts] = {"NN", "NT", "TN", "TT"};
  return names[layout];
}

std::vector<NamedProduct> in_all_layouts(const std::vector<NamedProduct>& products) {
  std::vector<NamedProduct> all;
  for (NamedProduct product : products) {
    for (std::size_t layout = 0; layout < layouts; ++layout) {
      product.form.a_transposed = (layout & 2U) != 0;
      product.form.b_transposed = (layout & 1U) != 0;
      all.push_back(product);
    }
  }
  return all;
}

void shuffle(std::vector<NamedProduct>& products, std::size_t together, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  for (std::size_t left = products.size() / together; left > 1; --left) {
    const auto other = static_cast<std::size_t>(fraction(generator) * static_cast<double>(left));
    const auto group = [&](std::size_t i) {
      return products.begin() + static_cast<std::ptrdiff_t>(i * together);
    };
    if (other == left - 1) continue;
    std::swap_ranges(group(other), group(other + 1), group(left - 1));
  }
}

operations::GemmProblem problem_of(const NamedProduct& product, Precision precision) {
  MatmulShape shape = product.shape;
  const Form& form = product.form;
  Order a = form.a_transposed ? Order::column_major : Order::row_major;
  Order b = form.b_transposed ? Order::column_major : Order::row_major;
  if (form.c_by_columns) {
    std::swap(shape.m, shape.n);
    a = flipped(std::exchange(b, flipped(a)));
  }
  const DataType type = operations::operand_type(precision);
  operations::GemmProblem problem = operations::dense_problem(
      shape, precision, type, operations::usual_result_type(precision), a, b);
  if (form.adds_c) problem.beta = 0.5;  // repeated runs stay bounded
  problem.batch = product.batch;
  problem.has_bias = form.has_bias;
  problem.bias_per_row = form.c_by_columns;
  return problem;
}

}  // namespace tilescope::products
