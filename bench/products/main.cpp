// Products of matrices on a GPU against cuBLAS at its best: verified, timed in turns, verified
// again.
//
//     cmake -S . -B build -DTILESCOPE_BUILD_BENCHMARKS=ON && ninja -C build products
//     build/bench/products --precision bf16 --set A --json bf16.json
//
// Exit codes are the program's: 1 when a result was wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "base/format.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "contest.hpp"
#include "operations/gemm/problem/shape_text.hpp"
#include "report/text/text_renderer.hpp"
#include "report/tuning_report.hpp"
#include "tuning/product_tuning.hpp"

namespace tilescope::products {
namespace {

struct NamedShape {
  MatmulShape shape;
  std::string set;  ///< "A", "B", or "given"
};

MatmulShape cube(std::int64_t extent) {
  return {extent, extent, extent};
}

// A: what libraries are tuned for, and thin extremes. B: extents that are multiples of nothing.
std::vector<NamedShape> shapes_of(const std::string& set) {
  std::vector<MatmulShape> shapes;
  if (set == "A") {
    shapes = {cube(1024),        cube(2048),        cube(4096),       cube(8192),     cube(16384),
              {8192, 8192, 256}, {256, 256, 65536}, {16, 8192, 8192}, {8192, 1, 8192}};
  } else if (set == "B") {
    shapes = {cube(1000), cube(1023), {4095, 4097, 4099}, cube(8191), {127, 8190, 4001}};
  } else {
    throw Error(ErrorKind::usage, fmt::format("--set {}: there are A and B", printable(set, 40)));
  }
  std::vector<NamedShape> named;
  for (const MatmulShape& shape : shapes) named.push_back({shape, set});
  return named;
}

std::string text_of(const MatmulShape& s) {
  return fmt::format("{}x{}x{}", s.m, s.n, s.k);
}

operations::GemmProblem problem_of(const MatmulShape& shape, Precision precision) {
  const DataType type = operations::operand_type(precision);
  return operations::dense_problem(shape, precision, type, type);
}

// With few operations for each byte the memory's rate is the one to show.
std::string rate_text(const operations::GemmProblem& problem, double ms) {
  const MatmulShape& s = problem.shape;
  const auto area = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y);
  };
  const double bytes =
      static_cast<double>(size_of(problem.a.type)) * (area(s.m, s.k) + area(s.k, s.n)) +
      static_cast<double>(size_of(problem.c.type)) * area(s.m, s.n);
  constexpr double memory_bound_intensity = 10.0;
  if (s.flops() < memory_bound_intensity * bytes) return format_rate(bytes / ms * 1e3, "B/s");
  return format_fixed(s.flops() / ms * 1e-9, 1) + " TFLOP/s";
}

class Bench {
 public:
  std::vector<std::string> precisions{"fp32", "bf16", "fp16", "tf32", "fp32_fast"};
  std::vector<std::string> shapes, sets;
  std::string device = "auto", json, data = "uniform";
  bool all = false, tune = false;
  ContestOptions options{.variants = {"dispatched"}};

