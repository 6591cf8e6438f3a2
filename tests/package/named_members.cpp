// Each structure that a program fills in, with a few members named, as the documentation writes it:
// -Wextra warns of every other member that has no value of its own.
#include <tilescope/check.hpp>
#include <tilescope/device.hpp>
#include <tilescope/explain.hpp>
#include <tilescope/gemm.hpp>
#include <tilescope/gpu/access.hpp>
#include <tilescope/gpu/occupancy.hpp>
#include <tilescope/gpu/warps.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/program.hpp>
#include <tilescope/report.hpp>
#include <tilescope/run.hpp>
#include <tilescope/tensor_map.hpp>
#include <tilescope/texture.hpp>
#include <tilescope/tuning.hpp>

using namespace tilescope;

template <typename Value>
void keep(const Value&) {}

int main() {
  keep(MatmulOptions{.precision = Precision::tf32});
  keep(OperandScales{.rows = 1, .columns = 1});
  keep(ConstMatrixView{.rows = 2, .columns = 2, .leading = 2});
  keep(ConstMatrixBatch{.count = 2});
  keep(MatrixBatch{.count = 2});
  keep(GemmWorkspace{.bytes = 0});
  keep(RunOptions{.variant = "vector"});
  keep(Bins{.count = 4});
  keep(KernelRequest{.source = "", .kernel = "k"});
  keep(Launch{.grid = {2}, .block = {4}});
  keep(LaunchDescription{.grid = Dim3{1}});
  keep(LaunchArgument{.name = "x"});
  keep(InspectOptions{.device = "emulated:t4"});
  keep(SourceText{.text = ""});
  keep(SourceFile{.path = "k.cu"});
  keep(LadderRung{"matmul/tiled_16"});
  keep(LadderRung{.name = "matmul/tiled", .problem = {.size = 9}});
  keep(Program{.files = {"main.cu"}});
  keep(LaunchRange{.first = 1, .last = 2});
  keep(ReportOptions{.format = ReportFormat::sarif});
  keep(MatmulProduct{.precision = Precision::bf16});
  keep(TuneOptions{.samples = 3});
  keep(TextureRequest{.sampler = {}});
  keep(ArrayRequest{.width = 4});
  keep(BoxCopy{.rows = 4});
  keep(TensorMapRequest{.type = DataType::float32});
  keep(gpu::AccessQuestion{.expression = "A[tx]"});
  keep(gpu::BlockNeeds{.threads = 128});
}
