// The product of COSMA (github.com/eth-cscs/COSMA): operands and result in its own layout in
// memory, or in files, whose rows the ranks share.
//
// mpicxx -O2 -std=c++17 -fopenmp -I PREFIX/include cosma_peer.cpp -L PREFIX/lib -lcosma -lcosta
//   -lopenblas
#include <cosma/multiply.hpp>
#include <costa/grid2grid/transform.hpp>
#include <costa/layout.hpp>

#include "rank_files.hpp"
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

/// The transposed of a matrix in a file by rows: by columns, of which each rank has some.
template <typename Float>
auto transposed(const rank_peer::MappedMatrix<Float>& file, int rows, int columns) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> first, owners;
  for (int i = 0; i <= ranks; ++i) {
    first.push_back(static_cast<int>(static_cast<std::int64_t>(rows) * i / ranks));
    owners.push_back(i);
  }
  const int all_columns[] = {0, columns};
  const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(rank)]);
  const costa::block_t mine{file.data() + begin * static_cast<std::size_t>(columns), columns, 0,
                            rank};
  return costa::custom_layout<Float>(1, ranks, all_columns, first.data(), owners.data(), 1, &mine,
                                     'C');
}

template <typename Float>
void measure_files(const Arguments& of) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const cosma::Strategy strategy(of.n, of.m, of.k, static_cast<std::size_t>(ranks));
  cosma::CosmaMatrix<Float> left('A', strategy, rank), right('B', strategy, rank),
      product('C', strategy, rank);
  const auto bring = [](costa::grid_layout<Float> from, costa::grid_layout<Float> to) {
    costa::transform(from, to, MPI_COMM_WORLD);
  };
  rank_peer::time_rounds(of, [&] {
    rank_peer::make_matrix<Float>(of.files[2], of.m, of.n);
    const rank_peer::MappedMatrix<Float> a(of.files[0]), b(of.files[1]), c(of.files[2]);
    // C^T = B^T A^T
    bring(transposed(b, of.k, of.n), left.get_grid_layout());
    bring(transposed(a, of.m, of.k), right.get_grid_layout());
    cosma::multiply(left, right, product, strategy, MPI_COMM_WORLD, Float{1}, Float{0});
    bring(product.get_grid_layout(), transposed(c, of.m, of.n));
  });
  MPI_Barrier(MPI_COMM_WORLD);
  rank_peer::require_right(rank_peer::file_is_right<Float>(of));
}

template <typename Float>
void measure_either(const Arguments& arguments) {
  arguments.files.empty() ? measure<Float>(arguments) : measure_files<Float>(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Arguments arguments = rank_peer::arguments_of(argc, argv);
  if (arguments.is_double) {
    measure_either<double>(arguments);
  } else {
    measure_either<float>(arguments);
  }
  MPI_Finalize();
}
