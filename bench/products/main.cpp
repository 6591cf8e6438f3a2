// Products of matrices on a GPU against cuBLAS at its best: verified, timed in turns, verified
// again.
//
//     cmake -S . -B build -DTILESCOPE_BUILD_BENCHMARKS=ON && ninja -C build products
//     build/bench/products --precision bf16 --set A --json bf16.json
//     build/bench/products --precision fp32 --random 40 --seed 7
//     build/bench/products --random 10 --seed 7 --dry-run    # no GPU: prints what is drawn
//     build/bench/products --random 10 --dry-run --plans --json plans.json    # and its plans
//     build/bench/products --precision bf16 --set llm --shuffle --seconds 120
//     build/bench/products --precision bf16 --random 20 --plain --layouts --seconds 120
//     build/bench/products --precision fp32 --set many --plans --most 30
//     build/bench/products --precision bf16 --shape 64x64x64 --batch 10000
//
// Exit codes are the program's: 1 when a result was wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <set>
#include <tilescope/error.hpp>

#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "contest.hpp"
#include "contest_table.hpp"
#include "drawn_products.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/problem/shape_text.hpp"
#include "report/text/text_renderer.hpp"
#include "report/tuning_report.hpp"
#include "tuning/product_tuning.hpp"

namespace tilescope::products {
namespace {

MatmulShape cube(std::int64_t extent) {
  return {extent, extent, extent};
}

// A: what libraries are tuned for, and thin extremes. B: extents that are multiples of nothing.
std::vector<NamedProduct> products_of(const std::string& set) {
  if (set == "llm") return language_model_products();
  if (set == "many") return many_products();
  std::vector<MatmulShape> shapes;
  if (set == "A") {
    shapes = {cube(1024),        cube(2048),        cube(4096),       cube(8192),     cube(16384),
              {8192, 8192, 256}, {256, 256, 65536}, {16, 8192, 8192}, {8192, 1, 8192}};
  } else if (set == "B") {
    shapes = {cube(1000), cube(1023), {4095, 4097, 4099}, cube(8191), {127, 8190, 4001}};
  } else {
    throw Error(ErrorKind::usage,
                fmt::format("--set {}: there are A, B, llm, many", printable(set, 40)));
  }
  std::vector<NamedProduct> named;
  for (const MatmulShape& shape : shapes) named.push_back({shape, {}, set});
  return named;
}

class Bench {
 public:
  std::vector<std::string> precisions{"fp32", "bf16", "fp16", "tf32", "fp32_fast"};
  std::vector<std::string> shapes, sets;
  std::string device = "auto", json, data = "uniform", range, n_range, k_range;
  bool all = false, tune = false, dry_run = false, all_layouts = false, shuffled = false;
  double seconds = 0.0;
  std::int64_t batch = 1;
  std::string scales = "none";
  Draw draw;
  ContestOptions options{.variants = {"dispatched"}};

