#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "compile/embedded_kernels.hpp"
#include "gpu/launch_limits.hpp"
#include "operations/matmul/matmul_variants.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::a100;
using testing::error_of;
using testing::h200;
using ::testing::HasSubstr;
using testing::t4;

std::vector<const MatmulRow*> rows() {
  std::vector<const MatmulRow*> found;
  for (const MatmulVariant& variant : matmul_variants()) {
    if (found.empty() || found.back() != variant.row) found.push_back(variant.row);
  }
  return found;
}

TEST(Variants, EveryKernelFileBelongsToOneRowAndEveryRowToOneFile) {
  std::map<std::string, int> uses;
  for (const auto& entry :
       std::filesystem::directory_iterator(TILESCOPE_SOURCE_DIR "/kernels/matmul")) {
    if (entry.path().extension() == ".cu") uses["matmul/" + entry.path().filename().string()] = 0;
  }
  ASSERT_GE(uses.size(), 17u);
  for (const MatmulRow* row : rows()) {
    if (row->form != MatmulForm::kernel) {
      EXPECT_EQ(row->source, "") << row->name;
      continue;
    }
    ASSERT_TRUE(uses.contains(std::string(row->source))) << row->name << ": " << row->source;
    ++uses[std::string(row->source)];
  }
  for (const auto& [file, count] : uses) EXPECT_EQ(count, 1) << file;
}

TEST(Variants, EveryFileIsEmbeddedAsItIs) {
  std::set<std::string_view> embedded;
  for (const compile::EmbeddedKernel& kernel : compile::embedded_kernels()) {
    EXPECT_TRUE(embedded.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(kernel.text,
              testing::read_file(TILESCOPE_SOURCE_DIR "/kernels/" + std::string(kernel.name)));
  }
  for (const MatmulRow* row : rows()) {
    EXPECT_TRUE(row->source.empty() || embedded.contains(row->source)) << row->source;
  }
}

TEST(Variants, NamesAreUniqueAndFitTheTable) {
  std::set<std::string> names;
  for (const MatmulVariant& variant : matmul_variants()) {
    EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
    EXPECT_LE(variant.name.size(), 23u) << variant.name;
    EXPECT_LE(variant.row->idea.size(), 44u) << variant.name;
    EXPECT_FALSE(variant.row->idea.empty()) << variant.name;
  }
}

TEST(Variants, KernelsHaveARuleAndOthersHaveNone) {
  for (const MatmulRow* row : rows()) {
    EXPECT_EQ(row->form == MatmulForm::kernel, row->plan != nullptr) << row->name;
    EXPECT_EQ(row->form == MatmulForm::kernel, row->granularity != nullptr) << row->name;
  }
}

TEST(Variants, TileWidthsOfTheLectures) {
  for (const int width : {2, 4, 8, 16, 32}) EXPECT_EQ(matmul_variant("tiled", width).width, width);
}

TEST(Variants, PaddedShapesAreTheNextMultiples) {
  const MatmulShape odd{1000, 999, 1001};
  EXPECT_EQ(matmul_variant("tiled_16").padded(odd), (MatmulShape{1008, 1008, 1008}));
  EXPECT_EQ(matmul_variant("tiled_32").padded({32, 64, 96}), (MatmulShape{32, 64, 96}));
  EXPECT_EQ(matmul_variant("register_accumulator_32").padded(odd), odd);
  EXPECT_EQ(matmul_variant("tiled_checked_32").padded(odd), odd);
  EXPECT_EQ(matmul_variant("cublas").padded(odd), odd);
  for (const MatmulVariant& variant : matmul_variants()) {
    const MatmulShape p = variant.padded(odd);
    EXPECT_EQ(variant.padded(p), p) << variant.name;
    EXPECT_GE(p.m, odd.m) << variant.name;
    EXPECT_LT(p.m, odd.m + 256) << variant.name;
  }
}

// Every plan must be a launch that can exist, on every device that the rung claims to run on.
TEST(Variants, PlansAreLaunchable) {
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const MatmulVariant& variant : matmul_variants()) {
      if (variant.row->form != MatmulForm::kernel) continue;
      for (const MatmulShape& shape : {MatmulShape{1, 1, 1}, MatmulShape{1000, 999, 1001},
                                       MatmulShape{4096, 4096, 4096}, MatmulShape{31, 33, 7}}) {
        if (variant.refusal(shape, device)) continue;
        const MatmulPlan plan = variant.row->plan(variant.padded(shape), variant.width, device);
        EXPECT_NO_THROW(gpu::require_launchable(variant.name, plan.launch, device))
            << shape_text(shape);
      }
    }
  }
}

