/* Structures with pointers: a ragged matrix and a linked list, both copied deep. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int length;
  float *values;
} Row;

typedef struct {
  int rows;
  Row *row;
} Ragged;

typedef struct Node {
  int value;
  struct Node *next;
} Node;

#define DIE(call)                                                              \
  do {                                                                         \
    cudaError_t e_ = (call);                                                   \
    if (e_ != cudaSuccess) {                                                   \
      fprintf(stderr, "error %d (%s) in line %d\n", e_, cudaGetErrorName(e_),  \
              __LINE__);                                                       \
      exit(EXIT_FAILURE);                                                      \
    }                                                                          \
  } while (0)

__global__ void row_sums(Ragged matrix, float *sums) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= matrix.rows) return;
  float sum = 0.0f;
  for (int c = 0; c < matrix.row[r].length; c++) {
    sum += matrix.row[r].values[c];  // FOUND
  }
  sums[r] = sum;
}

__global__ void walk(const Node *head, int *steps, int *total) {
  int count = 0, sum = 0;
  for (const Node *node = head; node != NULL; node = node->next) {
    sum += node->value;
    count++;
  }
  *steps = count;
  *total = sum;
}

/* The rows are copied first; then the array of rows with the addresses of their copies. */
static Ragged to_device(const Ragged *host) {
  Row *rows = (Row *)malloc(host->rows * sizeof(Row));
  for (int r = 0; r < host->rows; r++) {
    rows[r].length = host->row[r].length;
    DIE(cudaMalloc((void **)&rows[r].values, rows[r].length * sizeof(float)));
    DIE(cudaMemcpy(rows[r].values, host->row[r].values, rows[r].length * sizeof(float),
                   cudaMemcpyHostToDevice));
  }
  Ragged device;
  device.rows = host->rows;
  DIE(cudaMalloc((void **)&device.row, host->rows * sizeof(Row)));
  DIE(cudaMemcpy(device.row, host->row, host->rows * sizeof(Row),  // MISTAKE
                 cudaMemcpyHostToDevice));
  free(rows);
  return device;
}

static void free_device(Ragged device) {
  Row *rows = (Row *)malloc(device.rows * sizeof(Row));
  DIE(cudaMemcpy(rows, device.row, device.rows * sizeof(Row), cudaMemcpyDeviceToHost));
  for (int r = 0; r < device.rows; r++) {
    DIE(cudaFree(rows[r].values));
  }
  DIE(cudaFree(device.row));
  free(rows);
}

int main(void) {
  enum { ROWS = 40, NODES = 25 };
  Ragged host = {ROWS, (Row *)malloc(ROWS * sizeof(Row))};
  for (int r = 0; r < ROWS; r++) {
    host.row[r].length = 1 + r % 9;
    host.row[r].values = (float *)malloc(host.row[r].length * sizeof(float));
    for (int c = 0; c < host.row[r].length; c++) host.row[r].values[c] = r + 0.25f * c;
  }

  Ragged device = to_device(&host);
  float *d_sums, sums[ROWS];
  DIE(cudaMalloc((void **)&d_sums, sizeof(sums)));
  row_sums<<<2, 32>>>(device, d_sums);
  DIE(cudaGetLastError());
  DIE(cudaMemcpy(sums, d_sums, sizeof(sums), cudaMemcpyDeviceToHost));
  int good = 1;
  for (int r = 0; r < ROWS; r++) {
    float expected = 0.0f;
    for (int c = 0; c < host.row[r].length; c++) expected += host.row[r].values[c];
    if (sums[r] != expected) good = 0;
  }
  printf("sum of the last row: %.2f\n", sums[ROWS - 1]);

  /* The list grows from its end: each node is copied with the address of the next one. */
  Node *head = NULL;
  int expected = 0;
  for (int i = 0; i < NODES; i++) {
    Node node = {i * i, head};
    expected += node.value;
    DIE(cudaMalloc((void **)&head, sizeof(Node)));
    DIE(cudaMemcpy(head, &node, sizeof(Node), cudaMemcpyHostToDevice));
  }
  int *d_result, result[2];
  DIE(cudaMalloc((void **)&d_result, sizeof(result)));
  walk<<<1, 1>>>(head, d_result, d_result + 1);
  DIE(cudaGetLastError());
  DIE(cudaMemcpy(result, d_result, sizeof(result), cudaMemcpyDeviceToHost));
  printf("list of %d nodes, sum %d\n", result[0], result[1]);
  good = good && result[0] == NODES && result[1] == expected;

  while (head != NULL) {
    Node node;
    DIE(cudaMemcpy(&node, head, sizeof(Node), cudaMemcpyDeviceToHost));
    DIE(cudaFree(head));
    head = node.next;
  }
  DIE(cudaFree(d_result));
  DIE(cudaFree(d_sums));
  free_device(device);
  for (int r = 0; r < ROWS; r++) free(host.row[r].values);
  free(host.row);
  printf("%s\n", good ? "PASSED" : "FAILED");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
