// Launches of clusters: the codes and numbers that CUDA 13 answers on an H200.
#include <optional>

#include "cudart/device_program.hpp"

namespace cudart_test {
namespace {

/// plain: no bounds; pair: __cluster_dims__(2); wide: 16 blocks; bounded: clusters of up to 4.
constexpr const char* clusters_ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry plain() { ret; }
.visible .entry pair() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry wide()
.explicitcluster
.reqnctapercluster 16, 1, 1
{ ret; }
.visible .entry bounded() .maxntid 256 .minnctapersm 1 .maxclusterrank 4 { ret; }
)";

class Clusters : public testing::Test {
 protected:
  Clusters() : code_(clusters_ptx, 1, 90) {
    code_.kernel(&plain, "plain");
    code_.kernel(&pair, "pair");
    code_.kernel(&wide, "wide");
    code_.kernel(&bounded, "bounded");
  }
  ~Clusters() override {
    cudaDeviceReset();
    cudaGetLastError();
  }

  static cudaLaunchConfig_t config(dim3 grid, const std::optional<dim3>& cluster,
                                   cudaLaunchAttribute& attribute, unsigned threads = 32) {
    cudaLaunchConfig_t made = {};
    made.gridDim = grid;
    made.blockDim = dim3(threads);
    if (!cluster) return made;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster->x, cluster->y, cluster->z};
    made.attrs = &attribute;
    made.numAttrs = 1;
    return made;
  }
  static cudaError_t launch(const void* kernel, dim3 grid,
                            const std::optional<dim3>& cluster = {}) {
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t made = config(grid, cluster, attribute);
    const cudaError_t code = cudaLaunchKernelExC(&made, kernel, nullptr);
    return code == cudaSuccess ? cudaDeviceSynchronize() : code;
  }
  /// Active clusters, or the code below zero.
  static int active(const void* kernel, unsigned blocks, unsigned threads, std::size_t shared = 0) {
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t made = config(dim3(48), dim3(blocks), attribute, threads);
    made.dynamicSmemBytes = shared;
    int clusters = -1;
    const cudaError_t code = cudaOccupancyMaxActiveClusters(&clusters, kernel, &made);
    return code == cudaSuccess ? clusters : -int{code};
  }

  DeviceCode code_;
  char plain = 0, pair = 0, wide = 0, bounded = 0;
};

TEST_F(Clusters, IllegalOnesAreRefused) {
  EXPECT_EQ(launch(&plain, 4, dim3(2)), cudaSuccess);
  EXPECT_EQ(launch(&plain, dim3(2, 2, 2), dim3(2, 2, 2)), cudaSuccess);
  EXPECT_EQ(launch(&plain, 4, dim3(0, 0, 0)), cudaSuccess) << "none";
  for (const dim3 cluster : {dim3(3), dim3(0, 1, 1), dim3(2, 0, 0), dim3(1, 2, 1)}) {
    EXPECT_EQ(launch(&plain, 4, cluster), cudaErrorInvalidClusterSize) << cluster.x;
  }
  EXPECT_EQ(launch(&plain, 16, dim3(16)), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&bounded, 4, dim3(4)), cudaSuccess);
  EXPECT_EQ(launch(&bounded, 8, dim3(8)), cudaErrorInvalidClusterSize);
  ASSERT_EQ(cudaFuncSetAttribute(&plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            cudaSuccess);
  EXPECT_EQ(launch(&plain, 16, dim3(16)), cudaSuccess);
  EXPECT_EQ(launch(&plain, 32, dim3(32)), cudaErrorInvalidClusterSize);
}