  int run() {
    if (all) options.variants.clear();
    options.data = parse_data(data);
    const std::shared_ptr<Device> opened = Device::open(device);
    std::vector<NamedShape> wanted;
    for (const std::string& shape : shapes)
      wanted.push_back({operations::parse_shape(shape), "given"});
    if (shapes.empty() && sets.empty()) sets = {"A", "B"};
    for (const std::string& set : sets) {
      for (NamedShape& shape : shapes_of(set)) wanted.push_back(std::move(shape));
    }
    std::vector<Precision> parsed;
    for (const std::string& name : precisions) parsed.push_back(parse_precision(name));
    fmt::print("products on {} ({}), {} operands, seed {}\n", opened->id(),
               opened->properties().name, data, options.seed);
    fmt::print("{:<17} {:<9} {:<19} {:>9} {:>14} {:>6}\n", "shape", "precision", "variant", "ms",
               "rate", "ratio");
    for (const Precision precision : parsed) {
      for (const NamedShape& shape : wanted) one(*opened, shape, precision);
    }
    for (const auto& [title, ratios] : ratios_) print_summary(title, ratios);
    if (!json.empty()) {
      OutputFile file(json);
      file.append(rows_.dump(1) + '\n');
      file.commit();
    }
    return wrong_ ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

 private:
  struct Ratio {
    double value = 0.0;
    std::string shape;
  };

  void one(Device& opened, const NamedShape& shape, Precision precision) {
    const operations::GemmProblem problem = problem_of(shape.shape, precision);
    if (tune) {
      report::Page page("tune");
      report::add_tuning(page, tuning::tune_problem(opened, problem, {}));
      fmt::print("{}", report::render_text(page));
    }
    const std::vector<Result> results = contest(opened, problem, options);
    const double peer_ms = fastest_peer_ms(results);
    Ratio best{0.0, text_of(shape.shape)};
    for (const Result& result : results) {
      const bool timed = !result.samples_ms.empty();
      const double ratio = timed && peer_ms > 0.0 ? peer_ms / result.median_ms() : 0.0;
      print_row(problem, result, ratio);
      add_row(shape, precision, result, ratio);
      wrong_ = wrong_ || (result.wrong && !result.is_peer);
      if (result.is_peer || ratio == 0.0) continue;
      const std::string title = fmt::format("{} set {}", name_of(precision), shape.set);
      if (result.dispatched) ratios_[title + ", dispatched"].push_back({ratio, best.shape});
      best.value = std::max(best.value, ratio);
    }
    if (best.value > 0.0 && options.variants != std::vector<std::string>{"dispatched"}) {
      ratios_[fmt::format("{} set {}, best variant", name_of(precision), shape.set)].push_back(
          best);
    }
    std::fflush(stdout);
  }

  // 0 without one.
  static double fastest_peer_ms(const std::vector<Result>& results) {
    double fastest = 0.0;
    for (const Result& result : results) {
      if (!result.is_peer || result.samples_ms.empty()) continue;
      const double ms = result.median_ms();
      fastest = fastest > 0.0 ? std::min(fastest, ms) : ms;
    }
    return fastest;
  }

  static void print_row(const operations::GemmProblem& problem, const Result& result,
                        double ratio) {
    std::string row =
        fmt::format("{:<17} {:<9} {:<19} ", text_of(problem.shape), name_of(problem.precision),
                    result.variant + (result.dispatched ? "*" : ""));
    if (!result.trouble.empty()) {
      fmt::print("{}{}{}\n", row, result.wrong ? "WRONG: " : "- ", result.trouble);
      return;
    }
    if (result.samples_ms.empty()) {
      row += "verified, not timed";
    } else {
      const double ms = result.median_ms();
      row += fmt::format("{:>9.4f} {:>14} {:>6}", ms, rate_text(problem, ms),
                         ratio > 0.0 ? fmt::format("{:.3f}", ratio) : "-");
    }
    fmt::print("{}\n  error / sum|a||b|: largest {:.2e}, mean {:.2e}; {} runs{}\n", row,
               result.accuracy.largest, result.accuracy.mean, result.samples_ms.size(),
               result.note.empty() ? "" : "; " + result.note);
  }

  void add_row(const NamedShape& shape, Precision precision, const Result& result, double ratio) {
    nlohmann::json row{{"m", shape.shape.m},
                       {"n", shape.shape.n},
                       {"k", shape.shape.k},
                       {"set", shape.set},
                       {"data", data},
                       {"precision", name_of(precision)},
                       {"variant", result.variant},
                       {"peer", result.is_peer},
                       {"dispatched", result.dispatched},
                       {"trouble", result.trouble},
                       {"wrong", result.wrong},
                       {"note", result.note},
                       {"checked", result.accuracy.checked},
                       {"largest_error", result.accuracy.largest},
                       {"mean_error", result.accuracy.mean}};
    if (!result.samples_ms.empty()) {
      row["ms"] = result.median_ms();
      row["samples_ms"] = result.samples_ms;
      row["flops_per_second"] = shape.shape.flops() / result.median_ms() * 1e3;
      row["ratio"] = ratio;
    }
    rows_.push_back(std::move(row));
  }

  static void print_summary(const std::string& title, const std::vector<Ratio>& ratios) {
    double logarithms = 0.0;
    const Ratio* least = &ratios.front();
    for (const Ratio& ratio : ratios) {
      logarithms += std::log(ratio.value);
      if (ratio.value < least->value) least = &ratio;
    }
    fmt::print("{}: geometric mean {:.3f} of {}, least {:.3f} ({})\n", title,
               std::exp(logarithms / static_cast<double>(ratios.size())), ratios.size(),
               least->value, least->shape);
  }

  std::map<std::string, std::vector<Ratio>> ratios_;
  nlohmann::json rows_ = nlohmann::json::array();
  bool wrong_ = false;
};

}  // namespace
}  // namespace tilescope::products

int main(int argc, char** argv) {
  using namespace tilescope;
  products::Bench bench;
  CLI::App app{"Products of matrices against cuBLAS at its best.", "products"};
  app.add_option("--precision", bench.precisions, "fp32, fp32_fast, tf32, bf16, fp16, fp64")
      ->capture_default_str();
  app.add_option("--shape", bench.shapes, "MxNxK (may be given several times)");
  app.add_option("--set", bench.sets, "A or B (default, without --shape: both)");
  app.add_option("--variant", bench.options.variants,
                 "Variants of ours; dispatched: the library's choice")
      ->capture_default_str();
  app.add_flag("--all", bench.all, "Every variant that takes the product");
  app.add_flag("--tune", bench.tune, "Tune each product first, and keep what was found");
  app.add_option(
      "--tile", bench.options.tiles,
      "Also this tensor tile: M,N,CONSUMERS,STAGES,CLUSTER,SPLITS,GROUP,IN_TURN,BOXES[,PANEL"
      "[,FLAGS]], flags the sum of 1: blocks share A, 2: A copied, 4: B copied");
  app.add_option("--samples", bench.options.samples, "Timed runs of each, at least")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--data", bench.data, "uniform, positive, exponents or scaled")
      ->capture_default_str();
  app.add_option("--seed", bench.options.seed, "Seed of the operands")->capture_default_str();
  app.add_option("--device", bench.device, "Device")->capture_default_str();
  app.add_option("--json", bench.json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench.run();
  } catch (const Error& error) {
    fmt::print(stderr, "products: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "products: internal error: {}\n", error.what());
    return static_cast<int>(ErrorKind::wrong_result);
  }
}
