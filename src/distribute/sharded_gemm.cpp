#include <tilescope/sharded.hpp>

#include "base/errors.hpp"
#include "distribute/sharded_problem.hpp"
#include "distribute/sharded_product.hpp"

namespace tilescope {

struct ShardedGemm::State {
  std::vector<std::shared_ptr<Device>> devices;
  distribute::ShardedProduct product;
  ShardedReport report;

  State(std::span<const std::shared_ptr<Device>> of, const distribute::ShardedProblem& problem,
        const std::string& variant)
      : devices(of.begin(), of.end()),
        product(problem, variant, distribute::Rows::there, Reach::any) {
    product.prepare();
    report = product.report();
  }
};

ShardedGemm::ShardedGemm(std::span<const std::shared_ptr<Device>> devices,
                         std::span<const ConstMatrixView> a, std::span<const ConstMatrixView> b,
                         std::span<const MatrixView> c, const MatmulOptions& options)
    : state_(std::make_unique<State>(
          devices, distribute::sharded_problem(devices, a, b, c, options), options.variant)) {}

ShardedGemm::ShardedGemm(ShardedGemm&& other) noexcept = default;
ShardedGemm& ShardedGemm::operator=(ShardedGemm&& other) noexcept = default;
ShardedGemm::~ShardedGemm() = default;

void ShardedGemm::launch(std::span<const Stream> streams) {
  if (!streams.empty() && streams.size() != state_->devices.size()) {
    throw usage_error("{} streams for {} devices: each needs one", streams.size(),
                      state_->devices.size());
  }
  state_->product.launch(streams);
}

const ShardedReport& ShardedGemm::report() const {
  return state_->report;
}

}  // namespace tilescope
