/* Matrix products through the C interface, on the CPU and on emulated GPUs. */
#include <stdlib.h>
#include <tilescope.h>

#include "expect.h"

enum { m = 37, k = 19, n = 53 };

typedef struct {
  float a[m * k], b[k * n], c[m * n], bias[n];
} Matrices;

static Matrices* new_matrices(void) {
  Matrices* host = malloc(sizeof *host);
  for (int i = 0; i < m * k; ++i) host->a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < k * n; ++i) host->b[i] = (float)(i % 5 - 2);
  for (int i = 0; i < m * n; ++i) host->c[i] = (float)(i % 3 - 1);
  for (int i = 0; i < n; ++i) host->bias[i] = (float)i;
  return host;
}

/* relu(2 A B + 3 C + bias): whole numbers, so every device has the same bits. */
static float expected(const Matrices* host, int row, int column) {
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += host->a[row * k + i] * host->b[i * n + column];
  const float value = 2 * sum + 3 * host->c[row * n + column] + host->bias[column];
  return value > 0 ? value : 0;
}

static int wrong_elements(const Matrices* host, const float* c) {
  int wrong = 0;
  for (int i = 0; i < m * n; ++i) wrong += c[i] != expected(host, i / n, i % n);
  return wrong;
}

typedef struct {
  void *a, *b, *c, *bias;
} Memory;

static void* uploaded(tilescope_device* device, const void* data, size_t bytes) {
  void* address = NULL;
  EXPECT_OK(tilescope_allocate(device, bytes, &address));
  EXPECT_OK(tilescope_copy_to_device(device, address, data, bytes));
  return address;
}

static int wrong_on_device(tilescope_device* device, const Matrices* host, const Memory* memory,
                           void* stream) {
  float* c = malloc(sizeof host->c);
  EXPECT_OK(tilescope_stream_synchronize(device, stream));
  EXPECT_OK(tilescope_copy_to_host(device, c, memory->c, sizeof host->c));
  const int wrong = wrong_elements(host, c);
  free(c);
  EXPECT_OK(tilescope_copy_to_device(device, memory->c, host->c, sizeof host->c));
  return wrong;
}

static tilescope_gemm_options all_options(const void* bias) {
  tilescope_gemm_options options = tilescope_gemm_defaults();
  options.alpha = 2;
  options.beta = 3;
  options.bias = bias;
  options.activation = TILESCOPE_RELU;
  return options;
}

