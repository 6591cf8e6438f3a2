// Box blur of pictures of 8 bits a sample.
#pragma once

#include <memory>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

constexpr std::int64_t most_blur_radius = 64;

struct BlurProblem {
  std::int64_t height = 0, width = 0;  ///< pixels
  int channels = 1;                    ///< 1 or 3 samples a pixel, side by side
  int radius = 1;                      ///< 0 to 64
};

/// `in` has height * width * channels samples of uint8.
Task blur_task(const ConstArrayView& in, const BlurProblem& problem);
std::unique_ptr<Operation> make_blur(const ProblemOptions& options);

/// The blur on the CPU by running sums, and by adding up every box: the reference.
void blur_on_cpu(const std::uint8_t* in, std::uint8_t* out, const BlurProblem& problem);
void blur_by_definition(const std::uint8_t* in, std::uint8_t* out, const BlurProblem& problem);

}  // namespace tilescope::operations
