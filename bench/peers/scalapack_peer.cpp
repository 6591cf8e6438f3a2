// psgemm or pdgemm of ScaLAPACK on a grid of ranks as square as their number allows. Blocks of 64,
// 128 and 256 are tried on a smaller product, and the fastest is timed: in memory, or from files to
// a file.
//
// mpicxx -O2 -std=c++17 scalapack_peer.cpp -lscalapack-openmpi -lopenblas
#include "rank_files.hpp"
#include "rank_peer.hpp"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
int numroc_(const int* extent, const int* block, const int* index, const int* source,
            const int* parts);
void descinit_(int* descriptor, const int* m, const int* n, const int* row_block,
               const int* column_block, const int* source_row, const int* source_column,
               const int* context, const int* leading, int* info);
void psgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
             const float* alpha, const float* a, const int* ia, const int* ja, const int* a_desc,
             const float* b, const int* ib, const int* jb, const int* b_desc, const float* beta,
             float* c, const int* ic, const int* jc, const int* c_desc);
void pdgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* a_desc,
             const double* b, const int* ib, const int* jb, const int* b_desc, const double* beta,
             double* c, const int* ic, const int* jc, const int* c_desc);
}

namespace {

using rank_peer::Arguments;

struct Grid {
  int context = 0, rows = 1, columns = 1, row = 0, column = 0;
};

Grid make_grid(int ranks) {
  Grid grid;
  for (grid.rows = static_cast<int>(std::sqrt(ranks)); ranks % grid.rows != 0;) --grid.rows;
  grid.columns = ranks / grid.rows;
  Cblacs_get(-1, 0, &grid.context);
  Cblacs_gridinit(&grid.context, "Row", grid.rows, grid.columns);
  Cblacs_gridinfo(grid.context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  return grid;
}

/// A matrix in blocks that are dealt to the grid; each rank's part is column-major.
template <typename Float>
struct Matrix {
  Matrix(const Grid& on, int m, int n, int edge) : grid(on), block(edge) {
    const int zero = 0;
    rows = numroc_(&m, &block, &grid.row, &zero, &grid.rows);
    columns = numroc_(&n, &block, &grid.column, &zero, &grid.columns);
    const int leading = std::max(rows, 1);
    int info = 0;
    descinit_(descriptor, &m, &n, &block, &block, &zero, &zero, &grid.context, &leading, &info);
    data.resize(static_cast<std::size_t>(leading) * static_cast<std::size_t>(std::max(columns, 1)));
  }

  int global_row(int i) const { return (i / block * grid.rows + grid.row) * block + i % block; }
  int global_column(int j) const {
    return (j / block * grid.columns + grid.column) * block + j % block;
  }
  Float& at(int i, int j) {
    return data[static_cast<std::size_t>(j) * static_cast<std::size_t>(std::max(rows, 1)) +
                static_cast<std::size_t>(i)];
  }
  // In a file by rows, element (i, j) of the transposed matrix lies where by columns it would.
  template <typename Copy>
  void with_runs_of(Float* file, int leading, const Copy& copy) {
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; i += block) {
        copy(&at(i, j),
             file + static_cast<std::size_t>(global_column(j)) * static_cast<std::size_t>(leading) +
                 global_row(i),
             sizeof(Float) * static_cast<std::size_t>(std::min(block, rows - i)));
      }
    }
  }
  void read(const rank_peer::MappedMatrix<Float>& file, int leading) {
    with_runs_of(file.data(), leading, [](Float* mine, const Float* there, std::size_t bytes) {
      std::memcpy(mine, there, bytes);
    });
  }
  void write(const rank_peer::MappedMatrix<Float>& file, int leading) {
    with_runs_of(file.data(), leading, [](const Float* mine, Float* there, std::size_t bytes) {
      std::memcpy(there, mine, bytes);
    });
  }
  void fill(int matrix) {
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        at(i, j) = rank_peer::element<Float>(matrix, global_row(i), global_column(j));
      }
    }
  }

  const Grid& grid;
  int block, rows = 0, columns = 0;
  int descriptor[9] = {};
  std::vector<Float> data;
};