  int run() {
    if (all) options.variants.clear();
    options.data = parse_data(data);
    list_tasks();
    if (dry_run) {
      print_tasks();
      if (options.all_plans) list_plans();
      return 0;
    }
    device_ = Device::open(device);
    fmt::print("products on {} ({}), {} operands, seed {}\n", device_->id(),
               device_->properties().name, data, options.seed);
    ContestTable table(data, options.all_plans);
    table.print_head();
    hold(table);
    table.print_summaries();
    if (all_layouts) table.print_layouts();
    write(table);
    return table.has_wrong() ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

 private:
  struct Task {
    NamedProduct product;
    Precision precision;
    operations::GemmProblem problem;
  };

  void list_tasks() {
    std::vector<NamedProduct> wanted;
    for (const std::string& given : shapes) {
      const std::size_t space = given.find(' ');
      const Form form = space == std::string::npos ? Form{} : parse_form(given.substr(space + 1));
      wanted.push_back({operations::parse_shape(given.substr(0, space)), form, "given"});
    }
    if (!range.empty()) draw.rows_and_columns = parse_range("--range", range);
    if (!n_range.empty()) draw.columns = parse_range("--n-range", n_range);
    if (!k_range.empty()) draw.k = parse_range("--k-range", k_range);
    draw.seed = options.seed;
    for (NamedProduct& product : draw_products(draw)) wanted.push_back(std::move(product));
    if (wanted.empty() && sets.empty()) sets = {"A", "B"};
    for (const std::string& set : sets) {
      for (NamedProduct& product : products_of(set)) wanted.push_back(std::move(product));
    }
    for (NamedProduct& product : wanted) {
      if (batch > 1) product.batch = batch;
    }
    if (all_layouts) wanted = in_all_layouts(wanted);
    if (shuffled) shuffle(wanted, all_layouts ? layouts : 1, options.seed);
    for (const NamedProduct& product : wanted) {
      for (const std::string& name : precisions) {
        const Precision precision = parse_precision(name);
        NamedProduct one = product;
        // cuBLAS multiplies operands of 8 bits only where both lie along k.
        const bool is_drawn = product.set == "random" || product.set == "llm";
        if (size_of(operations::operand_type(precision)) == 1 && !is_drawn && !all_layouts) {
          one.form.b_transposed = true;
        }
        if (precision == Precision::int8) one.form.adds_c = one.form.has_bias = false;
        tasks_.push_back({one, precision, problem_of(one, precision)});
        add_scales(tasks_.back().problem, scales);
      }
    }
  }

  void write(const ContestTable& table) const {
    if (json.empty()) return;
    OutputFile file(json);
    file.append(table.rows().dump(options.all_plans ? -1 : 1) + '\n');
    file.commit();
  }

  void print_tasks() const {
    for (const auto& [product, precision, problem] : tasks_) {
      const MatmulShape& s = product.shape;
      fmt::print("{:>6} {:>6} {:>6} {:<9} {}{}\n", s.m, s.n, s.k, name_of(precision),
                 text_of(product.form),
                 product.batch > 1 ? fmt::format(" x {}", product.batch) : "");
    }
  }

  // Each plan that the dispatcher considers, with what it is expected to take on an H200.
  void list_plans() const {
    DeviceProperties gpu = Device::open("emulated:h200")->properties();
    gpu.warpgroup_products = true;
    ContestTable table(data, true);
    for (const auto& [product, precision, problem] : tasks_) {
      std::vector<Result> plans;
      for (Entry& entry : plan_entries(gpu, problem, options)) {
        plans.push_back(std::move(entry.result));
      }
      table.add_plans(product, precision, plans);
    }
    write(table);
  }

  // Kernels of the next few contests are compiled on the other cores while one is held.
  void hold(ContestTable& table) {
    constexpr std::size_t lot = 16;
    const auto start = std::chrono::steady_clock::now();
    std::future<std::vector<Kernel>> next = compile_later(0, lot);
    for (std::size_t first = 0; first < tasks_.size(); first += lot) {
      const std::vector<Kernel> kernels = next.get();
      const std::size_t end = std::min(tasks_.size(), first + lot);
      next = compile_later(end, lot);
      for (std::size_t i = first; i < end; ++i) {
        const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start;
        if (seconds > 0.0 && past.count() > seconds) {
          fmt::print("stopped after {} of {} products: --seconds\n", i, tasks_.size());
          return;
        }
        one(table, tasks_[i]);
      }
    }
  }

  std::future<std::vector<Kernel>> compile_later(std::size_t first, std::size_t count) {
    return std::async(std::launch::async, [this, first, count] {
      std::vector<Kernel> kernels;
      if (device_->kind() != DeviceKind::cuda) return kernels;
      const std::vector<KernelRequest> requests = requests_of(first, count);
      kernels.resize(requests.size());
      parallel_for(requests.size(), [&](std::size_t i) {
        try {
          kernels[i] = device_->load(requests[i]);
        } catch (const Error&) {
          kernels[i] = {};  // the error occurs again in the contest
        }
      });
      return kernels;
    });
  }

  std::vector<KernelRequest> requests_of(std::size_t first, std::size_t count) {
    std::set<std::string> known;
    std::vector<KernelRequest> requests;
    for (std::size_t i = first; i < std::min(tasks_.size(), first + count); ++i) {
      for (const Entry& entry : entries_of(*device_, tasks_[i].problem, options)) {
        if (!entry.result.trouble.empty()) continue;
        try {
          for (KernelRequest& one :
               operations::recorded_kernels(entry.prepare, device_->properties())) {
            std::string key = one.source_name + one.kernel;
            for (const auto& [name, value] : one.defines) key += ' ' + name + '=' + value;
            if (known.insert(std::move(key)).second) requests.push_back(std::move(one));
          }
        } catch (const Error&) {
          continue;
        }
      }
    }
    return requests;
  }

  void one(ContestTable& table, const Task& task) {
    if (tune) {
      report::Page page("tune");
      report::add_tuning(page, tuning::tune_problem(*device_, task.problem, {}));
      fmt::print("{}", report::render_text(page));
    }
    table.add(task.product, task.precision, contest(*device_, task.problem, options));
  }

  std::shared_ptr<Device> device_;
  std::vector<Task> tasks_;
};

void add_options(CLI::App& app, Bench& bench) {
  app.add_option("--precision", bench.precisions,
                 "fp32, fp32_fast, tf32, bf16, fp16, fp64, fp8_e4m3, "
                 "fp8_e5m2, int8")
      ->capture_default_str();
  app.add_option("--shape", bench.shapes,
                 "MxNxK, or with a form, as the table prints both: \"64x48x32 TN C^T +C\" (may be "
                 "given several times)");
  app.add_option("--set", bench.sets,
                 "A, B, llm, or many: thousands of small products a call (default, without --shape "
                 "and --random: A and B)");
  app.add_option("--batch", bench.batch, "Multiply so many products of each shape in one call")
      ->check(CLI::Range(1, 100000000));
  app.add_option("--random", bench.draw.count, "Draw this many products, by --seed")
      ->check(CLI::Range(1, 100000));
  app.add_option("--aligned", bench.draw.alignment, "Drawn extents are multiples of this")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  app.add_option("--range", bench.range, "Drawn rows and columns, LEAST:MOST (default 64:8192)");
  app.add_option("--n-range", bench.n_range, "Drawn columns (default: as --range)");
  app.add_option("--k-range", bench.k_range, "Drawn k, LEAST:MOST (default 16:8192)");
  app.add_flag("--plain", bench.draw.only_plain, "Drawn products are row-major and add nothing");
  app.add_flag("--layouts", bench.all_layouts,
               "Each product in all orders of A and B (NN, NT, TN, TT); prints each order's mean "
               "beside that of NN");
  app.add_flag("--shuffle", bench.shuffled,
               "Take the products in a random order, by --seed: a fair sample within --seconds");
  app.add_flag("--dry-run", bench.dry_run,
               "Print the products and stop; needs no GPU. With --plans, --json lists their plans, "
               "as the models of an H200 expect them");
  app.add_option("--variant", bench.options.variants,
                 "Variants of ours; dispatched: the library's choice")
      ->capture_default_str();
  app.add_flag("--all", bench.all, "Every variant that takes the product");
  app.add_flag(
      "--plans", bench.options.all_plans,
      "Every plan that the dispatcher considers, or of each --variant; the JSON lists them all");
  app.add_option("--most", bench.options.most_plans,
                 "With --plans: no more than this many, those that the models rank first");
  app.add_flag("--tune", bench.tune, "Tune each product first, and keep what was found");
  app.add_option(
      "--tile", bench.options.tiles,
      "Also this tensor tile: M,N,CONSUMERS,STAGES,CLUSTER,SPLITS,GROUP,IN_TURN,BOXES[,PANEL"
      "[,FLAGS[,ACROSS[,LAYERS]]]], flags the sum of 2: A copied, 4: B copied, 8: transposed; "
      "ACROSS of the "
      "cluster's blocks are side by side");
  app.add_option("--samples", bench.options.samples, "Timed runs of each, at least")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--budget", bench.options.budget_ms, "Milliseconds of runs of each, about")
      ->check(CLI::Range(1.0, 10000.0))
      ->capture_default_str();
  app.add_option("--seconds", bench.seconds, "Begin no product after this time");
  app.add_option("--scales", bench.scales,
                 "Factors of 8-bit floats: none, matrix, vectors or blocks; cuBLAS takes none")
      ->capture_default_str();
  app.add_option("--data", bench.data, "uniform, positive, exponents or scaled")
      ->capture_default_str();
  app.add_option("--seed", bench.options.seed, "Seed of the operands and of --random")
      ->capture_default_str();
  app.add_option("--device", bench.device, "Device")->capture_default_str();
  app.add_option("--json", bench.json, "Write the results to this file");
}

}  // namespace
}  // namespace tilescope::products

int main(int argc, char** argv) {
  using namespace tilescope;
  products::Bench bench;
  CLI::App app{"Products of matrices against cuBLAS at its best.", "products"};
  products::add_options(app, bench);
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
