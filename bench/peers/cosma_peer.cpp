// The product of COSMA (github.com/eth-cscs/COSMA), operands and result in its own layout.
//
// mpicxx -O2 -std=c++17 -fopenmp -I PREFIX/include cosma_peer.cpp -L PREFIX/lib -lcosma -lcosta
//   -lopenblas
#include <cosma/multiply.hpp>

#include "rank_peer.hpp"

namespace {

using rank_peer::Arguments;

template <typename Float>
void fill(cosma::CosmaMatrix<Float>& matrix, int number, int rank) {
  for (std::size_t i = 0; i < matrix.matrix_size(); ++i) {
    const auto [row, column] = matrix.global_coordinates(static_cast<int>(i), rank);
    matrix.matrix_pointer()[i] = rank_peer::element<Float>(number, row, column);
  }
}

template <typename Float>
void measure(const Arguments& arguments) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const cosma::Strategy strategy(arguments.m, arguments.n, arguments.k,
                                 static_cast<std::size_t>(ranks));
  cosma::CosmaMatrix<Float> a('A', strategy, rank), b('B', strategy, rank), c('C', strategy, rank);
  fill(a, 0, rank);
  fill(b, 1, rank);
  rank_peer::time_rounds(
      arguments, [&] { cosma::multiply(a, b, c, strategy, MPI_COMM_WORLD, Float{1}, Float{0}); });
  bool right = true;
  for (std::size_t sample = 0; sample < 20 && c.matrix_size() > 0; ++sample) {
    const std::size_t i = sample * 104729 % c.matrix_size();
    const auto [row, column] = c.global_coordinates(static_cast<int>(i), rank);
    right = right && rank_peer::is_right<Float>(static_cast<double>(c.matrix_pointer()[i]),
                                                arguments.k, row, column);
  }
  rank_peer::require_right(right);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Arguments arguments = rank_peer::arguments_of(argc, argv);
  if (arguments.is_double) {
    measure<double>(arguments);
  } else {
    measure<float>(arguments);
  }
  MPI_Finalize();
}
