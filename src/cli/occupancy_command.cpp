#include <tilescope/gpu/occupancy.hpp>

#include "base/errors.hpp"
#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "inspect/kernel_needs.hpp"
#include "report/occupancy_report.hpp"

namespace tilescope::cli {
namespace {

struct OccupancyCommand {
  ReasoningOptions options;
  inspect::KernelQuestion question;
  std::int64_t registers = 0, shared = 0;
  bool no_curves = false;
  CLI::Option* threads_given = nullptr;

  void declare(const Options& add) {
    add("KERNEL", question.what,
        "OPERATION/VARIANT or a .cu file: registers and static shared memory are read from the "
        "compiled code");
    threads_given = add("--threads N", question.threads, "Threads per block");
    add("--registers N", registers,
        "Registers per thread (0: not counted; read from a KERNEL's code)");
    add("--shared BYTES", shared,
        "Shared memory per block in bytes (of a .cu file: the dynamic part)");
    add("--kernel NAME", question.kernel,
        "Which kernel of the .cu file, or of a variant with several");
    add("-D NAME[=VALUE]", question.defines, "Define NAME[=VALUE] for the compiler");
    declare_problem(add, question.problem);
    add("--no-curves", no_curves, "Omit the three plots");
    options.declare(add);
  }

  int run() const {
    const gpu::Gpu gpu = options.gpu();
    report::OccupancyContext context{
        .kernel = {}, .note = {}, .needs = {}, .result = {}, .with_curves = !no_curves};
    if (question.what.empty()) {
      if (threads_given->count() == 0) {
        throw usage_error(
            "nothing to compute: give --threads N [--registers N] [--shared BYTES], "
            "OPERATION/VARIANT or a .cu file");
      }
      context.needs = {
          .threads = question.threads, .registers_per_thread = registers, .shared_bytes = shared};
    } else {
      inspect::KernelQuestion asked = question;
      asked.dynamic_shared_bytes = shared;
      const inspect::KernelNeedsFound found = inspect::kernel_needs(asked, gpu);
      context.needs = found.needs;
      context.note = found.note;
      context.kernel =
          question.what.ends_with(".cu") ? question.what + ", " + found.kernel : question.what;
    }
    context.result = gpu::occupancy(context.needs, gpu.properties, gpu.units);
    if (context.result.blocks_per_sm == 0) throw usage_error("{}", context.result.impossible);
    return options.finish(report::occupancy_page(context, gpu));
  }
};

}  // namespace

const Command occupancy_command{
    "occupancy", "How many blocks an SM holds, and what limits them", declare<OccupancyCommand>, "",
    "tilescope occupancy --threads 256 --registers 40 --shared 8192\n"
    "tilescope occupancy matmul/tiled_16 --gpu a100 --show\n"
    "tilescope occupancy histogram/block_private --bins 4096\n"
    "tilescope occupancy my.cu --kernel 'blur<3>' --threads 128 --gpu rtx4090\n"
    "tilescope occupancy --threads 512 --registers 11 --gpu s0 --json -"};

}  // namespace tilescope::cli