static void products_in_device_memory(tilescope_device* device) {
  Matrices* host = new_matrices();
  const Memory memory = {uploaded(device, host->a, sizeof host->a),
                         uploaded(device, host->b, sizeof host->b),
                         uploaded(device, host->c, sizeof host->c),
                         uploaded(device, host->bias, sizeof host->bias)};
  tilescope_matrix a = tilescope_dense_matrix(memory.a, TILESCOPE_FLOAT32, m, k);
  tilescope_matrix b = tilescope_dense_matrix(memory.b, TILESCOPE_FLOAT32, k, n);
  tilescope_matrix c = tilescope_dense_matrix(memory.c, TILESCOPE_FLOAT32, m, n);
  tilescope_gemm_options options = all_options(memory.bias);
  void* stream = NULL;
  EXPECT_OK(tilescope_stream_create(device, &stream));

  for (int run = 0; run < 2; ++run) {
    EXPECT_OK(tilescope_gemm(device, &a, &b, &c, &options, stream));
    EXPECT(wrong_on_device(device, host, &memory, stream) == 0);
  }

  size_t bytes = 1;
  EXPECT_OK(tilescope_gemm_workspace_bytes(device, &a, &b, &c, &options, &bytes));
  tilescope_gemm_plan* plan = NULL;
  EXPECT_OK(tilescope_gemm_prepare(device, &a, &b, &c, &options, &plan));
  EXPECT(strlen(tilescope_gemm_variant(plan)) > 0);
  EXPECT(tilescope_gemm_note(plan) != NULL);
  EXPECT_OK(tilescope_gemm_launch(plan, stream));
  EXPECT(wrong_on_device(device, host, &memory, stream) == 0);
  EXPECT_OK(tilescope_gemm_set_operands(plan, memory.a, memory.b, memory.c, memory.bias));
  EXPECT_OK(tilescope_gemm_launch(plan, stream));
  EXPECT(wrong_on_device(device, host, &memory, stream) == 0);
  EXPECT_ERROR(tilescope_gemm_set_operands(plan, memory.c, memory.b, memory.c, NULL),
               TILESCOPE_USAGE, "C shares memory with A");
  EXPECT_ERROR(
      tilescope_gemm_set_operands(plan, (char*)memory.a + 4, memory.b, memory.c, memory.bias),
      TILESCOPE_USAGE, "A begins 4 bytes behind a multiple of 16");
  tilescope_gemm_destroy(plan);
  const tilescope_matrix as[] = {a, a}, bs[] = {b, b}, cs[] = {c, c};
  plan = NULL;
  EXPECT_ERROR(tilescope_gemm_prepare_list(device, as, bs, cs, 2, &options, &plan), TILESCOPE_USAGE,
               "shares memory");
  EXPECT_OK(tilescope_gemm_prepare_list(device, as, bs, cs, 1, &options, &plan));
  EXPECT_OK(tilescope_gemm_launch(plan, stream));
  EXPECT(wrong_on_device(device, host, &memory, stream) == 0);
  EXPECT_ERROR(tilescope_gemm_set_operands(plan, memory.a, memory.b, memory.c, memory.bias),
               TILESCOPE_USAGE, "prepare another");
  tilescope_gemm_destroy(plan);

  // The same product as two of different shapes: its first rows and the others.
  enum { first_rows = 3 };
  tilescope_matrix parts_of_a[] = {a, a}, parts_of_c[] = {c, c};
  parts_of_a[0].rows = parts_of_c[0].rows = first_rows;
  parts_of_a[1].rows = parts_of_c[1].rows = m - first_rows;
  parts_of_a[1].data = (float*)memory.a + first_rows * k;
  parts_of_c[1].data = (float*)memory.c + first_rows * n;
  EXPECT_OK(tilescope_gemm_list(device, parts_of_a, bs, parts_of_c, 2, &options, stream));
  EXPECT(wrong_on_device(device, host, &memory, stream) == 0);
  EXPECT_OK(
      tilescope_gemm_prepare_list(device, parts_of_a, bs, parts_of_c, 2, &options, &plan));
  EXPECT_OK(tilescope_gemm_launch(plan, stream));
  EXPECT(wrong_on_device(device, host, &memory, stream) == 0);
  tilescope_gemm_destroy(plan);
  EXPECT_ERROR(tilescope_gemm_list(device, as, bs, cs, 0, &options, stream), TILESCOPE_USAGE,
               "count is 0");

  tilescope_stream_destroy(device, stream);
  tilescope_free(device, memory.a);
  tilescope_free(device, memory.b);
  tilescope_free(device, memory.c);
  tilescope_free(device, memory.bias);
  free(host);
}

static void products_in_host_memory(tilescope_device* device) {
  Matrices* host = new_matrices();
  float* result = malloc(sizeof host->c);
  memcpy(result, host->c, sizeof host->c);
  const tilescope_matrix a = tilescope_dense_matrix(host->a, TILESCOPE_FLOAT32, m, k);
  const tilescope_matrix b = tilescope_dense_matrix(host->b, TILESCOPE_FLOAT32, k, n);
  const tilescope_matrix c = tilescope_dense_matrix(result, TILESCOPE_FLOAT32, m, n);
  const tilescope_gemm_options options = all_options(host->bias);
  EXPECT_OK(tilescope_matmul(device, &a, &b, &c, &options));
  EXPECT(wrong_elements(host, result) == 0);
  free(result);
  free(host);
}

