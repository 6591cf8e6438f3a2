// Tiles of tensor_tiles.cu and panel_tiles.cu with problems for them.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "support/gemm_runs.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::testing {

struct TileCase {
  std::string name;
  std::string tile;  ///< as parse_tensor_tile() takes it
  MatmulShape shape;
  bool a_by_columns = false, b_by_columns = false;
  double beta = 0.0;
  bool has_bias = false, bias_per_row = false;
  DataType c = DataType::bfloat16;
  Precision precision = Precision::bf16;

  friend void PrintTo(const TileCase& of, std::ostream* out) { *out << of.tile; }
};

inline operations::GemmProblem problem_of(const TileCase& of) {
  operations::GemmProblem problem = operations::dense_problem(
      of.shape, of.precision, operations::operand_type(of.precision), of.c);
  const auto by_columns = [](operations::GemmOperand& operand, std::int64_t rows) {
    operand.order = Order::column_major;
    operand.leading = rows;
  };
  if (of.a_by_columns) by_columns(problem.a, of.shape.m);
  if (of.b_by_columns) by_columns(problem.b, of.shape.k);
  problem.beta = of.beta;
  problem.has_bias = of.has_bias;
  problem.bias_per_row = of.bias_per_row;
  return problem;
}

/// A variant that prepares the tile of this text, until the next call: a plain function prepares,
/// and cannot carry it.
inline operations::GemmVariant tile_variant(const std::string& text) {
  static operations::TensorTile tile;
  tile = operations::parse_tensor_tile(text);
  return {.name = "tile",
          .idea = "",
          .source = "",
          .refusal = nullptr,
          .prepare = [](Device& device, const operations::GemmProblem& problem) {
            return operations::prepare_tensor_tiles(device, problem, tile);
          }};
}

/// Multiplies the case on an emulated H200: the product is right, and the checker silent.
inline void expect_right_and_silent(const TileCase& of_tile) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  LaunchFindings findings(*emulated);
  const GemmCase of = aligned_case(problem_of(of_tile));
  const operations::GemmVariant variant = tile_variant(of_tile.tile);
  EXPECT_EQ(defects(of, run_gemm(*emulated, variant, of), true), "");
  EXPECT_EQ(findings.take(), "");
}

}  // namespace tilescope::testing
