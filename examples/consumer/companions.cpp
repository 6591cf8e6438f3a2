// Every companion operation once, on small data whose results are known, without a file.
//
// Vectors are lists of their own type, and dense_view() makes a matrix of one; nothing is copied
// for the call. Each call returns which rung of the operation's ladder ran and how long it took.
// The device may be a GPU, the emulated one or, as here, the CPU: the results are the same.

#include <cstdio>
#include <string>
#include <tilescope/blur.hpp>
#include <tilescope/device.hpp>
#include <tilescope/error.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/laplacian.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/reverse.hpp>
#include <tilescope/saxpb.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/transpose.hpp>
#include <tilescope/vector_add.hpp>
#include <vector>

namespace {

using namespace tilescope;

int wrong = 0;

template <typename T>
void expect(const char* operation, const T& result, const T& right) {
  if (result == right) return;
  std::printf("%s is wrong\n", operation);
  ++wrong;
}

void lists(Device& device) {
  const std::vector<float> x{1, 2, 3, 4, 5};
  std::vector<float> y(x.size());
  saxpb(device, 2.0, x, 1.0, y);  // y = 2 x + 1
  expect("saxpb", y, {3, 5, 7, 9, 11});
  vector_add(device, x, x, y);
  expect("vector_add", y, {2, 4, 6, 8, 10});
  reverse(device, x, y);
  expect("reverse", y, {5, 4, 3, 2, 1});

  expect("sum", reduce(device, x, Reduction::sum).real, 15.0);
  expect("argmax", reduce(device, x, Reduction::argmax).integer, std::int64_t{4});
}

void grids(Device& device) {
  const std::vector<float> x{1, 2, 3,  //
                             4, 5, 6};
  std::vector<float> y(x.size());
  const ConstMatrixView in = dense_view(x, 2, 3);  // rows, columns

  scale(device, 10.0, in, dense_view(y, 2, 3));
  expect("scale", y, {10, 20, 30, 40, 50, 60});
  transpose(device, in, dense_view(y, 3, 2));
  expect("transpose", y, {1, 4, 2, 5, 3, 6});
  laplacian(device, in, dense_view(y, 2, 3));
  expect("laplacian", y, {2, 1, -4, -10, -8, -16});  // zeros outside the grid
}

void bytes(Device& device) {
  const std::vector<std::uint8_t> picture{0,  30,  60,  //
                                          90, 120, 150};
  std::vector<std::uint8_t> blurred(picture.size());
  blur(device, picture, blurred, 2, 3, 1);  // height, width, samples of a pixel
  expect("blur", blurred, {60, 75, 90, 60, 75, 90});

  const std::string text = "Programming Massively Parallel Processors";
  const HistogramResult letters =
      histogram(device, {DataType::uint8, text.size(), text.data()}, {.letters = true});
  expect("histogram", letters.counts, {5, 5, 6, 10, 10, 1, 1});  // a-d, e-h, ..., y-z
}

}  // namespace

int main() {
  try {
    const auto device = Device::open("cpu");
    lists(*device);
    grids(*device);
    bytes(*device);
    std::printf("nine operations on %s: %s\n", device->id().c_str(), wrong ? "wrong" : "right");
    return wrong ? 1 : 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "companions: %s\n", error.what());
    return error.exit_code();
  }
}