static void a_workspace_of_the_caller(void) {
  tilescope_device* device = NULL;
  EXPECT_OK(tilescope_device_open("emulated", &device));
  Matrices* host = new_matrices();
  void* const a_memory = uploaded(device, host->a, sizeof host->a);
  void* const b_memory = uploaded(device, host->b, sizeof host->b);
  void* const c_memory = uploaded(device, host->c, sizeof host->c);
  tilescope_matrix a = tilescope_dense_matrix(a_memory, TILESCOPE_FLOAT32, m, k);
  tilescope_matrix b = tilescope_dense_matrix(b_memory, TILESCOPE_FLOAT32, k, n);
  tilescope_matrix c = tilescope_dense_matrix(c_memory, TILESCOPE_FLOAT32, m, n);
  tilescope_gemm_options options = tilescope_gemm_defaults();
  options.precision = TILESCOPE_BF16; /* converted on the device */
  size_t bytes = 0;
  EXPECT_OK(tilescope_gemm_workspace_bytes(device, &a, &b, &c, &options, &bytes));
  EXPECT(bytes > 0);
  void* workspace = NULL;
  EXPECT_OK(tilescope_allocate(device, bytes, &workspace));
  options.workspace = workspace;
  options.workspace_bytes = bytes - 1;
  tilescope_gemm_plan* plan = NULL;
  EXPECT_ERROR(tilescope_gemm_prepare(device, &a, &b, &c, &options, &plan), TILESCOPE_USAGE,
               "the workspace has");
  options.workspace = (char*)workspace + 16;
  EXPECT_ERROR(tilescope_gemm_prepare(device, &a, &b, &c, &options, &plan), TILESCOPE_USAGE,
               "the workspace begins 16 bytes behind");
  EXPECT(plan == NULL);
  options.workspace = workspace;
  options.workspace_bytes = bytes;
  EXPECT_OK(tilescope_gemm_prepare(device, &a, &b, &c, &options, &plan));
  EXPECT_OK(tilescope_gemm_launch(plan, NULL));
  float* result = malloc(sizeof host->c);
  EXPECT_OK(tilescope_copy_to_host(device, result, c_memory, sizeof host->c));
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += host->a[i] * host->b[i * n];
  EXPECT(result[0] == sum);
  free(result);
  tilescope_gemm_destroy(plan);
  tilescope_device_close(device); /* frees what is left */
  free(host);
}

/* e4m3: 0x38 is 1, 0x40 is 2. */
static void factors_of_8_bit_floats(void) {
  tilescope_device* device = NULL;
  EXPECT_OK(tilescope_device_open("cpu", &device));
  unsigned char of_a[4] = {0x38, 0x40, 0x40, 0x38}, of_b[4] = {0x38, 0x38, 0x40, 0x40};
  float of_c[4] = {0};
  const float rows[2] = {10, 0.5F}, all[1] = {2};
  tilescope_matrix a = tilescope_dense_matrix(of_a, TILESCOPE_FLOAT8_E4M3, 2, 2);
  tilescope_matrix b = tilescope_dense_matrix(of_b, TILESCOPE_FLOAT8_E4M3, 2, 2);
  tilescope_matrix c = tilescope_dense_matrix(of_c, TILESCOPE_FLOAT32, 2, 2);
  tilescope_gemm_options options = tilescope_gemm_defaults();
  options.precision = TILESCOPE_FP8_E4M3;
  options.scale_a = (tilescope_scales){rows, 2, 1};
  options.scale_b = (tilescope_scales){all, 1, 1};
  EXPECT_OK(tilescope_gemm(device, &a, &b, &c, &options, NULL));
  EXPECT(of_c[0] == 100 && of_c[1] == 100 && of_c[2] == 4 && of_c[3] == 4);
  options.scale_a.columns = 2;
  options.scale_a.rows = 1;
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, &options, NULL), TILESCOPE_USAGE,
               "the scales of A are 1 x 2");
  options.scale_a.rows = -1;
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, &options, NULL), TILESCOPE_USAGE,
               "scales have a shape of -1 x 2");
  tilescope_device_close(device);
}

