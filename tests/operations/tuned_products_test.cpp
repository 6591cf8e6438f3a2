// Tuned products on disk: whole, damaged, of other kernels, and with several writers.
#include "operations/gemm/dispatch/tuned_products.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/fake_device.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

const TunedProduct tuned_product{.variant = "tensor_tiles",
                                 .plan = "tile 128x256",
                                 .note = "128x256x4",
                                 .ms = 0.125,
                                 .model = "tensor_tiles 256x128x4",
                                 .model_ms = 0.25};

TEST(TunedProducts, AreReadAsTheyWereKept) {
  const TemporaryFolder folder;
  const std::string file = folder / "deeper/gpu.json";
  TunedProducts(file, "a GPU").keep("one", tuned_product);
  TunedProduct other = tuned_product;
  other.plan = "";
  TunedProducts writer(file, "a GPU");
  writer.keep("other", other);
  const TunedProducts another(file);
  for (const TunedProducts* reader : {static_cast<const TunedProducts*>(&writer), &another}) {
    EXPECT_EQ(reader->find("one"), tuned_product);
    EXPECT_EQ(reader->find("other"), other);
    EXPECT_EQ(reader->find("on"), std::nullopt);
    EXPECT_EQ(reader->all().size(), 2u);
    EXPECT_EQ(reader->device(), "a GPU");
    EXPECT_EQ(reader->trouble(), "");
    EXPECT_FALSE(reader->is_stale());
  }
}

TEST(TunedProducts, ANewResultTakesThePlaceOfTheOld) {
  const TemporaryFolder folder;
  TunedProducts products(folder / "gpu.json");
  products.keep("one", tuned_product);
  TunedProduct better = tuned_product;
  better.ms = 0.1;
  products.keep("one", better);
  EXPECT_EQ(TunedProducts(folder / "gpu.json").find("one"), better);
}

TEST(TunedProducts, WithoutAFileThereAreNoneAndNothingIsSaid) {
  const TemporaryFolder folder;
  const TunedProducts products(folder / "gpu.json");
  EXPECT_TRUE(products.all().empty());
  EXPECT_EQ(products.trouble(), "");
  EXPECT_FALSE(products.is_stale());
  EXPECT_TRUE(folder.names().empty()) << "reading makes no file";
}

TEST(TunedProducts, AFileCutShortAnywhereIsOneLineAndEmpty) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  TunedProducts(file, "a GPU").keep("one", tuned_product);
  const std::string whole = read_file(file);
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    write_file(file, whole.substr(0, length));
    const TunedProducts products(file);
    EXPECT_TRUE(products.all().empty()) << length;
    EXPECT_THAT(products.trouble(), HasSubstr("gpu.json' is damaged")) << length;
    EXPECT_EQ(products.trouble().find('\n'), std::string::npos);
  }
}

TEST(TunedProducts, WrongTypesAndValuesAreDamage) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  TunedProducts(file, "a GPU").keep("one", tuned_product);
  const std::string whole = read_file(file);
  for (const auto& [from, to] : {std::pair{"\"tensor_tiles\"", "7"},
                                 {"0.125", "-1"},
                                 {"0.125", "\"soon\""},
                                 {"\"a GPU\"", "[]"},
                                 {"\"plan\"", "\"plane\""},
                                 {"\"products\": {", "\"products\": 3, \"x\": {"}}) {
    std::string changed = whole;
    changed.replace(changed.find(from), std::string(from).size(), to);
    write_file(file, changed);
    const TunedProducts products(file);
    EXPECT_TRUE(products.all().empty()) << from;
    EXPECT_THAT(products.trouble(), HasSubstr("is damaged")) << from;
  }
}

TEST(TunedProducts, AFileThatCannotBeReadIsOneLineAndEmpty) {
  const TemporaryFolder folder;
  const TunedProducts products(folder.path());  // a folder is no file
  EXPECT_TRUE(products.all().empty());
  EXPECT_THAT(products.trouble(), HasSubstr("tuned plans are not used"));
}

TEST(TunedProducts, ADamagedFileIsWrittenAnew) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  write_file(file, "{");
  TunedProducts products(file);
  products.keep("one", tuned_product);
  EXPECT_EQ(products.trouble(), "");
  EXPECT_EQ(TunedProducts(file).find("one"), tuned_product);
}

TEST(TunedProducts, TimesOfOtherKernelsAreNotUsed) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  TunedProducts(file).keep("one", tuned_product);
  std::string changed = read_file(file);
  changed.replace(changed.find(kernels_version()), 4, "0000");
  write_file(file, changed);
  TunedProducts products(file);
  EXPECT_TRUE(products.all().empty());
  EXPECT_TRUE(products.is_stale());
  EXPECT_EQ(products.trouble(), "") << "an upgrade is no damage";
  products.keep("other", tuned_product);
  EXPECT_FALSE(products.is_stale());
  EXPECT_EQ(TunedProducts(file).all().size(), 1u);
}

