/* check, explain and run through the C interface: texts, PTX, rungs, and their mistakes. */
#include <stdlib.h>
#include <tilescope.h>

#include "expect.h"

static const char* const scale =
    "__global__ void scale(float* y, const float* x, float factor, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = factor * x[i];\n"
    "}\n";

static const char* const race =
    "#include <cstdio>\n"
    "__global__ void sums(int* x) {\n"
    "  __shared__ int s[64];\n"
    "  s[threadIdx.x] = x[threadIdx.x];\n"
    "  x[threadIdx.x] = s[63 - threadIdx.x];\n"
    "}\n";

/* y = factor * x in PTX. */
static const char* const scale_ptx =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry twice(.param .u64 y) {\n"
    "  .reg .b64 %rd<4>;\n  .reg .b32 %r<2>;\n  .reg .f32 %f<2>;\n"
    "  ld.param.u64 %rd1, [y];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd3, %rd1, %rd2;\n"
    "  ld.global.f32 %f1, [%rd3];\n"
    "  add.f32 %f1, %f1, %f1;\n"
    "  st.global.f32 [%rd3], %f1;\n"
    "  ret;\n}\n";

enum { n = 100 };

static tilescope_inspection* inspection_of(tilescope_target kind, const char* target,
                                           const char* grid, const char* block) {
  tilescope_inspection* inspection = NULL;
  EXPECT_OK(tilescope_inspection_create(kind, target, NULL, &inspection));
  EXPECT_OK(tilescope_inspection_set(inspection, "device", "emulated"));
  if (grid) EXPECT_OK(tilescope_inspection_set(inspection, "grid", grid));
  if (block) EXPECT_OK(tilescope_inspection_set(inspection, "block", block));
  return inspection;
}

static void a_run_writes_its_results_back(void) {
  float x[n], y[n] = {0}, seven = 7;
  int count = n;
  for (int i = 0; i < n; ++i) x[i] = (float)i;
  tilescope_inspection* inspection = inspection_of(TILESCOPE_CUDA_TEXT, scale, "2", "64");
  EXPECT_OK(tilescope_inspection_add_array(inspection, "y", TILESCOPE_FLOAT32, y, n, 1));
  EXPECT_OK(tilescope_inspection_add_array(inspection, "x", TILESCOPE_FLOAT32, x, n, 0));
  EXPECT_OK(tilescope_inspection_add_value(inspection, NULL, TILESCOPE_FLOAT32, &seven, 4));
  EXPECT_OK(tilescope_inspection_add_value(inspection, NULL, TILESCOPE_INT32, &count, 4));
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_run(inspection, &document));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != 7.0F * (float)i;
  EXPECT(wrong == 0);
  EXPECT(strstr(tilescope_document_json(document), "\"command\": \"run\"") != NULL);
  EXPECT(tilescope_document_exit_code(document) == 0);
  tilescope_document_destroy(document);
  tilescope_inspection_destroy(inspection);
}

static void ptx_runs(void) {
  float y[32];
  for (int i = 0; i < 32; ++i) y[i] = (float)i;
  tilescope_inspection* inspection = inspection_of(TILESCOPE_PTX_TEXT, scale_ptx, "1", "32");
  EXPECT_OK(tilescope_inspection_add_array(inspection, "y", TILESCOPE_FLOAT32, y, 32, 1));
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_run(inspection, &document));
  EXPECT(y[0] == 0 && y[31] == 62);
  tilescope_document_destroy(document);
  EXPECT_OK(tilescope_check(inspection, &document));
  EXPECT(tilescope_document_exit_code(document) == 0);
  tilescope_document_destroy(document);
  tilescope_inspection_destroy(inspection);
}

static void memory_is_used_in_place(void) {
  float y[48];
  for (int i = 0; i < 48; ++i) y[i] = (float)i;
  tilescope_inspection* inspection = inspection_of(TILESCOPE_PTX_TEXT, scale_ptx, "1", "32");
  EXPECT_OK(tilescope_inspection_add_memory(inspection, "y", TILESCOPE_FLOAT32, y, 32, 1));
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_check(inspection, &document));
  EXPECT(tilescope_document_exit_code(document) == 0);
  EXPECT(y[31] == 62 && y[32] == 32);
  tilescope_document_destroy(document);
  EXPECT_OK(tilescope_explain(inspection, &document));
  EXPECT(y[31] == 124);
  tilescope_document_destroy(document);
  EXPECT_OK(tilescope_inspection_set(inspection, "block", "40"));
  EXPECT_OK(tilescope_check(inspection, &document));
  EXPECT(strstr(tilescope_document_text(document), "y[32] misses y, which has 32 elements"));
  EXPECT(y[32] == 32);
  tilescope_document_destroy(document);
  tilescope_inspection_destroy(inspection);

  inspection = inspection_of(TILESCOPE_PTX_TEXT, scale_ptx, "1", "32");
  EXPECT_OK(tilescope_inspection_add_memory(inspection, NULL, TILESCOPE_FLOAT32, y, 32, 0));
  EXPECT_ERROR(tilescope_run(inspection, &document), TILESCOPE_USAGE, "memory is read-only");
  EXPECT_ERROR(tilescope_inspection_add_memory(inspection, NULL, TILESCOPE_FLOAT32, NULL, 1, 0),
               TILESCOPE_USAGE, "data is NULL");
  tilescope_inspection_destroy(inspection);
}

