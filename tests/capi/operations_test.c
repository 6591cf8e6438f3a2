/* Companion operations on lists in device memory through the C interface. */
#include <stdlib.h>
#include <tilescope.h>

#include "expect.h"

enum { rows = 24, columns = 40, count = rows * columns };

typedef struct {
  tilescope_device* device;
  float host[count], result[count];
  void *x, *y;
} Lists;

/* Launches twice, then reads `bytes` of the result. */
static void finish(Lists* lists, tilescope_operation* operation, size_t bytes) {
  EXPECT(strlen(tilescope_operation_variant(operation)) > 0);
  EXPECT_OK(tilescope_operation_launch(operation, NULL));
  EXPECT_OK(tilescope_operation_launch(operation, NULL));
  EXPECT_OK(tilescope_stream_synchronize(lists->device, NULL));
  EXPECT_OK(tilescope_copy_to_host(lists->device, lists->result, lists->y, bytes));
  tilescope_operation_destroy(operation);
}

static void element_by_element(Lists* lists) {
  tilescope_operation* operation = NULL;
  int wrong = 0;
  EXPECT_OK(tilescope_saxpb_prepare(lists->device, TILESCOPE_FLOAT32, count, 2, lists->x, 1,
                                    lists->y, NULL, &operation));
  finish(lists, operation, sizeof lists->result);
  for (int i = 0; i < count; ++i) wrong += lists->result[i] != 2 * lists->host[i] + 1;
  EXPECT_OK(tilescope_vector_add_prepare(lists->device, TILESCOPE_FLOAT32, count, lists->x,
                                         lists->x, lists->y, NULL, &operation));
  finish(lists, operation, sizeof lists->result);
  for (int i = 0; i < count; ++i) wrong += lists->result[i] != 2 * lists->host[i];
  EXPECT_OK(tilescope_reverse_prepare(lists->device, TILESCOPE_FLOAT32, count, lists->x, lists->y,
                                      NULL, &operation));
  finish(lists, operation, sizeof lists->result);
  for (int i = 0; i < count; ++i) wrong += lists->result[i] != lists->host[count - 1 - i];
  EXPECT(wrong == 0);
}

static void matrices(Lists* lists) {
  const tilescope_matrix in = tilescope_dense_matrix(lists->x, TILESCOPE_FLOAT32, rows, columns);
  const tilescope_matrix out = tilescope_dense_matrix(lists->y, TILESCOPE_FLOAT32, rows, columns);
  const tilescope_matrix turned =
      tilescope_dense_matrix(lists->y, TILESCOPE_FLOAT32, columns, rows);
  tilescope_operation* operation = NULL;
  int wrong = 0;
  EXPECT_OK(tilescope_scale_prepare(lists->device, 3, &in, &out, NULL, &operation));
  finish(lists, operation, sizeof lists->result);
  for (int i = 0; i < count; ++i) wrong += lists->result[i] != 3 * lists->host[i];
  EXPECT_OK(tilescope_transpose_prepare(lists->device, &in, &turned, NULL, &operation));
  finish(lists, operation, sizeof lists->result);
  for (int i = 0; i < count; ++i) {
    wrong += lists->result[i % columns * rows + i / columns] != lists->host[i];
  }
  EXPECT_OK(tilescope_laplacian_prepare(lists->device, &in, &out, 1, -4, 1, NULL, &operation));
  finish(lists, operation, sizeof lists->result);
  const float* const middle = lists->host + 5 * columns + 7;
  wrong += lists->result[5 * columns + 7] !=
           middle[-columns] + middle[columns] + middle[-1] + middle[1] - 4 * *middle;
  EXPECT(wrong == 0);
  EXPECT_ERROR(tilescope_scale_prepare(lists->device, 3, &in, &in, NULL, &operation),
               TILESCOPE_USAGE, "shares memory with an input");
  EXPECT_ERROR(tilescope_transpose_prepare(lists->device, &in, &out, NULL, &operation),
               TILESCOPE_USAGE, "transpose");
}

