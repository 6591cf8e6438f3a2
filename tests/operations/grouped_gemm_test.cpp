// Products of different shapes in one launch: PreparedGemm and Gemm of lists.
#include <gmock/gmock.h>

#include <set>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/groups/grouped_run.hpp"
#include "support/compiled_request.hpp"
#include "support/counting_device.hpp"
#include "support/gemm_in_memory.hpp"
#include "support/gpus.hpp"
#include "support/launch_findings.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using namespace testing;
using operations::GroupedProduct;
using ::testing::HasSubstr;
using ::testing::Not;

/// Problems that have everything in common with `first` but shapes, orders and leading dimensions.
std::vector<GemmCase> cases_like(GemmGenerator& generator, const GemmProblem& first, int count) {
  std::vector<GemmCase> cases;
  for (int i = 0; i < count; ++i) {
    GemmProblem p = generator.problem();
    p.batch = 1;
    p.precision = first.precision;
    p.a.type = first.a.type;
    p.b.type = first.b.type;
    p.c.type = first.c.type;
    p.alpha = first.alpha;
    p.beta = first.beta;
    p.has_bias = p.bias_per_row = false;
    p.activation = first.activation;
    cases.push_back(generator.filled(p));
  }
  return cases;
}

/// A dense problem of one shape, with operands of the precision's type.
GemmProblem dense(const MatmulShape& shape, Precision precision,
                  DataType c_type = DataType::float32, Order a_order = Order::row_major,
                  Order b_order = Order::row_major) {
  return operations::dense_problem(shape, precision, operations::operand_type(precision), c_type,
                                   a_order, b_order);
}

/// The cases in a device's memory, and the lists of a public call.
class Lists {
 public:
  Lists(Device& device, const std::vector<GemmCase>& cases) : cases_(cases) {
    for (const GemmCase& of : cases_) {
      memory_.push_back(std::make_unique<GemmInMemory>(device, of));
      a.push_back(memory_.back()->a.first);
      b.push_back(memory_.back()->b.first);
      c.push_back(memory_.back()->c.first);
    }
    options = memory_.front()->options;
    options.bias = {};
  }

  void reset() {
    for (const auto& one : memory_) one->reset();
  }
  /// The defects of all results.
  std::string defects(bool tensor_cores) const {
    std::string all;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const std::string found = testing::defects(cases_[i], memory_[i]->result(), tensor_cores);
      if (!found.empty()) all += found + '\n';
    }
    return all;
  }

  std::vector<ConstMatrixView> a, b;
  std::vector<MatrixView> c;
  MatmulOptions options;

 private:
  const std::vector<GemmCase>& cases_;
  std::vector<std::unique_ptr<GemmInMemory>> memory_;
};

class GroupedGemm : public ::testing::TestWithParam<std::string> {};

TEST_P(GroupedGemm, RandomGroups) {
  const auto device = Device::open(GetParam());
  const bool tensor_cores = device->kind() != DeviceKind::cpu;
  GemmGenerator generator(21);
  std::set<std::string> ran;
  for (int round = 0; round < 40; ++round) {
    GemmProblem first = round % 8 < 6 ? generator.problem() : generator.problem_of_8_bits();
    if (round % 2 == 0) first.a.type = first.b.type = operations::operand_type(first.precision);
    const std::vector<GemmCase> cases = cases_like(generator, first, 7);
    SCOPED_TRACE(cases.front().text);
    Lists lists(*device, cases);
    const PreparedGemm product(*device, lists.a, lists.b, lists.c, lists.options);
    EXPECT_EQ(product.report().precision, first.precision);
    EXPECT_EQ(gemm_workspace_bytes(*device, lists.a, lists.b, lists.c, lists.options),
              product.workspace_bytes());
    ran.insert(product.report().variant);
    for (int run = 0; run < 2; ++run) {
      lists.reset();
      product.launch();
      EXPECT_EQ(lists.defects(tensor_cores), "") << product.report().variant;
    }
  }
  if (tensor_cores) {
    EXPECT_EQ(ran, (std::set<std::string>{"grouped", "grouped_tiles"}));
  }
}

// Rows at multiples of 16 bytes take asynchronous copies; others are read element by element.
TEST_P(GroupedGemm, EveryOrderAndAlignment) {
  const auto device = Device::open(GetParam());
  GemmGenerator generator(22);
  std::vector<Precision> precisions{Precision::fp32, Precision::fp16};
  if (GetParam() != "emulated:t4") precisions.push_back(Precision::tf32);
  for (const Precision precision : precisions) {
    for (const std::int64_t odd : {0, 3}) {
      std::vector<GemmCase> cases;
      for (const Order a_order : {Order::row_major, Order::column_major}) {
        for (const Order b_order : {Order::row_major, Order::column_major}) {
          cases.push_back(generator.filled(dense({96 + odd, 72 + odd, 64 + odd}, precision,
                                                 DataType::float32, a_order, b_order)));
        }
      }
      Lists lists(*device, cases);
      PreparedGemm(*device, lists.a, lists.b, lists.c, lists.options).launch();
      EXPECT_EQ(lists.defects(device->kind() != DeviceKind::cpu), "");
    }
  }
}

