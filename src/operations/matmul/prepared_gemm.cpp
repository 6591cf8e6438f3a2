#include <array>
#include <optional>
#include <tilescope/gemm.hpp>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "operations/gemm/problem/overlap.hpp"
#include "operations/gemm/product/cpu_product.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "operations/gemm/product/quantised_problem.hpp"
#include "operations/gemm/product/recorded_product.hpp"
#include "operations/matmul/matmul_choice.hpp"
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
          .bias = address_of(problem.bias.data())};
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

/// The distance of matrices that are equally far apart, in elements; nothing if they are not, or if
/// they differ in anything but their address.
template <typename View>
std::optional<std::int64_t> distance_of(std::span<const View> list) {
  const auto at = [&](std::size_t i) {
    return static_cast<std::int64_t>(address_of(list[i].data));
  };
  const std::int64_t bytes = list.size() < 2 ? 0 : at(1) - at(0);
  const auto element = static_cast<std::int64_t>(size_of(list.front().type));
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (at(i) - at(i - 1) != bytes) return std::nullopt;
  }
  if (bytes < 0 || bytes % element != 0) return std::nullopt;
  return bytes / element;
}

template <typename View>
void require_alike(std::span<const View> list, const char* name) {
  const ConstMatrixView& first = list.front();
  for (const ConstMatrixView& one : list) {
    require_valid(one, name);
    if (one.type != first.type || one.rows != first.rows || one.columns != first.columns ||
        one.order != first.order || one.leading != first.leading) {
      throw usage_error(
          "the matrices of {} differ: a list needs one shape, type, order and leading dimension",
          name);
    }
  }
}

/// Lists of matrices as the batch that they are, if they are one.
struct Lists {
  std::span<const ConstMatrixView> a, b;
  std::span<const MatrixView> c;

  void require_products() const {
    if (a.size() != c.size() || b.size() != c.size() || c.empty()) {
      throw usage_error(
          "the lists have {}, {} and {} matrices: A, B and C need equally many, and "
          "at least one",
          a.size(), b.size(), c.size());
    }
    require_alike(a, "A");
    require_alike(b, "B");
    require_alike(c, "C");
    if (any_overlaps(c, a) || any_overlaps(c, b)) {
      throw usage_error(
          "a matrix of C shares memory with A, B or another of C: give it memory of its own");
    }
  }
  bool is_batch() const {
    const auto of_c = distance_of(c);
    // Matrices between each other's rows, or in one place, are no batch of C.
    const bool is_apart = c.size() < 2 || (of_c && *of_c >= c[0].vectors() * c[0].leading);
    return is_apart && distance_of(a) && distance_of(b);
  }
  std::vector<GemmAddresses> addresses(const HostProblem& first) const {
    std::vector<GemmAddresses> all;
    for (std::size_t i = 0; i < c.size(); ++i) {
      HostProblem problem = first;
      problem.a.first.data = a[i].data;
      problem.b.first.data = b[i].data;
      problem.c.first.data = c[i].data;
      all.push_back(addresses_of(with_rows_of_c(problem)));
    }
    return all;
  }
};

HostProblem exact_problem(const Device& device, const ConstMatrixBatch& a,
                          const ConstMatrixBatch& b, const MatrixBatch& c,
                          const MatmulOptions& options) {
  HostProblem problem = checked_problem(device, a, b, c, options);
  require_quantised(problem);
  return problem;
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
    constexpr DeviceAddress alignment = 256;
    if (address_of(workspace.data) % alignment != 0) {
      throw usage_error("the workspace begins {} bytes behind a multiple of {}: align it",
                        address_of(workspace.data) % alignment, alignment);
    }
    const HostProblem by_rows = with_rows_of_c(problem);
    const KernelChoice choice = choose_kernel(by_rows, *device, variant);
    product.emplace(*device, choice.prepare,
                    Workspace{address_of(workspace.data), workspace.bytes});
    product->bind(addresses_of(by_rows));
    report.variant = choice.variant;
    report.note = choice.of_table.explained(product->note());
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
  const Lists lists{a, b, c};
  lists.require_products();
  const auto count = static_cast<std::int64_t>(lists.is_batch() ? c.size() : 1);
  const auto stride = [&](auto list) { return count > 1 ? *distance_of(list) : 0; };
  state_ = std::make_unique<State>(
      device, exact_problem(device, {a.front(), count, stride(a)}, {b.front(), count, stride(b)},
                            {c.front(), count, stride(c)}, options));
  state_->is_list = true;
  state_->prepare(options.variant, workspace);
  if (lists.is_batch()) return;
  if (state_->product) state_->product->bind(lists.addresses(state_->problem));
  for (std::size_t i = 1; i < c.size(); ++i) {
    HostProblem other = state_->problem;
    other.a.first = a[i];
    other.b.first = b[i];
    other.c.first = c[i];
    state_->others.push_back(other);
  }
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
