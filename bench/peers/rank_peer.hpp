// The frame of the programs that multiply by another library under mpirun, as peers of our ranks
// (bench/ranks_peers.py): their arguments, the protocol of timing, the line of JSON.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace rank_peer {

struct Arguments {
  int m, n, k, rounds;
  bool is_double;
  std::vector<std::string> files;  ///< of A, B and C; none: all in memory
};

/// PROGRAM float|double M N K ROUNDS [A.npy B.npy C.npy]
inline Arguments arguments_of(int argc, char** argv) {
  if (argc != 6 && argc != 9) {
    std::fprintf(stderr, "usage: %s float|double M N K ROUNDS [A.npy B.npy C.npy]\n", argv[0]);
    std::exit(2);
  }
  return {std::atoi(argv[2]),
          std::atoi(argv[3]),
          std::atoi(argv[4]),
          std::atoi(argv[5]),
          std::string_view(argv[1]) == "double",
          {argv + 6, argv + argc}};
}

/// Element (row, column) of A or B: the same value whatever rank owns it.
template <typename Float>
Float element(int matrix, std::int64_t row, std::int64_t column) {
  std::uint64_t state = (static_cast<std::uint64_t>(row) << 32U) +
                        static_cast<std::uint64_t>(column) * 2 + static_cast<unsigned>(matrix) + 1;
  state *= 0x9e3779b97f4a7c15ULL;
  state ^= state >> 29U;
  state *= 0xbf58476d1ce4e5b9ULL;
  state ^= state >> 32U;
  return static_cast<Float>(static_cast<std::int32_t>(state)) / Float{2147483648.0};
}

/// Element (row, column) of the product, in double.
template <typename Float>
double expected(int k, std::int64_t row, std::int64_t column) {
  double sum = 0.0;
  for (int i = 0; i < k; ++i) {
    sum += static_cast<double>(element<Float>(0, row, i)) *
           static_cast<double>(element<Float>(1, i, column));
  }
  return sum;
}

/// Half the distance from 1 to the next number.
template <typename Float>
constexpr double unit_roundoff = sizeof(Float) == 4 ? 0x1p-24 : 0x1p-53;

/// Whether a computed element is right, by the bound of k roundings.
template <typename Float>
bool is_right(double computed, int k, std::int64_t row, std::int64_t column) {
  return std::abs(computed - expected<Float>(k, row, column)) <= (k + 2) * unit_roundoff<Float> * k;
}

/// Calls `multiply` once to warm up and then `rounds` times. Prints the median of the slowest
/// rank's milliseconds, from a barrier to the end.
template <typename Multiply>
void time_rounds(const Arguments& arguments, const Multiply& multiply) {
  std::vector<double> times;
  for (int round = -1; round < arguments.rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    multiply();
    double mine = (MPI_Wtime() - start) * 1e3, slowest = 0.0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (round >= 0) times.push_back(slowest);
  }
  std::sort(times.begin(), times.end());
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("{\"time_ms\": %.3f}\n", times[times.size() / 2]);
}

/// Ends all ranks if a sampled element was wrong on any.
inline void require_right(bool right) {
  if (right) return;
  std::fprintf(stderr, "a wrong element: no figures\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace rank_peer