static void a_check_finds_a_race(void) {
  tilescope_inspection* inspection = inspection_of(TILESCOPE_CUDA_TEXT, race, "1", "64");
  EXPECT_OK(tilescope_inspection_add_argument(inspection, "x=i32[64]=iota"));
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_check(inspection, &document));
  EXPECT(strstr(tilescope_document_json(document), "race") != NULL);
  EXPECT(strstr(tilescope_document_text(document), "race at kernel.cu:4 and 5") != NULL);
  EXPECT(strstr(tilescope_document_html(document), "<html") != NULL);
  EXPECT(tilescope_document_exit_code(document) == 1);
  tilescope_document_destroy(document);
  tilescope_inspection_destroy(inspection);
}

static void a_rung_is_explained(void) {
  tilescope_inspection* inspection = inspection_of(TILESCOPE_RUNG, "matmul/tiled_16", NULL, NULL);
  EXPECT_OK(tilescope_inspection_set(inspection, "size", "32"));
  EXPECT_ERROR(tilescope_inspection_set(inspection, "program-argument", "1"), TILESCOPE_USAGE,
               "program-argument is an option of programs");
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_explain(inspection, &document));
  EXPECT(strstr(tilescope_document_json(document), "global_load_sectors") != NULL);
  EXPECT(tilescope_document_exit_code(document) == 0);
  EXPECT(strcmp(tilescope_document_printed(document), "") == 0);
  tilescope_document_destroy(document);
  tilescope_inspection_destroy(inspection);
}

static void a_check_stops_after_enough_findings(void) {
  static const char* const beside =
      "__global__ void k(int* x) {\n"
      "  x[64 + threadIdx.x] = 1;\n"
      "  x[128 + threadIdx.x] = 2;\n"
      "}\n";
  tilescope_inspection* inspection = inspection_of(TILESCOPE_CUDA_TEXT, beside, "1", "64");
  EXPECT_OK(tilescope_inspection_add_argument(inspection, "x=i32[64]=iota"));
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_check(inspection, &document));
  EXPECT(strstr(tilescope_document_text(document), "kernel.cu:3") != NULL);
  tilescope_document_destroy(document);
  EXPECT_OK(tilescope_inspection_set(inspection, "max-findings", "1"));
  EXPECT_OK(tilescope_check(inspection, &document));
  EXPECT(strstr(tilescope_document_text(document), "kernel.cu:2") != NULL);
  EXPECT(strstr(tilescope_document_text(document), "kernel.cu:3") == NULL);
  tilescope_document_destroy(document);
  tilescope_inspection_destroy(inspection);
}

static void some_blocks_are_counted(void) {
  tilescope_inspection* inspection = inspection_of(TILESCOPE_PTX_TEXT, scale_ptx, "40", "32");
  EXPECT_OK(tilescope_inspection_add_argument(inspection, "y=f32[32]=iota"));
  EXPECT_OK(tilescope_inspection_set(inspection, "blocks", "25%"));
  tilescope_document* document = NULL;
  EXPECT_OK(tilescope_explain(inspection, &document));
  EXPECT(strstr(tilescope_document_text(document), "~") != NULL);
  tilescope_document_destroy(document);
  EXPECT_ERROR(tilescope_inspection_set(inspection, "blocks", "few"), TILESCOPE_USAGE, "few");
  EXPECT_ERROR(tilescope_inspection_set(inspection, "launches", "0"), TILESCOPE_USAGE, "programs");
  EXPECT_ERROR(tilescope_inspection_set(inspection, "resume", "kept"), TILESCOPE_USAGE, "programs");
  tilescope_inspection_destroy(inspection);
}

static void mistakes(void) {
  tilescope_inspection* inspection = NULL;
  EXPECT_ERROR(tilescope_inspection_create((tilescope_target)9, scale, NULL, &inspection),
               TILESCOPE_USAGE, "kind of the target is 9");
  inspection = inspection_of(TILESCOPE_CUDA_TEXT, scale, NULL, "64");
  EXPECT_ERROR(tilescope_inspection_set(inspection, "gird", "1"), TILESCOPE_USAGE,
               "did you mean grid?");
  EXPECT_ERROR(tilescope_inspection_set(inspection, "shared", "much"), TILESCOPE_USAGE,
               "expected a whole number");
  EXPECT_ERROR(tilescope_inspection_add_argument(inspection, "f99:1"), TILESCOPE_USAGE, "f99");
  EXPECT_ERROR(tilescope_inspection_add_value(inspection, NULL, TILESCOPE_FLOAT64, "", 1),
               TILESCOPE_USAGE, "a value of 1 bytes cannot be float64");
  tilescope_document* document = NULL;
  EXPECT_ERROR(tilescope_run(inspection, &document), TILESCOPE_USAGE, "--grid");
  EXPECT_ERROR(tilescope_run(inspection, NULL), TILESCOPE_USAGE, "document is NULL");
  tilescope_inspection_destroy(inspection);
  inspection = inspection_of(TILESCOPE_CUDA_TEXT, "__global__ void f() { x = 1; }", "1", "1");
  EXPECT_ERROR(tilescope_check(inspection, &document), TILESCOPE_BAD_INPUT, "\"x\" is undefined");
  EXPECT(document == NULL);
  tilescope_inspection_destroy(inspection);
  tilescope_inspection_destroy(NULL);
  tilescope_document_destroy(NULL);
}

int main(void) {
  a_run_writes_its_results_back();
  ptx_runs();
  memory_is_used_in_place();
  a_check_finds_a_race();
  a_rung_is_explained();
  a_check_stops_after_enough_findings();
  some_blocks_are_counted();
  mistakes();
  return failed_checks != 0;
}
