// Products of operands in a GPU's memory: results, CUDA graphs, several streams and threads.
#include <thread>

#include "cuda/real_gpu.hpp"
#include "support/gemm_in_memory.hpp"
#include "support/stream_graph.hpp"

namespace tilescope {
namespace {

using testing::GemmCase;
using testing::GemmInMemory;
using testing::StreamGraph;

class PreparedGemmOnGpu : public testing::RealGpu {};

TEST_F(PreparedGemmOnGpu, RandomProblems) {
  const Stream stream = gpu_->create_stream();
  for (const GemmCase& of : testing::random_gemms(80, 21)) {
    SCOPED_TRACE(of.text);
    GemmInMemory memory(*gpu_, of);
    const PreparedGemm product(*gpu_, memory.a, memory.b, memory.c, memory.options);
    product.launch(stream);
    EXPECT_EQ(testing::defects(of, memory.result(), true), "") << product.report().variant;
  }
}

// A call that waits or allocates ends the capture with an error, and a copy would be a node.
TEST_F(PreparedGemmOnGpu, GraphsAreCapturedAndReplayed) {
  const Stream stream = gpu_->create_stream();
  for (const GemmCase& of : testing::random_gemms(40, 22)) {
    SCOPED_TRACE(of.text);
    GemmInMemory memory(*gpu_, of);
    const PreparedGemm product(*gpu_, memory.a, memory.b, memory.c, memory.options);
    const StreamGraph graph(stream, [&] { product.launch(stream); });
    EXPECT_EQ(graph.count(CU_GRAPH_NODE_TYPE_MEMCPY), 0);
    for (int run = 0; run < 2; ++run) {
      memory.reset();
      graph.launch(stream);
      EXPECT_EQ(testing::defects(of, memory.result(), true), "") << product.report().variant;
    }
  }
}

TEST_F(PreparedGemmOnGpu, ThreadsWithAStreamEach) {
  const std::vector<GemmCase> cases = testing::random_gemms(24, 23);
  Gemm gemm(gpu_);
  const auto work = [&](std::size_t first) {
    const Stream stream = gpu_->create_stream();
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = first; i < cases.size(); i += 2) {
        const GemmCase& of = cases[i];
        GemmInMemory memory(*gpu_, of);
        gemm(memory.a, memory.b, memory.c, memory.options, stream);
        EXPECT_EQ(testing::defects(of, memory.result(), true), "") << of.text;
      }
    }
  };
  std::thread one(work, 0), other(work, 1);
  one.join();
  other.join();
}

}  // namespace
}  // namespace tilescope
