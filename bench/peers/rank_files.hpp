// The job of our ranks for their peers: operands from .npy files, the result to one. Every rank
// maps the files, as it sees their folder.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "rank_peer.hpp"

namespace rank_peer {

/// A file of one dense matrix by rows, mapped. An operand's pages are read when they are touched.
template <typename Float>
class MappedMatrix {
 public:
  explicit MappedMatrix(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR);
    struct stat state = {};
    if (file < 0 || ::fstat(file, &state) != 0) fail(path);
    size_ = static_cast<std::size_t>(state.st_size);
    begin_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (begin_ == MAP_FAILED) fail(path);
  }
  MappedMatrix(const MappedMatrix&) = delete;
  MappedMatrix& operator=(const MappedMatrix&) = delete;
  ~MappedMatrix() { ::munmap(begin_, size_); }

  /// The first element, behind the front of version 1.0 of the format.
  Float* data() const {
    auto* const bytes = static_cast<unsigned char*>(begin_);
    return reinterpret_cast<Float*>(bytes + 10 + bytes[8] + 256 * bytes[9]);
  }

 private:
  static void fail(const std::string& path) {
    std::perror(path.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  void* begin_ = nullptr;
  std::size_t size_ = 0;
};

/// Rank 0 makes a file for a matrix of zeros; the others wait for it.
template <typename Float>
void make_matrix(const std::string& path, int rows, int columns) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::string front = "{'descr': '<f" + std::to_string(sizeof(Float)) +
                        "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                        std::to_string(columns) + "), }";
    front.resize(117, ' ');
    front = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + front + '\n';
    ::unlink(path.c_str());
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
    const auto size =
        static_cast<off_t>(front.size() + sizeof(Float) * static_cast<std::size_t>(rows) *
                                              static_cast<std::size_t>(columns));
    if (file < 0 || ::write(file, front.data(), front.size()) < 0 || ::ftruncate(file, size) != 0) {
      std::perror(path.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    ::close(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Whether 20 elements of C in its file are right.
template <typename Float>
bool file_is_right(const Arguments& of) {
  const MappedMatrix<Float> a(of.files[0]), b(of.files[1]), c(of.files[2]);
  for (std::int64_t sample = 0; sample < 20; ++sample) {
    const std::int64_t row = sample * 7919 % of.m, column = sample * 104729 % of.n;
    double sum = 0.0, sizes = 0.0;
    for (std::int64_t i = 0; i < of.k; ++i) {
      const double product = static_cast<double>(a.data()[row * of.k + i]) *
                             static_cast<double>(b.data()[i * of.n + column]);
      sum += product;
      sizes += std::abs(product);
    }
    const auto computed = static_cast<double>(c.data()[row * of.n + column]);
    if (!(std::abs(computed - sum) <= (of.k + 2) * unit_roundoff<Float> * sizes)) return false;
  }
  return true;
}

}  // namespace rank_peer