TEST_F(Clusters, ThoseThatAKernelRequires) {
  EXPECT_EQ(launch(&pair, 4), cudaSuccess);
  EXPECT_EQ(launch(&pair, 4, dim3(2)), cudaSuccess);
  EXPECT_EQ(launch(&pair, 3), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&pair, 4, dim3(4)), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&pair, 4, dim3(1)), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&pair, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(&wide, 16), cudaErrorInvalidClusterSize) << "not portable";
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidClusterSize);
  cudaFuncSetAttribute(&wide, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  EXPECT_EQ(launch(&wide, 16), cudaSuccess);

  cudaFuncAttributes attributes = {};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &pair), cudaSuccess);
  EXPECT_EQ(attributes.clusterDimMustBeSet, 1);
  EXPECT_EQ(attributes.requiredClusterWidth, 2);
  EXPECT_EQ(attributes.requiredClusterHeight, 1);
  EXPECT_EQ(attributes.requiredClusterDepth, 1);
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &plain), cudaSuccess);
  EXPECT_EQ(attributes.clusterDimMustBeSet, 0);
  EXPECT_EQ(attributes.requiredClusterWidth, 0);
}

TEST_F(Clusters, ThoseThatTheProgramRequires) {
  for (const auto& [which, value] : {std::pair(cudaFuncAttributeRequiredClusterWidth, 2),
                                     std::pair(cudaFuncAttributeRequiredClusterHeight, 1),
                                     std::pair(cudaFuncAttributeRequiredClusterDepth, 1)}) {
    ASSERT_EQ(cudaFuncSetAttribute(&plain, which, value), cudaSuccess);
  }
  EXPECT_EQ(launch(&plain, 4), cudaSuccess);
  EXPECT_EQ(launch(&plain, 3), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&plain, 4, dim3(4)), cudaErrorInvalidClusterSize);
  cudaFuncAttributes attributes = {};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &plain), cudaSuccess);
  EXPECT_EQ(attributes.requiredClusterWidth, 2);
  EXPECT_EQ(attributes.clusterDimMustBeSet, 0);
}

TEST_F(Clusters, AsManyAreActiveAsOnAnH200) {
  EXPECT_EQ(active(&plain, 2, 32), 528);
  EXPECT_EQ(active(&plain, 3, 32), 327);
  EXPECT_EQ(active(&plain, 4, 32), 248);
  EXPECT_EQ(active(&plain, 6, 32), 163);
  EXPECT_EQ(active(&plain, 8, 32), 124);
  EXPECT_EQ(active(&plain, 2, 1024), 132);
  EXPECT_EQ(active(&plain, 16, 32), -cudaErrorInvalidClusterSize);
  EXPECT_EQ(active(&plain, 5, 32), -cudaErrorInvalidClusterSize) << "48 is no multiple";
  EXPECT_EQ(active(&pair, 4, 32), -cudaErrorInvalidClusterSize);
  EXPECT_EQ(active(&plain, 2, 2048), 0);
  EXPECT_EQ(active(&plain, 2, 32, 60000), 0) << "not asked for";
  cudaFuncSetAttribute(&plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaFuncSetAttribute(&plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448);
  EXPECT_EQ(active(&plain, 12, 32), 74);
  EXPECT_EQ(active(&plain, 16, 32), 58);
  EXPECT_EQ(active(&plain, 16, 512), 28);
  EXPECT_EQ(active(&plain, 16, 1024), 14);
  EXPECT_EQ(active(&plain, 4, 1024, 100000), 62);
  EXPECT_EQ(active(&plain, 8, 1024, 100000), 30);
  EXPECT_EQ(active(&plain, 4, 1024, 200000), 30);
  EXPECT_EQ(active(&plain, 8, 1024, 200000), 15);
  EXPECT_EQ(active(&plain, 16, 1024, 232448), 7);
}

TEST_F(Clusters, TheLargestOfALaunch) {
  const auto largest = [](const void* kernel, unsigned blocks, unsigned threads) {
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t made = config(dim3(4), dim3(blocks), attribute, threads);
    int size = -1;
    const cudaError_t code = cudaOccupancyMaxPotentialClusterSize(&size, kernel, &made);
    return code == cudaSuccess ? size : -int{code};
  };
  EXPECT_EQ(largest(&plain, 2, 32), 8);
  EXPECT_EQ(largest(&plain, 2, 2048), 0);
  EXPECT_EQ(largest(&plain, 3, 32), -cudaErrorInvalidClusterSize);
  cudaFuncSetAttribute(&plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  EXPECT_EQ(largest(&plain, 2, 32), 16);
}

}  // namespace
}  // namespace cudart_test
