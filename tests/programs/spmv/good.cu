// Sparse matrix times vector: a thread for each row, and a warp for each row.
#include "csr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SAFE_CALL(call)                                                    \
  {                                                                        \
    cudaError_t err = call;                                                \
    if (cudaSuccess != err) {                                              \
      fprintf(stderr, "CUDA error in file '%s', line %i: %s.\n", __FILE__, \
              __LINE__, cudaGetErrorString(err));                          \
      exit(EXIT_FAILURE);                                                  \
    }                                                                      \
  }

__global__ void spmv_thread(CsrMatrix m, const double *x, double *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m.rows) {
    double sum = 0.0;
    for (int e = m.row_start[row]; e < m.row_start[row + 1]; e++) {
      sum += m.value[e] * x[m.column[e]];
    }
    y[row] = sum;
  }
}

__global__ void spmv_warp(CsrMatrix m, const double *x, double *y) {
  int lane = threadIdx.x & 31;
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= m.rows) return;
  double sum = 0.0;
  for (int e = m.row_start[row] + lane; e < m.row_start[row + 1]; e += 32) {
    sum += m.value[e] * x[m.column[e]];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (lane == 0) y[row] = sum;
}

/* Rows of very different lengths. */
static CsrMatrix make_matrix(int rows, int columns) {
  CsrMatrix m;
  m.rows = rows;
  m.columns = columns;
  m.row_start = (int *)malloc((rows + 1) * sizeof(int));
  int entries = 0;
  for (int r = 0; r < rows; r++) {
    m.row_start[r] = entries;
    entries += (r * r) % 37;
  }
  m.row_start[rows] = entries;
  m.entries = entries;
  m.column = (int *)malloc(entries * sizeof(int));
  m.value = (double *)malloc(entries * sizeof(double));
  for (int e = 0; e < entries; e++) {
    m.column[e] = (int)((e * 7919LL) % columns);
    m.value[e] = 1.0 / (1 + e % 10);
  }
  return m;
}

static int verify(const char *name, const CsrMatrix *m, const double *x, const double *y) {
  double worst = 0.0;
  for (int r = 0; r < m->rows; r++) {
    double sum = 0.0;
    for (int e = m->row_start[r]; e < m->row_start[r + 1]; e++) {
      sum += m->value[e] * x[m->column[e]];
    }
    worst = fmax(worst, fabs(sum - y[r]));
  }
  printf("%s: %s\n", name, worst < 1e-9 ? "PASSED" : "FAILED");
  return worst < 1e-9;
}

int main(int argc, char *argv[]) {
  int rows = argc > 1 ? atoi(argv[1]) : 700;
  int columns = argc > 2 ? atoi(argv[2]) : 500;
  CsrMatrix m = make_matrix(rows, columns);
  double *x = (double *)malloc(columns * sizeof(double));
  double *y = (double *)malloc(rows * sizeof(double));
  for (int c = 0; c < columns; c++) x[c] = c * 0.125;

  CsrMatrix d = m;
  SAFE_CALL(cudaMalloc((void **)&d.row_start, (rows + 1) * sizeof(int)));
  SAFE_CALL(cudaMalloc((void **)&d.column, m.entries * sizeof(int)));
  SAFE_CALL(cudaMalloc((void **)&d.value, m.entries * sizeof(double)));
  SAFE_CALL(cudaMemcpy(d.row_start, m.row_start, (rows + 1) * sizeof(int), cudaMemcpyHostToDevice));
  SAFE_CALL(cudaMemcpy(d.column, m.column, m.entries * sizeof(int), cudaMemcpyHostToDevice));
  SAFE_CALL(cudaMemcpy(d.value, m.value, m.entries * sizeof(double), cudaMemcpyHostToDevice));
  double *d_x, *d_y;
  SAFE_CALL(cudaMalloc((void **)&d_x, columns * sizeof(double)));
  SAFE_CALL(cudaMalloc((void **)&d_y, rows * sizeof(double)));
  SAFE_CALL(cudaMemcpy(d_x, x, columns * sizeof(double), cudaMemcpyHostToDevice));

  printf("%d x %d matrix with %d entries\n", rows, columns, m.entries);
  spmv_thread<<<(rows + 63) / 64, 64>>>(d, d_x, d_y);
  SAFE_CALL(cudaGetLastError());
  SAFE_CALL(cudaMemcpy(y, d_y, rows * sizeof(double), cudaMemcpyDeviceToHost));
  int good = verify("a thread for each row", &m, x, y);

  SAFE_CALL(cudaMemset(d_y, 0, rows * sizeof(double)));
  spmv_warp<<<(rows * 32 + 127) / 128, 128>>>(d, d_x, d_y);
  SAFE_CALL(cudaGetLastError());
  SAFE_CALL(cudaMemcpy(y, d_y, rows * sizeof(double), cudaMemcpyDeviceToHost));
  good = verify("a warp for each row", &m, x, y) && good;

  SAFE_CALL(cudaFree(d.row_start));
  SAFE_CALL(cudaFree(d.column));
  SAFE_CALL(cudaFree(d.value));
  SAFE_CALL(cudaFree(d_x));
  SAFE_CALL(cudaFree(d_y));
  free(m.row_start);
  free(m.column);
  free(m.value);
  free(x);
  free(y);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