TEST_P(GroupedGemm, GroupsWithoutElementsOrProducts) {
  const auto device = Device::open(GetParam());
  GemmGenerator generator(23);
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    std::vector<GemmCase> cases;
    for (const MatmulShape& shape :
         {MatmulShape{0, 5, 7}, {1, 1, 1}, {3, 4, 0}, {70, 0, 8}, {65, 66, 67}, {0, 0, 0}}) {
      GemmProblem problem = dense(shape, precision);
      problem.beta = 0.5;
      cases.push_back(generator.filled(problem));
    }
    Lists lists(*device, cases);
    PreparedGemm(*device, lists.a, lists.b, lists.c, lists.options).launch();
    EXPECT_EQ(lists.defects(device->kind() != DeviceKind::cpu), "");
    // Nothing but such groups.
    const std::vector<ConstMatrixView> no_a{lists.a[0], lists.a[5]}, no_b{lists.b[0], lists.b[5]};
    const std::vector<MatrixView> no_c{lists.c[0], lists.c[5]};
    PreparedGemm(*device, no_a, no_b, no_c, lists.options).launch();
  }
}

// More than 32 * 32 groups: three steps find a block's own.
TEST_P(GroupedGemm, ManyGroups) {
  const auto device = Device::open(GetParam());
  GemmGenerator generator(24);
  std::vector<GemmCase> cases;
  for (int i = 0; i < 1100; ++i) {
    cases.push_back(generator.filled(dense({1 + i % 5, 1 + i % 7, 1 + i % 11}, Precision::fp16)));
  }
  Lists lists(*device, cases);
  PreparedGemm(*device, lists.a, lists.b, lists.c, lists.options).launch();
  EXPECT_EQ(lists.defects(device->kind() != DeviceKind::cpu), "");
}

TEST_P(GroupedGemm, ABiasIsEveryProducts) {
  const auto device = Device::open(GetParam());
  GemmGenerator generator(25);
  std::vector<GemmCase> cases;
  for (const std::int64_t rows : {40, 3, 71}) {
    GemmProblem problem = dense({rows, 24, 16}, Precision::fp32);
    problem.has_bias = true;
    cases.push_back(generator.filled(problem));
    cases.back().bias = cases.front().bias;
  }
  Lists lists(*device, cases);
  const GemmInMemory first(*device, cases.front());
  lists.options.bias = first.options.bias;
  PreparedGemm(*device, lists.a, lists.b, lists.c, lists.options).launch();
  EXPECT_EQ(lists.defects(device->kind() != DeviceKind::cpu), "");
}

TEST_P(GroupedGemm, TheCallThatKeepsProducts) {
  const auto device = Device::open(GetParam());
  GemmGenerator generator(26);
  Gemm gemm(device);
  for (int round = 0; round < 4; ++round) {
    const std::vector<GemmCase> cases = cases_like(generator, dense({8, 8, 8}, Precision::fp16), 4);
    Lists lists(*device, cases);
    for (int run = 0; run < 2; ++run) {
      lists.reset();
      gemm(lists.a, lists.b, lists.c, lists.options);
      device->synchronize();
      EXPECT_EQ(lists.defects(device->kind() != DeviceKind::cpu), "");
    }
  }
}

TEST_P(GroupedGemm, MatricesInHostMemory) {
  const auto device = Device::open(GetParam());
  GemmGenerator generator(29);
  for (int round = 0; round < 6; ++round) {
    GemmProblem first = generator.problem();
    std::vector<GemmCase> cases = cases_like(generator, first, 5);
    std::vector<GemmMatrices> results;
    std::vector<ConstMatrixView> a, b;
    std::vector<MatrixView> c;
    const auto view = [](const GemmMatrices& m) {
      return ConstMatrixView{
          m.image().data() + m.first(), m.operand().type, m.rows(), m.columns(), m.operand().order,
          m.operand().leading};
    };
    for (const GemmCase& of : cases) results.push_back(of.c);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      a.push_back(view(cases[i].a));
      b.push_back(view(cases[i].b));
      c.push_back({view(results[i])});
    }
    const MatmulReport report = matmul_grouped(*device, a, b, c,
                                               {.precision = first.precision,
                                                .alpha = first.alpha,
                                                .beta = first.beta,
                                                .activation = first.activation});
    EXPECT_EQ(report.precision, first.precision);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(defects(cases[i], results[i], device->kind() != DeviceKind::cpu), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GroupedGemm,
                         ::testing::Values("cpu", "emulated", "emulated:a100", "emulated:l4",
                                           "emulated:t4"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST(GroupedGemm, OneLaunchHoweverManyGroups) {
  const auto device = std::make_shared<CountingDevice>(h200());
  GemmGenerator generator(27);
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp64}) {
    const std::vector<GemmCase> cases = cases_like(generator, dense({8, 8, 8}, precision), 50);
    const Lists lists(*device, cases);
    const PreparedGemm product(*device, lists.a, lists.b, lists.c, lists.options);
    EXPECT_EQ(product.report().note, "50 products in one launch");
    const int launched = device->launches, before = device->host_work;
    product.launch();
    EXPECT_EQ(device->launches, launched + 1);
    EXPECT_EQ(device->fills, 0);
    EXPECT_EQ(device->host_work, before);
  }
}

TEST(GroupedGemm, TheCheckerIsSilent) {
  for (const char* const name : {"a100", "t4"}) {
    const auto device = std::make_shared<device::EmulatedDevice>(name);
    LaunchFindings findings(*device);
    GemmGenerator generator(28);
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      std::vector<GemmCase> cases = cases_like(generator, dense({8, 8, 8}, precision), 5);
      cases.push_back(generator.filled(dense({80, 72, 200}, precision)));
      Lists lists(*device, cases);
      PreparedGemm(*device, lists.a, lists.b, lists.c, lists.options).launch();
      EXPECT_EQ(lists.defects(true), "");
      EXPECT_EQ(findings.take(), "") << name;
    }
  }
}

