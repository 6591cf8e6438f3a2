// The targets of check(), explain() and run(): a kernel in a text or a file, a rung of one of
// Tilescope's own ladders, or a whole program.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "tilescope/device.hpp"
#include "tilescope/problem_options.hpp"
#include "tilescope/program.hpp"

namespace tilescope {

/// A source with kernels, in memory. CUDA C++ may be a whole program: host code is set aside.
struct SourceText {
  std::string text = {};
  std::string name = "kernel.cu";  ///< for places and messages; headers are sought in its folder
  SourceLanguage language = SourceLanguage::cuda;
};

/// A source with kernels, on disk: .cu, .cuh or .ptx.
struct SourceFile {
  std::string path = {};
};

/// One of Tilescope's own kernels, with its launch and its data.
struct LadderRung {
  std::string name = {};        ///< OPERATION/VARIANT, such as "matmul/tiled_16"
  ProblemOptions problem = {};  ///< without a size: one that is emulated in a moment
  int tile = 0;                 ///< width of a variant that has several; 0: 16, else its widest
};

using Target = std::variant<SourceText, SourceFile, LadderRung, Program>;

/// Whether `path` has the ending of a file with kernels: .cu, .cuh or .ptx.
bool is_kernel_file(std::string_view path);

}  // namespace tilescope
