#include <optional>
#include <tilescope/gemm.hpp>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "operations/gemm/groups/grouped_run.hpp"
#include "operations/gemm/product/cpu_product.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "operations/gemm/product/quantised_problem.hpp"
#include "operations/gemm/product/recorded_product.hpp"
#include "operations/matmul/matmul_choice.hpp"
#include "operations/matmul/matrix_lists.hpp"
#include "operations/matmul/rung_run.hpp"

namespace tilescope {
namespace {

using namespace operations;

DeviceAddress address_of(const void* data) {
  return reinterpret_cast<DeviceAddress>(data);
}

GemmAddresses addresses_of(const HostProblem& problem) {
  return {.a = address_of(problem.a.first.data),
          .b = address_of(problem.b.first.data),
          .c = address_of(problem.c.first.data),
          .bias = address_of(problem.bias.data()),
          .scale_a = address_of(problem.scales_of_a),
          .scale_b = address_of(problem.scales_of_b)};
}

/// The kernel for a problem in device memory.
struct KernelChoice {
  std::string variant;
  RecordedProduct::Prepare prepare;
  GemmChoice of_table;  ///< explains a note; no variant: a rung of the ladder
};

KernelChoice choose_kernel(const HostProblem& problem, const Device& device,
                           const std::string& name) {
  const GemmProblem given = problem_in_memory(problem);
  const auto by_rung = [&](const MatmulVariant& rung) {
    return KernelChoice{.variant = rung.name, .prepare = [&rung, given](Device& on) {
                          return prepare_rung(on, rung, given);
                        }};
  };
  if (names_rung(name)) return by_rung(rung_for(problem, device, name));
  const DeviceChoice choice = choose_in_memory(given, device, name);
  if (name.empty() && has_products(problem)) {
    if (const MatmulVariant* rung = faster_rung(problem, device, choice.kernel)) {
      return by_rung(*rung);
    }
  }
  return {.variant = std::string(choice.kernel.variant->name),
          .prepare = [given, choice](Device& on) { return prepare_in_memory(on, given, choice); },
          .of_table = choice.kernel};
}

HostProblem exact_problem(const Device& device, const ConstMatrixBatch& a,
                          const ConstMatrixBatch& b, const MatrixBatch& c,
                          const MatmulOptions& options) {
  HostProblem problem = checked_problem(device, a, b, c, options);
  require_quantised(problem);
  return problem;
}

std::vector<HostProblem> exact_problems(const Device& device, const MatrixLists& lists,
                                        MatmulOptions options) {
  require_unscaled(options);
  // The variants for groups are none of the table.
  if (find_grouped_variant(options.variant) != nullptr && device.kind() != DeviceKind::cpu) {
    options.variant.clear();
  }
  std::vector<HostProblem> problems = lists.problems(device, options);
  for (const HostProblem& one : problems) require_quantised(one);
  return problems;
}

GroupedProduct grouped(const HostProblem& problem) {
  const HostProblem by_rows = with_rows_of_c(problem);
  return {problem_in_memory(by_rows), addresses_of(by_rows)};
}

/// Whether products that are alike take a launch each: kernels for one product are faster than
/// those for groups, and with this much work a launch costs nothing beside it.
bool take_a_launch_each(const MatmulShape& shape) {
  constexpr double much_work = 4e9;
  return shape.flops() >= much_work;
}

/// The kernel for lists that are no batch, and the addresses to bind it to.
struct ListChoice {
  KernelChoice kernel;
  std::vector<GemmAddresses> addresses;
};

ListChoice choose_for_lists(const MatrixLists& lists, const std::vector<HostProblem>& problems,
                            const Device& device, const std::string& name) {
  std::vector<GroupedProduct> products;
  for (const HostProblem& one : problems) products.push_back(grouped(one));
  const bool is_grouped_name = find_grouped_variant(name) != nullptr;
  const MatmulShape& shape = products.front().problem.shape;
  if (lists.is_alike() && !is_grouped_name && (!name.empty() || take_a_launch_each(shape))) {
    std::vector<GemmAddresses> addresses;
    for (const GroupedProduct& one : products) addresses.push_back(one.at);
    return {choose_kernel(with_rows_of_c(problems.front()), device, name), std::move(addresses)};
  }
  const GroupedVariant& variant = grouped_variant_for(products, device.properties(), name);
  return {{.variant = std::string(variant.name),
           .prepare = [&variant, products](Device& on) { return variant.prepare(on, products); },
           .of_table = {}},
          {GemmAddresses{}}};
}

void require_same_alignment(const void* now, const void* before, const char* name) {
  constexpr DeviceAddress bytes = 16;
  if (address_of(now) % bytes == address_of(before) % bytes) return;
  throw usage_error(
      "{} begins {} bytes behind a multiple of 16, and the prepared product's {} bytes: prepare "
      "another",
      name, address_of(now) % bytes, address_of(before) % bytes);
}

}  // namespace

Stream stream_of(void* native) {
  return Stream(detail::Handle({}, reinterpret_cast<std::uint64_t>(native), nullptr));
}

struct PreparedGemm::State {
  std::shared_ptr<Device> device;
  HostProblem problem;  // as the caller gave it
  MatmulReport report = {};
  std::optional<RecordedProduct> product = {};  // none: the CPU computes
  std::vector<HostProblem> others =
      {};  // products of a list after the first; the CPU computes them
  bool is_list = false;