static void mistakes(void) {
  tilescope_device* device = NULL;
  EXPECT_ERROR(tilescope_device_open("gpu", &device), TILESCOPE_USAGE, "no such device");
  EXPECT_ERROR(tilescope_device_open(NULL, &device), TILESCOPE_USAGE, "specification is NULL");
  EXPECT(device == NULL);
  EXPECT_OK(tilescope_device_open("cpu", &device));
  EXPECT(strcmp(tilescope_device_id(device), "cpu") == 0);
  EXPECT(tilescope_device_kind_of(device) == TILESCOPE_CPU);
  float x[12] = {0};
  tilescope_matrix a = tilescope_dense_matrix(x, TILESCOPE_FLOAT32, 2, 2);
  tilescope_matrix b = tilescope_dense_matrix(x + 4, TILESCOPE_FLOAT32, 2, 2);
  tilescope_matrix c = tilescope_dense_matrix(x + 8, TILESCOPE_FLOAT32, 2, 2);
  EXPECT_OK(tilescope_gemm(device, &a, &b, &c, NULL, NULL));
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &a, NULL, NULL), TILESCOPE_USAGE,
               "C shares memory with A");
  EXPECT_ERROR(tilescope_matmul(device, &a, &b, &b, NULL), TILESCOPE_USAGE,
               "C shares memory with B");
  tilescope_gemm_options with_bias = tilescope_gemm_defaults();
  with_bias.bias = x + 10;
  EXPECT_ERROR(tilescope_matmul(device, &a, &b, &c, &with_bias), TILESCOPE_USAGE,
               "C shares memory with the bias");
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, &with_bias, NULL), TILESCOPE_USAGE,
               "C shares memory with the bias");
  b.rows = 3;
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, NULL, NULL), TILESCOPE_USAGE, "3 x 2");
  b.rows = 2;
  b.type = (tilescope_type)77;
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, NULL, NULL), TILESCOPE_USAGE,
               "a type is 77: expected a value from 0 to 14");
  b.type = TILESCOPE_INT32;
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, NULL, NULL), TILESCOPE_USAGE, "B is int32");
  EXPECT_ERROR(tilescope_gemm(device, &a, NULL, &c, NULL, NULL), TILESCOPE_USAGE, "b is NULL");
  b.type = TILESCOPE_FLOAT32;
  tilescope_gemm_options options = tilescope_gemm_defaults();
  options.size = 4096;
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, &options, NULL), TILESCOPE_USAGE, "size is 4096");
  options.size = offsetof(tilescope_gemm_options, variant); /* as an older program has it */
  options.variant = (const char*)1;
  EXPECT_OK(tilescope_gemm(device, &a, &b, &c, &options, NULL));
  options = tilescope_gemm_defaults();
  options.variant = "general";
  EXPECT_ERROR(tilescope_gemm(device, &a, &b, &c, &options, NULL), TILESCOPE_USAGE,
               "does not run on the cpu device");
  tilescope_device_close(device);
  tilescope_device_close(NULL);
  tilescope_free(NULL, NULL);
}

int main(void) {
  const char* const devices[] = {"cpu", "emulated", "emulated:t4"};
  for (int i = 0; i < 3; ++i) {
    tilescope_device* device = NULL;
    EXPECT_OK(tilescope_device_open(devices[i], &device));
    if (device == NULL) continue;
    EXPECT(strlen(tilescope_device_name(device)) > 0);
    products_in_device_memory(device);
    products_in_host_memory(device);
    tilescope_device_close(device);
  }
  a_workspace_of_the_caller();
  factors_of_8_bit_floats();
  mistakes();
  EXPECT(strcmp(tilescope_status_name(TILESCOPE_USAGE), "usage") == 0);
  EXPECT(strlen(tilescope_version()) > 0);
  return failed_checks != 0;
}