template <typename Float>
class Product {
 public:
  Product(const Arguments& arguments, const Grid& grid, int block)
      : arguments_(arguments),
        a_(grid, arguments.m, arguments.k, block),
        b_(grid, arguments.k, arguments.n, block),
        c_(grid, arguments.m, arguments.n, block) {}

  void fill() {
    a_.fill(0);
    b_.fill(1);
  }

  /// From files to a file of matrices by rows, all transposed: C^T = B^T A^T. `arguments` has the
  /// extents and the files in that order.
  void multiply_files() {
    rank_peer::make_matrix<Float>(arguments_.files[2], arguments_.n, arguments_.m);
    a_.read(rank_peer::MappedMatrix<Float>(arguments_.files[0]), arguments_.m);
    b_.read(rank_peer::MappedMatrix<Float>(arguments_.files[1]), arguments_.k);
    multiply();
    c_.write(rank_peer::MappedMatrix<Float>(arguments_.files[2]), arguments_.m);
  }

  void multiply() {
    const int one = 1;
    const Float alpha = 1, beta = 0;
    const auto call = [&](auto* gemm) {
      gemm("N", "N", &arguments_.m, &arguments_.n, &arguments_.k, &alpha, a_.data.data(), &one,
           &one, a_.descriptor, b_.data.data(), &one, &one, b_.descriptor, &beta, c_.data.data(),
           &one, &one, c_.descriptor);
    };
    if constexpr (sizeof(Float) == 4) {
      call(psgemm_);
    } else {
      call(pdgemm_);
    }
  }

  bool is_right() {
    for (int sample = 0; sample < 20 && c_.rows > 0 && c_.columns > 0; ++sample) {
      const int i = static_cast<int>(sample * 7919LL % c_.rows),
                j = static_cast<int>(sample * 104729LL % c_.columns);
      if (!rank_peer::is_right<Float>(static_cast<double>(c_.at(i, j)), arguments_.k,
                                      c_.global_row(i), c_.global_column(j))) {
        return false;
      }
    }
    return true;
  }

 private:
  const Arguments& arguments_;
  Matrix<Float> a_, b_, c_;
};

template <typename Float>
double once(const Arguments& arguments, const Grid& grid, int block) {
  Product<Float> product(arguments, grid, block);
  product.fill();
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  product.multiply();
  double mine = MPI_Wtime() - start, slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

template <typename Float>
void measure(const Arguments& arguments, const Grid& grid) {
  Arguments small = arguments;
  for (int* extent : {&small.m, &small.n, &small.k}) *extent = std::min(*extent, 1536);
  once<Float>(small, grid, 64);
  int best = 0;
  double least = 0.0;
  for (const int block : {64, 128, 256}) {
    const double seconds = once<Float>(small, grid, block);
    if (best != 0 && seconds >= least) continue;
    best = block;
    least = seconds;
  }
  if (!arguments.files.empty()) {
    Arguments swapped = arguments;
    std::swap(swapped.m, swapped.n);
    std::swap(swapped.files[0], swapped.files[1]);
    rank_peer::time_rounds(arguments,
                           [&] { Product<Float>(swapped, grid, best).multiply_files(); });
    MPI_Barrier(MPI_COMM_WORLD);
    rank_peer::require_right(rank_peer::file_is_right<Float>(arguments));
    return;
  }
  Product<Float> product(arguments, grid, best);
  product.fill();
  rank_peer::time_rounds(arguments, [&] { product.multiply(); });
  rank_peer::require_right(product.is_right());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Arguments arguments = rank_peer::arguments_of(argc, argv);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Grid grid = make_grid(ranks);
  if (arguments.is_double) {
    measure<double>(arguments, grid);
  } else {
    measure<float>(arguments, grid);
  }
  MPI_Finalize();
}
