// A small network, trained on measured times by bench/train_tile_network.py, that corrects the
// model of tensor_tile_time.hpp for the tiles which that ranks first.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/hopper/tensor_tile_time.hpp"

namespace tilescope::operations {

/// The properties of a tile by which the network tells how far the model is wrong.
constexpr std::size_t tile_features = 36;
using TileFeatures = std::array<double, tile_features>;

/// The cycles that the model alone expects of a tile, with its features.
struct TimedFeatures {
  double cycles = 0.0;
  TileFeatures features;
};

/// Those of the problem's tile with `sm_count` SMs.
TimedFeatures timed_features(const GemmProblem& problem, const TensorTile& tile, int sm_count);

/// Whether the network was trained on such tiles and products: of 16-bit matrices.
bool is_known_to_network(const GemmProblem& problem, const TensorTile& tile);

/// The measured time over that of the model, beside other tiles for the same product: 0.8 to 1.25.
double measured_over_expected(const TileFeatures& features);

/// One layer of rectified units, whose weighted sum is the logarithm of the factor. They read each
/// feature less its mean, over its deviation.
struct TileNetwork {
  static constexpr std::size_t units = 64;

  std::array<float, tile_features> mean, deviation;
  std::array<std::array<float, tile_features>, units> weights;
  std::array<float, units> biases, outputs;
};

extern const TileNetwork tile_network;  ///< tensor_tile_weights.cpp

}  // namespace tilescope::operations