static void of_lists(Lists* lists) {
  tilescope_operation* operation = NULL;
  EXPECT_OK(tilescope_reduce_prepare(lists->device, TILESCOPE_FLOAT32, count, lists->x,
                                     TILESCOPE_SUM, lists->y, NULL, &operation));
  finish(lists, operation, sizeof(double));
  double sum = 0, expected = 0;
  memcpy(&sum, lists->result, sizeof sum);
  for (int i = 0; i < count; ++i) expected += lists->host[i];
  EXPECT(sum == expected);
  EXPECT_OK(tilescope_histogram_prepare(lists->device, TILESCOPE_FLOAT32, count, lists->x, 4, -8, 8,
                                        lists->y, NULL, &operation));
  finish(lists, operation, 4 * sizeof(uint32_t));
  uint32_t counts[4], total[4] = {0};
  memcpy(counts, lists->result, sizeof counts);
  for (int i = 0; i < count; ++i) ++total[((int)lists->host[i] + 8) / 4];
  EXPECT(memcmp(counts, total, sizeof counts) == 0);
  EXPECT_OK(tilescope_blur_prepare(lists->device, lists->x, lists->y, rows, columns, 1, 0, NULL,
                                   &operation));
  finish(lists, operation, count);
  EXPECT(memcmp(lists->result, lists->host, count) == 0); /* a box of one pixel */
  EXPECT_ERROR(tilescope_reduce_prepare(lists->device, TILESCOPE_FLOAT32, count, lists->x,
                                        (tilescope_reduction)9, lists->y, NULL, &operation),
               TILESCOPE_USAGE, "the reduction is 9");
  EXPECT_ERROR(tilescope_reduce_prepare(lists->device, TILESCOPE_FLOAT32, count, lists->x,
                                        TILESCOPE_SUM, lists->y, "fastest", &operation),
               TILESCOPE_USAGE, "no variant \"fastest\"");
}

/* Memory that is not there is a mistake of the call that names it, not a crash of the launch. */
static void missing_memory(Lists* lists) {
  tilescope_operation* operation = NULL;
  tilescope_device* const on = lists->device;
  void* const y = lists->y;
  EXPECT_ERROR(tilescope_saxpb_prepare(on, TILESCOPE_FLOAT32, count, 2, NULL, 1, y, NULL,
                                       &operation),
               TILESCOPE_USAGE, "x is NULL");
  EXPECT_ERROR(tilescope_vector_add_prepare(on, TILESCOPE_FLOAT32, count, lists->x, NULL, y, NULL,
                                            &operation),
               TILESCOPE_USAGE, "b is NULL");
  EXPECT_ERROR(tilescope_reverse_prepare(on, TILESCOPE_FLOAT32, count, lists->x, NULL, NULL,
                                         &operation),
               TILESCOPE_USAGE, "y is NULL");
  EXPECT_ERROR(tilescope_blur_prepare(on, NULL, y, rows, columns, 1, 0, NULL, &operation),
               TILESCOPE_USAGE, "in is NULL");
  EXPECT_ERROR(tilescope_histogram_prepare(on, TILESCOPE_FLOAT32, count, lists->x, 4, -8, 8, NULL,
                                           NULL, &operation),
               TILESCOPE_USAGE, "counts is NULL");
  EXPECT_ERROR(tilescope_reduce_prepare(on, TILESCOPE_FLOAT32, count, lists->x, TILESCOPE_SUM,
                                        NULL, NULL, &operation),
               TILESCOPE_USAGE, "result is NULL");
  EXPECT(operation == NULL);
  EXPECT_OK(tilescope_saxpb_prepare(on, TILESCOPE_FLOAT32, 0, 2, NULL, 1, NULL, NULL, &operation));
  EXPECT_OK(tilescope_operation_launch(operation, NULL));
  tilescope_operation_destroy(operation);
  EXPECT_ERROR(tilescope_copy_to_device(on, lists->x, NULL, 4), TILESCOPE_USAGE, "from is NULL");
  EXPECT_ERROR(tilescope_copy_to_device(on, NULL, lists->host, 4), TILESCOPE_USAGE, "to is NULL");
  EXPECT_ERROR(tilescope_copy_to_host(on, NULL, lists->x, 4), TILESCOPE_USAGE, "to is NULL");
  EXPECT_ERROR(tilescope_copy_to_host(on, lists->host, NULL, 4), TILESCOPE_USAGE, "from is NULL");
  EXPECT_OK(tilescope_copy_to_device(on, NULL, NULL, 0));
}

int main(void) {
  const char* const devices[] = {"cpu", "emulated"};
  for (int i = 0; i < 2; ++i) {
    Lists* const lists = malloc(sizeof *lists);
    for (int j = 0; j < count; ++j) lists->host[j] = (float)(j * 7 % 16 - 8);
    EXPECT_OK(tilescope_device_open(devices[i], &lists->device));
    EXPECT_OK(tilescope_allocate(lists->device, sizeof lists->host, &lists->x));
    EXPECT_OK(tilescope_allocate(lists->device, sizeof lists->host, &lists->y));
    EXPECT_OK(
        tilescope_copy_to_device(lists->device, lists->x, lists->host, sizeof lists->host));
    element_by_element(lists);
    matrices(lists);
    of_lists(lists);
    missing_memory(lists);
    tilescope_device_close(lists->device);
    free(lists);
  }
  return failed_checks != 0;
}