TEST(Variants, OneBlockRefusesMoreThanABlockHolds) {
  const MatmulVariant& one_block = matmul_variant("one_block");
  EXPECT_FALSE(one_block.refusal({32, 32, 500}, h200()));
  EXPECT_EQ(one_block.refusal({32, 33, 1}, h200()),
            "at most 1024 elements of C fit in one block; 32 x 33 has 1056");
}

TEST(Variants, NewKernelsRefuseOldDevices) {
  EXPECT_FALSE(matmul_variant("warp_tiles").refusal({64, 64, 64}, a100()));
  EXPECT_EQ(matmul_variant("warp_tiles").refusal({64, 64, 64}, t4()),
            "needs compute capability 8.0; Tesla T4 has 7.5");
  EXPECT_FALSE(matmul_variant("vector_loads").refusal({64, 64, 64}, t4()));
}

TEST(Variants, OffsetsOf32BitsEndAt2To31Elements) {
  const MatmulVariant& narrow = matmul_variant("register_accumulator_16");
  EXPECT_FALSE(narrow.refusal({32768, 65535, 1}, h200()));
  EXPECT_EQ(narrow.refusal({32768, 65536, 1}, h200()),
            "its 32-bit offsets reach 2^31 elements; a matrix has more");
  EXPECT_TRUE(narrow.refusal({1, 32768, 65536}, h200()));
  EXPECT_TRUE(narrow.refusal({65536, 1, 32768}, h200()));
  EXPECT_FALSE(matmul_variant("warp_tiles").refusal({32768, 65536, 16}, h200()));
  EXPECT_TRUE(matmul_variant("warp_tiles").refusal({std::int64_t{1} << 31, 1, 1}, h200()));
}

TEST(Variants, FoundByNameAndByRowAndWidth) {
  EXPECT_EQ(&matmul_variant("tiled_16"), &matmul_variant("tiled", 16));
  EXPECT_EQ(matmul_variant("tiled_checked").name, "tiled_checked_32") << "its only width";
  EXPECT_EQ(matmul_variant("warp_tiles").row->form, MatmulForm::kernel);
}

TEST(Variants, NamesThatDoNotExist) {
  const auto message = [](std::string_view name, int width = 0) {
    return error_of(ErrorKind::usage, [&] { matmul_variant(name, width); });
  };
  EXPECT_EQ(message("tield_16"),
            "matmul has no variant \"tield_16\", did you mean tiled_16?; see tilescope ladder "
            "matmul --list");
  EXPECT_EQ(message("tiled", 5), "variant tiled has no width 5; it has 2 4 8 16 32");
  EXPECT_EQ(message("tiled"),
            "variant tiled comes in widths 2 4 8 16 32; name one, such as tiled_2");
  EXPECT_EQ(message("cublas", 16), "variant cublas has no width 16; it has none to choose");
  EXPECT_THAT(message(""), HasSubstr("has no variant \"\""));
}

TEST(Variants, TheBestForADevice) {
  EXPECT_EQ(best_matmul_variant(h200()), "warp_tiles");
  EXPECT_EQ(best_matmul_variant(t4()), "vector_loads");
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const DataType element : {DataType::float32, DataType::float64}) {
      const MatmulVariant& best = matmul_variant(best_matmul_variant(device, element));
      EXPECT_FALSE(best.refusal({1000, 999, 1001}, device));
      EXPECT_TRUE(element == DataType::float32 || best.row->any_element);
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
