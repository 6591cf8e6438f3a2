// Products that nobody chose: extents, memory orders and additions drawn at random; and the shapes
// of public language models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/matmul.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::products {

/// The memory orders of a product's operands, and what it adds.
struct Form {
  bool a_transposed = false, b_transposed = false;  ///< column-major, as in BLAS's "TN"
  bool c_by_columns = false;
  bool adds_c = false, has_bias = false;

  friend bool operator==(const Form&, const Form&) = default;
};

/// The form as "NT", "TN C^T +C +bias".
std::string text_of(const Form& form);

/// The form of such a text. Throws Error(usage) for any other.
Form parse_form(std::string_view text);

struct NamedProduct {
  MatmulShape shape;
  Form form;
  std::string set;         ///< "A", "B", "llm", "many", "random" or "given"
  std::int64_t batch = 1;  ///< products of this shape, one behind the other in memory
};

/// The extents that may be drawn, both ends included.
struct Range {
  std::int64_t least = 64, most = 8192;
};

/// The draw of `count` products with extents that are multiples of `alignment`.
struct Draw {
  int count = 0;
  std::uint64_t seed = 1;
  std::int64_t alignment = 1;
  Range rows_and_columns, k{.least = 16};
  std::optional<Range> columns;  ///< where it is not that of rows
  bool only_plain = false;       ///< row-major, nothing added
};

/// Each extent is log-uniform and independent of the others; each form is equally likely, except
/// that one product in four has a column-major C, one in four adds C, and one in four a bias. Equal
/// draws give equal products on every machine. Throws Error(usage) for a range without a multiple
/// of the alignment.
std::vector<NamedProduct> draw_products(const Draw& draw);

/// The range of the text "64:8192", for an option of that name. Throws Error(usage) for another
/// form.
Range parse_range(const std::string& option, const std::string& text);

/// x W^T for the weights of public language models, stored in rows of k, and 1 to 8,192 tokens.
std::vector<NamedProduct> language_model_products();

/// Thousands of small products in one call, up to a million: cubes, and an odd shape.
std::vector<NamedProduct> many_products();

/// The memory orders of A and B, "NN" first: bit 0 transposes B, bit 1 transposes A.
constexpr std::size_t layouts = 4;
std::size_t layout_of(const Form& form);
std::string_view name_of_layout(std::size_t layout);

/// Each product in all layouts, one behind the other; the rest of its form stays.
std::vector<NamedProduct> in_all_layouts(const std::vector<NamedProduct>& products);

/// Puts products in a random order, so that the first of them are a fair sample of all. `together`
/// neighbours stay beside each other. Equal seeds give equal orders on every machine.
void shuffle(std::vector<NamedProduct>& products, std::size_t together, std::uint64_t seed);

/// The problem of a product with dense operands. One with a column-major C is the row-major problem
/// with A and B exchanged.
operations::GemmProblem problem_of(const NamedProduct& product, Precision precision);

}  // namespace tilescope::products