  State(Device& on, const HostProblem& given) : device(on.shared_from_this()), problem(given) {}

  void prepare(const std::string& variant, const GemmWorkspace& workspace) {
    report.precision = problem.precision;
    if (device->kind() == DeviceKind::cpu) {
      report.variant = "cpu_blas";
      return;
    }
    const HostProblem by_rows = with_rows_of_c(problem);
    prepare({choose_kernel(by_rows, *device, variant), {addresses_of(by_rows)}}, workspace);
  }

  void prepare(const ListChoice& choice, const GemmWorkspace& workspace) {
    constexpr DeviceAddress alignment = 256;
    if (address_of(workspace.data) % alignment != 0) {
      throw usage_error("the workspace begins {} bytes behind a multiple of {}: align it",
                        address_of(workspace.data) % alignment, alignment);
    }
    product.emplace(*device, choice.kernel.prepare,
                    Workspace{address_of(workspace.data), workspace.bytes});
    product->bind(choice.addresses);
    report.variant = choice.kernel.variant;
    report.note = choice.kernel.of_table.explained(product->note());
  }
};

PreparedGemm::PreparedGemm(Device& device, const ConstMatrixBatch& a, const ConstMatrixBatch& b,
                           const MatrixBatch& c, const MatmulOptions& options,
                           const GemmWorkspace& workspace)
    : state_(std::make_unique<State>(device, exact_problem(device, a, b, c, options))) {
  state_->prepare(options.variant, workspace);
}

PreparedGemm::PreparedGemm(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                           const MatrixView& c, const MatmulOptions& options,
                           const GemmWorkspace& workspace)
    : PreparedGemm(device, ConstMatrixBatch{a}, ConstMatrixBatch{b}, MatrixBatch{c}, options,
                   workspace) {}

PreparedGemm::PreparedGemm(Device& device, std::span<const ConstMatrixView> a,
                           std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                           const MatmulOptions& options, const GemmWorkspace& workspace) {
  const MatrixLists lists{a, b, c};
  const std::vector<HostProblem> problems = exact_problems(device, lists, options);
  const bool is_batch = lists.is_batch() && find_grouped_variant(options.variant) == nullptr;
  state_ =
      std::make_unique<State>(device, is_batch ? lists.batch(problems.front()) : problems.front());
  state_->is_list = true;
  if (is_batch || device.kind() == DeviceKind::cpu) {
    state_->prepare(options.variant, workspace);
  } else {
    state_->report.precision = problems.front().precision;
    state_->prepare(choose_for_lists(lists, problems, device, options.variant), workspace);
  }
  if (!is_batch) state_->others.assign(problems.begin() + 1, problems.end());
}

PreparedGemm::PreparedGemm(PreparedGemm&& other) noexcept = default;
PreparedGemm& PreparedGemm::operator=(PreparedGemm&& other) noexcept = default;
PreparedGemm::~PreparedGemm() = default;

void PreparedGemm::launch(const Stream& stream) const {
  if (state_->product) {
    state_->product->launch(stream);
    return;
  }
  multiply_on_cpu(state_->problem);
  for (const HostProblem& other : state_->others) multiply_on_cpu(other);
}

void PreparedGemm::set_operands(const void* a, const void* b, void* c, const float* bias) {
  if (state_->is_list) throw usage_error("a product of lists keeps its operands: prepare another");
  HostProblem problem = state_->problem;
  require_same_alignment(a, problem.a.first.data, "A");
  require_same_alignment(b, problem.b.first.data, "B");
  require_same_alignment(c, problem.c.first.data, "C");
  problem.a.first.data = a;
  problem.b.first.data = b;
  problem.c.first.data = c;
  problem.bias = {bias, problem.bias.size()};
  require_own_memory(problem);
  if (state_->product) state_->product->bind(addresses_of(with_rows_of_c(problem)));
  state_->problem = problem;
}

std::size_t PreparedGemm::workspace_bytes() const {
  return state_->product ? state_->product->workspace_bytes() : 0;
}

const MatmulReport& PreparedGemm::report() const {
  return state_->report;
}

std::size_t gemm_workspace_bytes(const Device& device, std::span<const ConstMatrixView> a,
                                 std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                                 const MatmulOptions& options) {
  const MatrixLists lists{a, b, c};
  const std::vector<HostProblem> problems = exact_problems(device, lists, options);
  if (device.kind() == DeviceKind::cpu) return 0;
  const bool is_batch = lists.is_batch() && find_grouped_variant(options.variant) == nullptr;
  if (is_batch) {
    const HostProblem batch = lists.batch(problems.front());
    return gemm_workspace_bytes(device, batch.a, batch.b, batch.c, options);
  }
  const ListChoice choice = choose_for_lists(lists, problems, device, options.variant);
  return workspace_bytes(device.properties(), choice.kernel.prepare, choice.addresses.front());
}

std::size_t gemm_workspace_bytes(const Device& device, const ConstMatrixBatch& a,
                                 const ConstMatrixBatch& b, const MatrixBatch& c,
                                 const MatmulOptions& options) {
  const HostProblem problem = with_rows_of_c(exact_problem(device, a, b, c, options));
  if (device.kind() == DeviceKind::cpu) return 0;
  return workspace_bytes(device.properties(),
                         choose_kernel(problem, device, options.variant).prepare,
                         addresses_of(problem));
}

}  // namespace tilescope
