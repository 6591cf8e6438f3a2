// The results of contests: lines as they come, summaries at the end, and JSON.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "contest.hpp"
#include "drawn_products.hpp"

namespace tilescope::products {

class ContestTable {
 public:
  /// `all_plans`: one line for each product, with the chosen plan and the fastest one.
  ContestTable(std::string data, bool all_plans) : data_(std::move(data)), all_plans_(all_plans) {}

  void print_head() const;
  /// Prints and keeps one contest.
  void add(const NamedProduct& product, Precision precision, const std::vector<Result>& results);
  /// Keeps the plans of a product, timed or not, without a word.
  void add_plans(const NamedProduct& product, Precision precision,
                 const std::vector<Result>& results);
  /// Prints, for each precision and set: the geometric mean of the ratios to cuBLAS, the least, the
  /// share below 0.95, and the worst ten of a drawn set with their plans.
  void print_summaries() const;
  /// Prints, for each precision and set, the mean ratio of each order of A and B by the library's
  /// own choice, and its share of that of row-major operands, over the products that have a ratio
  /// in all orders.
  void print_layouts() const;

  const nlohmann::json& rows() const { return rows_; }
  bool has_wrong() const { return has_wrong_; }

 private:
  struct Ratio {
    double value = 0.0;
    std::string product, plan;
  };
  void add_row(const NamedProduct& product, Precision precision, const Result& result,
               double ratio);
  static void print_row(const NamedProduct& product, Precision precision, const Result& result,
                        double ratio);
  static void print_summary(const std::string& title, std::vector<Ratio> ratios);

  std::string data_;
  bool all_plans_, has_wrong_ = false;
  std::map<std::string, std::vector<Ratio>> ratios_;
  // By precision and set, then by the product in whatever order: a ratio of each order, or 0.
  std::map<std::string, std::map<std::string, std::array<double, layouts>>> by_layout_;
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace tilescope::products