TEST(TunedProducts, SeveralWritersLoseNothing) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  constexpr int processes = 3, threads = 3, each = 8;
  for (int p = 0; p < processes; ++p) {
    if (::fork() != 0) continue;
    std::vector<std::thread> writers;
    for (int t = 0; t < threads; ++t) {
      writers.emplace_back([&, t] {
        TunedProducts products(file, "a GPU");
        for (int i = 0; i < each; ++i)
          products.keep(fmt::format("{} {} {}", p, t, i), tuned_product);
      });
    }
    for (std::thread& writer : writers) writer.join();
    ::_exit(0);
  }
  for (int p = 0; p < processes; ++p) {
    int status = -1;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(TunedProducts(file).all().size(), std::size_t{processes * threads * each});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"gpu.json", "gpu.json.lock"}));
}

TEST(TunedProducts, AreForgottenByName) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  TunedProducts products(file);
  for (const char* key : {"one", "two", "three"}) products.keep(key, tuned_product);
  EXPECT_EQ(products.forget([](const std::string& key) { return key != "two"; }), 2u);
  EXPECT_EQ(products.all().size(), 1u);
  EXPECT_EQ(TunedProducts(file).all().size(), 1u);
  EXPECT_EQ(products.forget([](const std::string&) { return true; }), 1u);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"gpu.json.lock"}));
}

TEST(TunedProducts, ToForgetDeletesADamagedFileAndLeavesThatOfAnotherVersion) {
  const TemporaryFolder folder;
  const std::string file = folder / "gpu.json";
  const auto everything = [](const std::string&) { return true; };
  TunedProducts(file).keep("one", tuned_product);
  std::string other_version = read_file(file);
  other_version.replace(other_version.find(kernels_version()), 4, "0000");
  write_file(file, other_version);
  EXPECT_EQ(TunedProducts(file).forget(everything), 0u);
  EXPECT_EQ(read_file(file), other_version);
  write_file(file, "{");
  EXPECT_EQ(TunedProducts(file).forget(everything), 0u);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"gpu.json.lock"}));
}

TEST(TunedProducts, AFolderThatCannotBeWrittenIsAnError) {
  TunedProducts nowhere({}), refused("/dev/null/tuned/gpu.json");
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { nowhere.keep("one", tuned_product); }),
              HasSubstr("set TILESCOPE_CACHE to a folder"));
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { refused.keep("one", tuned_product); }),
              HasSubstr("set TILESCOPE_CACHE to a folder that can be written"));
}

TEST(TunedProducts, EachDeviceHasItsFile) {
  const TemporaryFolder folder;
  ::setenv("TILESCOPE_CACHE", folder.path().c_str(), 1);
  const auto file = [](const DeviceProperties& gpu, DeviceKind kind = DeviceKind::cuda) {
    return tuned_file(*std::make_shared<testing::FakeDevice>(gpu, kind)).filename().string();
  };
  EXPECT_EQ(file(testing::h200()), "nvidia-h200-sm_90-132-sms.json");
  EXPECT_EQ(file(testing::h200(), DeviceKind::emulated), "emulated-nvidia-h200-sm_90-132-sms.json");
  DeviceProperties part = testing::h200();
  part.sm_count = 16;
  EXPECT_NE(file(part), file(testing::h200()));
  EXPECT_NE(file(testing::a100()), file(testing::h200()));
  ::setenv("TILESCOPE_CACHE", "", 1);
  EXPECT_EQ(file(testing::h200()), "");
}

TEST(KeyOfAProduct, HasAllThatDecidesItsKernel) {
  const GemmProblem plain =
      dense_problem({100, 200, 300}, Precision::bf16, DataType::bfloat16, DataType::float32);
  EXPECT_EQ(key_of(plain),
            "100x200x300 bf16, A bfloat16 by rows of 300, B bfloat16 by rows of 200, C float32 by "
            "rows of 200");
  std::vector<GemmProblem> others(13, plain);
  others[0].shape.m = 101;
  others[1].shape.n = 201;
  others[2].shape.k = 301;
  others[3].batch = 2;
  others[4].precision = Precision::fp16;
  others[5].a.type = DataType::float32;
  others[6].b.order = Order::column_major;
  others[7].c.leading = 208;
  others[8].beta = 1.0;
  others[9].has_bias = true;
  others[10].has_bias = others[10].bias_per_row = true;
  others[11].activation = Activation::relu;
  others[12].activation = Activation::gelu;
  std::set<std::string> keys{key_of(plain)};
  for (const GemmProblem& other : others) keys.insert(key_of(other));
  EXPECT_EQ(keys.size(), others.size() + 1);
  GemmProblem batch = plain, repeated = plain;
  batch.batch = repeated.batch = 3;
  repeated.b.batch_stride = 0;
  EXPECT_NE(key_of(batch), key_of(repeated));
  GemmProblem scaled = plain;
  scaled.alpha = 7.0;
  EXPECT_EQ(key_of(scaled), key_of(plain)) << "factors do not matter";
}

}  // namespace
}  // namespace tilescope::operations
