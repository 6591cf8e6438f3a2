// Multiplies two matrices with the library and checks the product.
//
// A is 3 x 2 row-major, B is 2 x 4 column-major: a view gives the order of a matrix in memory, so
// neither has to be transposed first. Small integers make the product exact, so it is compared with
// equality.

#include <cstdio>
#include <tilescope/device.hpp>
#include <tilescope/error.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

int main() {
  using namespace tilescope;
  const std::vector<float> a{1, 2,  //
                             3, 4,  //
                             5, 6};
  const std::vector<float> b{1, 0, 2, 1, 0, 3, -1, 2};  // a column after the other
  std::vector<double> c(3 * 4);                         // rounded to this type once
  const std::vector<double> expected{1, 4,  6,  3,      //
                                     3, 10, 12, 5,      //
                                     5, 16, 18, 7};
  try {
    const auto device = Device::open("cpu");
    const ConstMatrixView a_view = dense_view(a.data(), DataType::float32, 3, 2);
    const ConstMatrixView b_view =
        dense_view(b.data(), DataType::float32, 2, 4, Order::column_major);
    const MatrixView c_view = dense_view(c.data(), DataType::float64, 3, 4);
    const MatmulReport report = matmul(*device, a_view, b_view, c_view);
    bool right = c == expected;

    // A layer of a neural network: a bias for each column and an activation in the same pass.
    const std::vector<float> bias{-3, 0, -12, 1};
    const std::vector<double> layer{0, 4,  0, 4,  //
                                    0, 10, 0, 6,  //
                                    2, 16, 6, 8};
    matmul(*device, a_view, b_view, c_view, {.bias = bias, .activation = Activation::relu});
    right = right && c == layer;
    std::printf("%s on %s: %s\n", report.variant.c_str(), device->id().c_str(),
                right ? "right" : "wrong");
    return right ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return error.exit_code();
  }
}
