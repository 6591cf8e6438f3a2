// Products of 8-bit floats with factors, on the GPU.
#include "cuda/real_gpu.hpp"
#include "support/scaled_product.hpp"

namespace tilescope {
namespace {

using testing::ScaledProduct;
using testing::ScaleKind;

using ScalesOnGpu = testing::RealGpu;

TEST_F(ScalesOnGpu, OfEveryKind) {
  for (const ScaleKind of_a : testing::scale_kinds) {
    for (const ScaleKind of_b : testing::scale_kinds) {
      for (const MatmulShape& shape : {MatmulShape{70, 150, 270}, {300, 1000, 1000}}) {
        ScaledProduct product(shape, of_a, of_b);
        const MatmulReport report = product.run(*gpu_);
        EXPECT_EQ(product.defects(), "") << report.variant << ' ' << int(of_a) << ' ' << int(of_b);
      }
    }
  }
}

TEST_F(ScalesOnGpu, InEveryOrderOfTheMatrices) {
  for (const ScaleKind kind : {ScaleKind::vectors, ScaleKind::blocks}) {
    for (int orders = 1; orders < 8; ++orders) {
      ScaledProduct product({208, 176, 400}, kind, kind);
      const auto order = [&](int bit) {
        return (orders & bit) != 0 ? Order::column_major : Order::row_major;
      };
      product.a_order = order(1);
      product.b_order = order(2);
      product.c_order = order(4);
      const MatmulReport report = product.run(*gpu_);
      EXPECT_EQ(product.defects(), "") << report.variant << ' ' << int(kind) << ' ' << orders;
    }
  }
}

}  // namespace
}  // namespace tilescope
