#include "operations/gemm/ladder/gemm_rungs.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "gpu/profiles.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/ladder/cublas_run.hpp"
#include "operations/rung/guarded_buffer.hpp"

namespace tilescope::operations {
namespace {

// Whether a variant computes products in a precision, judged by its refusals of several kinds of
// problems: large, of one column, of few rows, with a long sum, of odd extents.
bool computes(const GemmVariant& variant, Precision precision) {
  static const DeviceProperties device = gpu::require_profile("h200");
  const DataType type = operand_type(precision);
  const MatmulShape shapes[] = {
      {4096, 4096, 4096}, {4096, 1, 4096}, {16, 4096, 4096}, {256, 256, 65536}, {1023, 1021, 1019}};
  return std::any_of(std::begin(shapes), std::end(shapes), [&](const MatmulShape& shape) {
    return !variant.refusal(dense_problem(shape, precision, type, usual_result_type(precision)),
                            device);
  });
}

// A and B on the device with a C between guards, at enough addresses to exceed its cache.
class GemmPrepared final : public Prepared {
 public:
  GemmPrepared(Device& device, const GemmProblem& problem, const ConstArrayView& a,
               const ConstArrayView& b)
      : device_(device),
        type_(problem.c.type),
        count_(static_cast<std::size_t>(problem.shape.m * problem.shape.n)) {
    const std::size_t bytes = a.bytes() + b.bytes() + c_bytes();
    for (std::size_t set = 0; set < input_sets(device, bytes); ++set) {
      addresses_.push_back({.a = upload(a, "A"), .b = upload(b, "B")});
      outputs_.emplace_back(device, c_bytes(), "C");
      addresses_.back().c = outputs_.back().address();
    }
  }

  void set_run(std::unique_ptr<GemmRun> run) { run_ = std::move(run); }
  const std::vector<GemmAddresses>& addresses() const { return addresses_; }

  void run(int input_set) override { run_->run(addresses_[index(input_set)]); }
  void poison(int input_set) override {
    constexpr std::uint8_t nan_byte = 0xFF;
    device_.fill(addresses_[index(input_set)].c, nan_byte, c_bytes());
  }
  HostArray output(int input_set) override {
    outputs_[index(input_set)].require_intact();
    HostArray c(type_, count_);
    device_.copy_to_host(c.data(), addresses_[index(input_set)].c, c.bytes());
    return c;
  }
  std::string note() const override { return run_->note(); }

 private:
  std::size_t index(int input_set) const {
    return static_cast<std::size_t>(input_set) % addresses_.size();
  }
  std::size_t c_bytes() const { return count_ * size_of(type_); }

  DeviceAddress upload(const ConstArrayView& array, std::string_view name) {
    buffers_.push_back(device_.allocate(array.bytes(), name));
    device_.copy_to_device(buffers_.back().address(), array.data, array.bytes());
    return buffers_.back().address();
  }

  Device& device_;
  DataType type_;
  std::size_t count_;
  std::vector<Buffer> buffers_;
  std::vector<GuardedBuffer> outputs_;
  std::vector<GemmAddresses> addresses_;
  std::unique_ptr<GemmRun> run_;
};

}  // namespace

GemmRungs::GemmRungs(const GemmProblem& problem, const ConstArrayView& a, const ConstArrayView& b)
    : problem_(problem), a_(a), b_(b) {}

std::vector<VariantInfo> GemmRungs::variants() const {
  std::vector<VariantInfo> infos;
  for (const GemmVariant& variant : gemm_variants()) {
    if (!computes(variant, problem_.precision)) continue;
    infos.push_back(
        {.name = std::string(variant.name), .idea = variant.idea, .source = variant.source});
  }
  return infos;
}

bool GemmRungs::has(std::string_view name) const {
  const std::vector<VariantInfo> all = variants();
  return std::any_of(all.begin(), all.end(), [&](const auto& info) { return info.name == name; });
}

VariantInfo GemmRungs::peer() const {
  return {.name = "cublas",
          .idea = "the vendor's library, its fastest algorithm",
          .source = {},
          .is_peer = true,
          .needs_gpu = true};
}

std::optional<std::string> GemmRungs::refusal(const VariantInfo& variant,
                                              const Device& device) const {
  if (problem_.shape.m == 0 || problem_.shape.n == 0) return "C has no elements";
  if (variant.is_peer) return CublasGemm::refusal(problem_, device);
  if (device.kind() == DeviceKind::cpu) return "a kernel: needs a GPU or --device emulated";
  return gemm_variant(variant.name).refusal(problem_, device.properties());
}

Plan GemmRungs::plan(const VariantInfo& variant, const DeviceProperties& device) const {
  if (variant.is_peer) throw no_kernel_of_ours("matmul", variant);
  const GemmVariant& ours = gemm_variant(variant.name);
  if (auto why = ours.refusal(problem_, device)) {
    throw usage_error("matmul/{}: {}", variant.name, *why);
  }
  return recorded_plan(ours, problem_, device);
}

std::unique_ptr<Prepared> GemmRungs::prepare(const VariantInfo& variant, Device& device) const {
  auto prepared = std::make_unique<GemmPrepared>(device, problem_, a_, b_);
  if (variant.is_peer) {
    auto peer = std::make_unique<CublasGemm>(device, problem_);
    peer->choose_fastest(prepared->addresses());
    prepared->set_run(std::move(peer));
  } else {
    prepared->set_run(gemm_variant(variant.name).prepare(device, problem_));
  }
  return prepared;
}

}  // namespace tilescope::operations
