#include "operations/gemm/ladder/cublas_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/errors.hpp"

namespace tilescope::operations {
namespace {

device::LtOperand lt_operand(const GemmOperand& operand) {
  return {.type = operand.type,
          .order = operand.order,
          .leading = operand.leading,
          .batch_stride = operand.batch_stride};
}

device::LtProduct lt_product(const GemmProblem& p, bool promotes_sums) {
  return {.shape = p.shape,
          .batch = p.batch,
          .precision = p.precision,
          .a = lt_operand(p.a),
          .b = lt_operand(p.b),
          .c = lt_operand(p.c),
          .alpha = p.alpha,
          .beta = p.beta,
          .promotes_sums = promotes_sums};
}

// The reason if cublasLt does not multiply such operands of 8 bits, as its reference documents.
std::optional<std::string> refusal_of_8_bits(const GemmProblem& p) {
  if (p.precision == Precision::fp8_e5m2) return "cublasLt does not multiply e5m2 by e5m2";
  if (p.a.order != Order::row_major || p.b.order != Order::column_major) {
    return "cublasLt multiplies operands of 8 bits only where both lie along k";
  }
  const std::int64_t chunk = p.precision == Precision::int8 ? 4 : 16;
  const auto c_bytes = p.c.leading * static_cast<std::int64_t>(size_of(p.c.type));
  if (p.a.leading % chunk != 0 || p.b.leading % chunk != 0 || c_bytes % chunk != 0 ||
      p.shape.k % chunk != 0) {
    return fmt::format("cublasLt takes rows of 8 bits of multiples of {} bytes", chunk);
  }
  return std::nullopt;
}

// An algorithm and its time.
struct Candidate {
  double ms = 0.0;
  int algorithm = 0;
};

}  // namespace

std::optional<std::string> CublasGemm::refusal(const GemmProblem& problem, const Device& device) {
  if (device.kind() != DeviceKind::cuda) return "needs a GPU";
  if (std::string why = device::CublasLt::missing(); !why.empty()) return why;
  const MatmulShape& s = problem.shape;
  if (s.m == 0 || s.n == 0 || s.k == 0) return "an extent is 0";
  if (problem.has_bias || problem.activation != Activation::none) {
    return "cublasLt is asked for plain products only";
  }
  if (size_of(problem.a.type) == 1) return refusal_of_8_bits(problem);
  return std::nullopt;
}

CublasGemm::CublasGemm(Device& device, const GemmProblem& problem, bool promotes_sums)
    : device_(device), library_(device, lt_product(problem, promotes_sums)) {}

void CublasGemm::run(const GemmAddresses& addresses, const Stream& stream) {
  library_.run(chosen_, addresses.a, addresses.b, addresses.c, stream);
}

// Writes to memory that take the device longer than the host needs to queue `runs` runs, so that
// the host is never timed.
void CublasGemm::occupy(int runs) {
  constexpr std::size_t bytes = std::size_t{64} << 20U;  // some 25 microseconds, two or three runs
  if (busy_.bytes() == 0) busy_ = device_.allocate(bytes, "scratch");
  for (int i = 0; i <= runs / 2; ++i) device_.fill(busy_.address(), 0, bytes);
}

double CublasGemm::median_ms(int algorithm, std::span<const GemmAddresses> addresses, int samples) {
  std::vector<Event> events;
  for (int i = 0; i < 2 * samples; ++i) events.push_back(device_.create_event());
  occupy(samples);
  for (int i = 0; i < samples; ++i) {
    const GemmAddresses& at = addresses[static_cast<std::size_t>(i) % addresses.size()];
    device_.record(events[static_cast<std::size_t>(2 * i)]);
    library_.run(algorithm, at.a, at.b, at.c);
    device_.record(events[static_cast<std::size_t>(2 * i + 1)]);
  }
  std::vector<double> times;
  for (std::size_t i = 0; i < events.size(); i += 2) {
    times.push_back(device_.elapsed_ms(events[i], events[i + 1]));
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void CublasGemm::choose_fastest(std::span<const GemmAddresses> addresses, double budget_ms) {
  std::vector<Candidate> candidates;
  double fastest = 0.0;
  for (int algorithm = 0; algorithm < algorithms(); ++algorithm) {
    try {
      constexpr double hopeless = 1.5;  // times the fastest, for a first run that loads code
      median_ms(algorithm, addresses, 1);
      double ms = median_ms(algorithm, addresses, 1);
      if (fastest > 0.0 && ms > hopeless * fastest) continue;
      constexpr double brief_ms = 3.0;
      const int samples = std::clamp(static_cast<int>(brief_ms / ms), 5, 30);
      ms = median_ms(algorithm, addresses, samples);
      candidates.push_back({ms, algorithm});
      fastest = fastest > 0.0 ? std::min(fastest, ms) : ms;
    } catch (const Error&) {
      continue;  // proposed, but it does not run here
    }
  }
  if (candidates.empty()) {
    throw device_error("none of the algorithms that cublasLt proposes runs");
  }
  // Medians of a few runs differ by a few percent by chance, so the fastest of them run longer.
  const auto earlier = [](const Candidate& x, const Candidate& y) { return x.ms < y.ms; };
  std::sort(candidates.begin(), candidates.end(), earlier);
  constexpr std::size_t finalists = 4;
  candidates.resize(std::min(candidates.size(), finalists));
  for (Candidate& candidate : candidates) {
    const int samples = std::clamp(static_cast<int>(budget_ms / fastest), 5, 60);
    candidate.ms = median_ms(candidate.algorithm, addresses, samples);
  }
  busy_ = Buffer();
  chosen_ = std::min_element(candidates.begin(), candidates.end(), earlier)->algorithm;
}

std::string CublasGemm::note() const {
  return fmt::format("number {} of the {} algorithms that its heuristics propose", chosen_ + 1,
                     algorithms());
}

}  // namespace tilescope::operations
