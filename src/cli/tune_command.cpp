#include <fmt/format.h>

#include <algorithm>
#include <tilescope/device.hpp>
#include <tilescope/tuning.hpp>

#include "base/errors.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/gemm/problem/shape_text.hpp"
#include "report/tuning_report.hpp"

namespace tilescope::cli {
namespace {

struct TuneCommand {
  std::string device = "auto", json, type, activation;
  std::vector<std::string> precisions, shapes;
  MatmulProduct product;
  TuneOptions options;
  bool list = false, forget = false, transpose_a = false, transpose_b = false, no_keep = false;

  void declare(const Options& add) {
    add("--shape MxNxK", shapes,
        "Rows of A, columns of B, columns of A (may be given several times)");
    add("--precision NAME", precisions,
        "As for matmul: fp32 (default), fp32_fast, tf32, bf16, fp16 or fp64 (may be given several "
        "times)");
    add("--type NAME", type,
        "Type of the matrices (default: the precision's own, such as bfloat16)");
    add("--batch N", product.batch, "Matrices multiplied at once", shown);
    add("--transpose-a", transpose_a, "A is stored by columns");
    add("--transpose-b", transpose_b, "B is stored by columns");
    add("--accumulate", product.adds_to_c, "The product is added to a matrix");
    add("--bias", product.has_bias, "With a bias");
    add("--activation NAME", activation, "With an activation: relu or gelu",
        one_of({"relu", "gelu"}));
    add("--device DEVICE", device, "auto, cuda, cuda:N or emulated", shown);
    add("--candidates N", options.candidates, "Measure at most this many, but one of each variant",
        shown, within(1, 1000));
    add("--samples N", options.samples, "Timed runs of each finalist, at least", shown,
        within(1, 10000));
    add("--no-keep", no_keep, "Only show the table");
    add("--list", list, "List the tuned products of all devices");
    add("--forget", forget,
        "Remove tuned products of all devices, or only those of --shape or --precision");
    add("--seed N", options.seed, "Seed of the random data", shown);
    add.json(json);
  }

  int run() {
    for (const std::string& shape : shapes) shapes_.push_back(operations::parse_shape(shape));
    for (const std::string& name : precisions) precisions_.push_back(parse_precision(name));
    if (list && forget) throw usage_error("--list and --forget exclude each other");
    if (list) return print_list();
    if (forget) return forget_all();
    if (shapes_.empty()) {
      throw usage_error(
          "no product: give --shape MxNxK, such as --shape 4096x4096x4096; --list shows "
          "tuned products");
    }
    return tune_all();
  }

 private:
  // Whether the options name a product, by the beginning of its name: "4096x4096x4096 bf16, ...".
  bool is_named(const std::string& text) const {
    const std::string_view name = split(text, ',').front(), shape = name.substr(0, name.find(' '));
    const auto is_shape = [&](const MatmulShape& s) {
      return shape == fmt::format("{}x{}x{}", s.m, s.n, s.k);
    };
    const auto is_precision = [&](Precision precision) {
      return name == fmt::format("{} {}", shape, name_of(precision));
    };
    return (shapes_.empty() || std::ranges::any_of(shapes_, is_shape)) &&
           (precisions_.empty() || std::ranges::any_of(precisions_, is_precision));
  }

  int print_list() const {
    std::vector<std::string> troubles;
    std::vector<TunedMatmul> products = tuned_matmuls(&troubles);
    std::erase_if(products, [&](const TunedMatmul& one) { return !is_named(one.product); });
    for (const std::string& trouble : troubles) note("tilescope: note: " + trouble);
    show(report::tuned_page(products), {json});
    return 0;
  }

  int forget_all() const {
    report::Page page("tune");
    page.data.set("forgotten",
                  forget_tuned_matmuls([&](const std::string& name) { return is_named(name); }));
    page.say("{forgotten} product{forgotten:s} forgotten");
    show(page, {json});
    return 0;
  }

  int tune_all() {
    const std::shared_ptr<Device> opened = Device::open(device);
    const CancelScope cancel;
    options.cancel = CancelScope::flag();
    options.keep = !no_keep;
    if (const std::string trouble = tuning_trouble(*opened); !trouble.empty()) {
      note("tilescope: note: " + trouble);
    }
    if (precisions_.empty()) precisions_.push_back(Precision::automatic);
    report::Page page("tune");
    page.data = {{"device", opened->id()}, {"device_name", opened->properties().name}};
    page.data.list("products");
    page.say("tune on {device} ({device_name})");
    bool wrong = false;
    for (const Precision precision : precisions_) {
      for (const MatmulShape& shape : shapes_) {
        TuneReport report;
        try {
          report = tune_one(*opened, shape, precision);
        } catch (const Error&) {
          if (!CancelScope::cancelled()) throw;
          show(page, {json});
          note("tilescope: interrupted; the products above are kept");
          return CancelScope::exit_code();
        }
        wrong |=
            std::ranges::count(report.candidates, TuneVerdict::wrong, &TuneCandidate::verdict) > 0;
        report::add_tuning(page, report);
        show_so_far(page, json);
      }
    }
    show(page, {json});
    return wrong ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

  TuneReport tune_one(Device& on, const MatmulShape& shape, Precision precision) {
    product.shape = shape;
    product.precision = precision;
    product.type = type.empty() ? operations::operand_type(precision) : parse_data_type(type);
    if (transpose_a) product.a_order = Order::column_major;
    if (transpose_b) product.b_order = Order::column_major;
    if (activation == "relu") product.activation = Activation::relu;
    if (activation == "gelu") product.activation = Activation::gelu;
    ProgressLine progress("candidates");
    std::uint64_t done = 0;
    options.on_candidate = [&](const TuneCandidate&) { progress.update(++done); };
    return tune_matmul(on, product, options);
  }

  std::vector<MatmulShape> shapes_;
  std::vector<Precision> precisions_;
};

}  // namespace

const Command tune_command{
    "tune", "Find and remember the fastest kernel for a product", declare<TuneCommand>,
    "Every candidate's result is compared before it is timed and after; a wrong one\n"
    "is never taken, and the exit code is then 1. The fastest is kept for this device\n"
    "in $TILESCOPE_CACHE/tuned, and matmul takes it for that product; its bits may\n"
    "differ from those of the untuned choice. TILESCOPE_AUTOTUNE=0 turns that off.",
    "tilescope tune --precision bf16 --shape 4096x4096x4096\n"
    "tilescope tune --precision fp32 --precision tf32 --shape 1000x999x1001\n"
    "tilescope tune --device emulated --precision fp16 --shape 64x64x64\n"
    "tilescope tune --list\n"
    "tilescope tune --forget --shape 1000x999x1001"};

}  // namespace tilescope::cli
