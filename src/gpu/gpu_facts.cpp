#include "gpu/gpu_facts.hpp"

namespace tilescope::gpu {
namespace {

struct RateRow {
  std::string_view gpu, rate;
  double tera;  // dense TFLOP/s
  std::string_view source;
};

constexpr std::string_view hopper_paper = "NVIDIA H100 Tensor Core GPU Architecture, table of SXM5";
constexpr std::string_view blackwell_sheet = "NVIDIA HGX B200 data sheet, an eighth, dense";
constexpr std::string_view ampere_paper = "NVIDIA A100 Tensor Core GPU Architecture";
constexpr std::string_view ada_paper = "NVIDIA Ada GPU Architecture";

constexpr RateRow rates[] = {
    {"h200", "fp64", 33.5, hopper_paper},
    {"h200", "fp64_tensor", 66.9, hopper_paper},
    {"h200", "tf32_tensor", 494.7, hopper_paper},
    {"h200", "bf16_tensor", 989.4, hopper_paper},
    {"h200", "fp8_tensor", 1978.9, hopper_paper},
    {"h100", "fp64", 33.5, hopper_paper},
    {"h100", "fp64_tensor", 66.9, hopper_paper},
    {"h100", "tf32_tensor", 494.7, hopper_paper},
    {"h100", "bf16_tensor", 989.4, hopper_paper},
    {"h100", "fp8_tensor", 1978.9, hopper_paper},
    {"b200", "tf32_tensor", 1100, blackwell_sheet},
    {"b200", "bf16_tensor", 2250, blackwell_sheet},
    {"b200", "fp8_tensor", 4500, blackwell_sheet},
    {"a100", "fp64", 9.7, ampere_paper},
    {"a100", "fp64_tensor", 19.5, ampere_paper},
    {"a100", "tf32_tensor", 156, ampere_paper},
    {"a100", "bf16_tensor", 312, ampere_paper},
    {"l4", "tf32_tensor", 60, "NVIDIA L4 data sheet, without sparsity"},
    {"l4", "bf16_tensor", 121, "NVIDIA L4 data sheet, without sparsity"},
    {"t4", "fp16_tensor", 65, "NVIDIA T4 data sheet"},
    {"v100", "fp64", 7.8, "NVIDIA V100 data sheet"},
    {"v100", "fp16_tensor", 125, "NVIDIA V100 data sheet"},
    {"rtx4090", "tf32_tensor", 82.6, ada_paper},
    {"rtx4090", "bf16_tensor", 165.2, ada_paper},
};

struct LatencyRow {
  std::string_view gpu;
  MemoryLevel level;
  double cycles;
  std::string_view source;
};

constexpr std::string_view luo =
    "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via "
    "Microbenchmarking, 2024 (rounded)";
constexpr std::string_view luo_of_h100 =
    "the H100's, which has the same SM: Luo et al. 2024 (rounded)";
constexpr std::string_view jia_volta =
    "Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018";
constexpr std::string_view jia_turing =
    "Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking, 2019";

constexpr LatencyRow latencies[] = {
    {"h200", MemoryLevel::shared, 29, luo_of_h100},
    {"h200", MemoryLevel::l1, 41, luo_of_h100},
    {"h200", MemoryLevel::l2, 260, luo_of_h100},
    {"h200", MemoryLevel::dram, 480, luo_of_h100},
    {"h100", MemoryLevel::shared, 29, luo},
    {"h100", MemoryLevel::l1, 41, luo},
    {"h100", MemoryLevel::l2, 260, luo},
    {"h100", MemoryLevel::dram, 480, luo},
    {"a100", MemoryLevel::shared, 29, luo},
    {"a100", MemoryLevel::l1, 38, luo},
    {"a100", MemoryLevel::l2, 260, luo},
    {"a100", MemoryLevel::dram, 470, luo},
    {"rtx4090", MemoryLevel::shared, 30, luo},
    {"rtx4090", MemoryLevel::l1, 43, luo},
    {"rtx4090", MemoryLevel::l2, 270, luo},
    {"rtx4090", MemoryLevel::dram, 540, luo},
    {"v100", MemoryLevel::shared, 19, jia_volta},
    {"v100", MemoryLevel::l1, 28, jia_volta},
    {"v100", MemoryLevel::l2, 193, jia_volta},
    {"t4", MemoryLevel::shared, 19, jia_turing},
    {"t4", MemoryLevel::l1, 32, jia_turing},
    {"t4", MemoryLevel::l2, 188, jia_turing},
};

}  // namespace

void add_facts(Gpu& gpu) {
  for (const RateRow& row : rates) {
    if (row.gpu != gpu.name) continue;
    gpu.rates.push_back({std::string(row.rate), row.tera * 1e12, std::string(row.source)});
  }
  for (const LatencyRow& row : latencies) {
    if (row.gpu == gpu.name) {
      gpu.latencies.push_back({row.level, row.cycles, std::string(row.source)});
    }
  }
}

}  // namespace tilescope::gpu