TEST(GroupedGemm, MistakesAreRefused) {
  const auto device = Device::open("emulated");
  const Buffer memory = device->allocate(1 << 20U);
  const auto view = [&](std::size_t at, std::int64_t rows, std::int64_t columns,
                        DataType type = DataType::float32, Order order = Order::row_major) {
    return dense_view(reinterpret_cast<void*>(memory.address() + at * sizeof(float)), type, rows,
                      columns, order);
  };
  const auto refused = [&](const std::vector<ConstMatrixView>& a,
                           const std::vector<ConstMatrixView>& b, const std::vector<MatrixView>& c,
                           const MatmulOptions& options = {}) {
    return error_of(ErrorKind::usage, [&] { PreparedGemm(*device, a, b, c, options); });
  };
  const ConstMatrixView b = view(4096, 8, 8);
  EXPECT_THAT(
      refused({view(0, 8, 8), view(64, 4, 8)}, {b, b}, {view(8192, 8, 8), view(9000, 5, 8)}),
      HasSubstr("product 1 of the lists: C is 5 x 8"));
  EXPECT_THAT(refused({view(0, 8, 8), view(64, 4, 8, DataType::float16)}, {b, b},
                      {view(8192, 8, 8), view(9000, 4, 8)}),
              HasSubstr("the matrices of A differ: product 0 has float32, product 1 float16"));
  const float bias[8] = {};
  EXPECT_THAT(refused({view(0, 8, 8), view(64, 4, 8)}, {b, b},
                      {view(8192, 8, 8), view(9000, 4, 8, DataType::float32, Order::column_major)},
                      {.bias = bias}),
              HasSubstr("a bias goes with matrices of C that have as many columns each"));
  EXPECT_THAT(refused({view(0, 8, 8), view(64, 4, 8)}, {b, b}, {view(8192, 8, 8), view(9000, 4, 8)},
                      {.variant = "grouped_tiles"}),
              HasSubstr("variant grouped_tiles: tensor cores compute"));
  EXPECT_THAT(refused({view(0, 8, 8), view(64, 4, 8)}, {b, b}, {view(8192, 8, 8), view(9000, 4, 8)},
                      {.variant = "general"}),
              HasSubstr("products of different shapes have grouped and grouped_tiles"));
}

TEST(GroupedGemm, LargeAlikeProductsKeepTheirKernels) {
  const auto device = std::make_shared<CountingDevice>(h200());
  const auto list = [](std::int64_t rows, std::int64_t columns, std::uint64_t from) {
    std::vector<ConstMatrixView> views;
    for (const std::uint64_t at : {0, 3, 1}) {
      views.push_back(dense_view(reinterpret_cast<const void*>((from + at) << 32U),
                                 DataType::bfloat16, rows, columns));
    }
    return views;
  };
  const auto prepared = [&](std::int64_t size) {
    std::vector<MatrixView> c;
    for (const ConstMatrixView& one : list(size, size, 300)) c.push_back({one});
    return PreparedGemm(*device, list(size, size, 100), list(size, size, 200), c,
                        {.precision = Precision::bf16})
        .report()
        .variant;
  };
  EXPECT_EQ(prepared(512), "grouped_tiles");
  EXPECT_EQ(prepared(4096), "mma_sync");  // of the emulated GPU; one of 9.0 takes tensor_tiles
}

TEST(GroupedGemm, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const std::int64_t size : {4096, 4095}) {
      std::vector<GroupedProduct> products;
      for (const Order order : {Order::row_major, Order::column_major}) {
        GemmProblem problem =
            dense({size, size, size}, Precision::fp16, DataType::float16, order, order);
        problem.beta = 1.0;
        problem.activation = Activation::gelu;
        products.push_back({problem, {}});
      }
      const std::string log =
          compiled(operations::grouped_tiles_request(products, device), device).log;
      EXPECT_THAT(log, HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
    }
  }
}

}  // namespace
}  // namespace tilescope
