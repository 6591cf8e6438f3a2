/* Tilescope for C, and for every language that can call C: products of matrices, the companion
 * operations, and check, explain and run of kernels. Link with libtilescope.so.
 *
 *     tilescope_device* gpu;
 *     if (tilescope_device_open("auto", &gpu) != TILESCOPE_OK) {
 *       fprintf(stderr, "%s\n", tilescope_last_error());
 *     }
 *     tilescope_matrix a = tilescope_dense_matrix(x, TILESCOPE_FLOAT32, m, k);  // device memory
 *     ...
 *     tilescope_gemm(gpu, &a, &b, &c, NULL, stream);  // a cudaStream_t or CUstream
 *
 * Errors. Functions that can fail return a tilescope_status and leave their results unset;
 * tilescope_last_error() is one line: which thing, which rule, which value, what to do.
 *
 * Threads. Every function may be called from any thread. One handle is used by one thread at a time,
 * except a tilescope_device, tilescope_gemm_launch() and tilescope_operation_launch(), which any
 * number of threads may use.
 *
 * Memory. What a function creates, the caller releases with the function that is named there;
 * releasing NULL does nothing. Texts that a handle returns live as long as the handle. A handle
 * keeps what it needs of other handles alive. Sizes are in bytes unless the name says elements. */
#ifndef TILESCOPE_H
#define TILESCOPE_H

#include <stddef.h>
#include <stdint.h>

/* In C an enumeration may hold any int. In C++ it may with this, so that a wrong value is an error of
 * the call in both. */
#ifdef __cplusplus
#define TILESCOPE_INT : int
extern "C" {
#else
#define TILESCOPE_INT
#endif

/* --- status -----------------------------------------------------------------------------------*/

/* The kinds of failure; the first five are the exit codes of the command. */
typedef enum tilescope_status TILESCOPE_INT {
  TILESCOPE_OK = 0,
  TILESCOPE_WRONG_RESULT = 1, /* a kernel failed, or a result is wrong */
  TILESCOPE_USAGE = 2,        /* arguments that contradict each other or a documented limit */
  TILESCOPE_NO_DEVICE = 3,    /* no device, driver, compiler or memory that can do the work */
  TILESCOPE_BAD_INPUT = 4,    /* a file or a source that is missing, damaged or not supported */
  TILESCOPE_INTERNAL = 5      /* a defect of the library: please report it */
} tilescope_status;

/* "ok", "wrong_result", "usage", "no_device", "bad_input", "internal". */
const char* tilescope_status_name(tilescope_status status);
/* One line about the calling thread's last call that failed; "" if none has. It lives until that
 * thread's next call that fails. */
const char* tilescope_last_error(void);
/* Such as "0.1.0". */
const char* tilescope_version(void);

/* --- devices ----------------------------------------------------------------------------------*/

typedef struct tilescope_device tilescope_device;

typedef enum tilescope_device_kind TILESCOPE_INT {
  TILESCOPE_CUDA = 0,     /* addresses are device pointers, streams are CUstream (cudaStream_t) */
  TILESCOPE_EMULATED = 1, /* addresses and streams are those of the functions below */
  TILESCOPE_CPU = 2       /* addresses are host pointers; streams do nothing */
} tilescope_device_kind;

/* Opens "auto" (a GPU if there is one, else the CPU), "cuda", "cuda:N", "emulated", "emulated:GPU"
 * or "cpu". A GPU is used through its primary context, which is that of the CUDA run time. Release:
 * tilescope_device_close(). */
tilescope_status tilescope_device_open(const char* specification, tilescope_device** device);
void tilescope_device_close(tilescope_device* device);
/* The specification that opens this device again, such as "cuda:0". */
const char* tilescope_device_id(const tilescope_device* device);
/* Such as "NVIDIA H200". */
const char* tilescope_device_name(const tilescope_device* device);
tilescope_device_kind tilescope_device_kind_of(const tilescope_device* device);

/* Memory of the device, freed by tilescope_free(). Programs that allocate GPU memory otherwise pass
 * that. 0 bytes are allowed. */
tilescope_status tilescope_allocate(tilescope_device* device, size_t bytes, void** address);
void tilescope_free(tilescope_device* device, void* address);
/* Return when the copy has happened. */
tilescope_status tilescope_copy_to_device(tilescope_device* device, void* to, const void* from,
                                          size_t bytes);
tilescope_status tilescope_copy_to_host(tilescope_device* device, void* to, const void* from,
                                        size_t bytes);
/* A stream of the device; on a GPU a CUstream. Release: tilescope_stream_destroy(). */
tilescope_status tilescope_stream_create(tilescope_device* device, void** stream);
void tilescope_stream_destroy(tilescope_device* device, void* stream);
/* Waits for the stream's work; NULL is the default stream. */
tilescope_status tilescope_stream_synchronize(tilescope_device* device, void* stream);

/* --- matrices ---------------------------------------------------------------------------------*/

typedef enum tilescope_type TILESCOPE_INT {
  TILESCOPE_FLOAT16 = 0,
  TILESCOPE_BFLOAT16 = 1,
  TILESCOPE_FLOAT32 = 2,
  TILESCOPE_FLOAT64 = 3,
  TILESCOPE_INT8 = 4,
  TILESCOPE_INT16 = 5,
  TILESCOPE_INT32 = 6,
  TILESCOPE_INT64 = 7,
  TILESCOPE_UINT8 = 8,
  TILESCOPE_UINT16 = 9,
  TILESCOPE_UINT32 = 10,
  TILESCOPE_UINT64 = 11,
  TILESCOPE_BOOL = 12,
  TILESCOPE_FLOAT8_E4M3 = 13, /* for A and B alone */
  TILESCOPE_FLOAT8_E5M2 = 14
} tilescope_type;

typedef enum tilescope_order TILESCOPE_INT {
  TILESCOPE_ROW_MAJOR = 0,   /* element (i, j) at i * leading + j */
  TILESCOPE_COLUMN_MAJOR = 1 /* element (i, j) at i + j * leading: a transposed row-major matrix */
} tilescope_order;

/* A matrix, or a batch of `count` matrices of one shape that begin `stride` elements apart (0: the
 * same matrix every time; not for C). */
typedef struct tilescope_matrix {
  void* data; /* not written through for A and B */
  tilescope_type type;
  tilescope_order order;
  int64_t rows, columns;
  int64_t leading; /* elements between rows (row-major) or columns (column-major) */
  int64_t count;   /* 1: a single matrix */
  int64_t stride;
} tilescope_matrix;

/* A single row-major matrix without gaps. */
tilescope_matrix tilescope_dense_matrix(void* data, tilescope_type type, int64_t rows,
                                        int64_t columns);

/* --- matrix products --------------------------------------------------------------------------*/

typedef enum tilescope_precision TILESCOPE_INT {
  /* fp64 if A, B or C is float64, an 8-bit type's own if A and B have it, else fp32 */
  TILESCOPE_PRECISION_AUTO = 0,
  TILESCOPE_FP32 = 1,
  TILESCOPE_FP32_FAST = 2, /* tensor cores; errors no larger than those of fp32 */
  TILESCOPE_TF32 = 3,
  TILESCOPE_BF16 = 4,
  TILESCOPE_FP16 = 5,
  TILESCOPE_FP64 = 6,
  TILESCOPE_FP8_E4M3 = 7, /* A and B of TILESCOPE_FLOAT8_E4M3, times scale_a and scale_b */
  TILESCOPE_FP8_E5M2 = 8,
  TILESCOPE_PRECISION_INT8 = 9 /* A and B int8, C int32: the product alone */
} tilescope_precision;

typedef enum tilescope_activation TILESCOPE_INT {
  TILESCOPE_NO_ACTIVATION = 0,
  TILESCOPE_RELU = 1, /* max(x, 0); NaN stays NaN */
  TILESCOPE_GELU = 2  /* x/2 (1 + erf(x / sqrt(2))) */
} tilescope_activation;

/* Factors of the elements of A or B in 8-bit floats: a dense row-major matrix of float32, where the
 * operands lie. 1 x 1: of the matrix; m x 1 (of B 1 x n): of each row of A and each column of B;
 * m x ceil(k / 128) (of B ceil(k / 128) x ceil(n / 128)): of each 128 of k, of B also by 128
 * columns. NULL: none. */
typedef struct tilescope_scales {
  const float* values;
  int64_t rows, columns;
} tilescope_scales;

/* C = activation(alpha * A * B + beta * C + bias). Begin with tilescope_gemm_defaults(), so that
 * members of later versions have their defaults. */
typedef struct tilescope_gemm_options {
  size_t size; /* of this structure, as the caller was compiled with it */
  tilescope_precision precision;
  tilescope_activation activation;
  double alpha, beta;     /* with beta 0, C is not read */
  const float* bias;      /* a float32 for each column of C, where the operands lie; NULL: none */
  const char* variant;    /* a kernel; NULL: the device's best */
  void* workspace;        /* device memory at a multiple of 256; NULL: the library allocates */
  size_t workspace_bytes; /* at least tilescope_gemm_workspace_bytes() */
  tilescope_scales scale_a, scale_b; /* of single products of 8-bit floats */
} tilescope_gemm_options;

/* alpha 1, beta 0 and nothing else. */
tilescope_gemm_options tilescope_gemm_defaults(void);

/* Queues a product of matrices in the device's memory on the caller's stream. `options` may be NULL.
 * The first call with its shapes, types, layouts, options and stream prepares the product, which may
 * compile, allocate and wait, and keeps it with the device; every other call only queues kernels.
 * `workspace` is not used.
 * Fails with TILESCOPE_USAGE for matrices that do not fit each other, or a C that shares memory with
 * A, B or the bias. */
tilescope_status tilescope_gemm(tilescope_device* device, const tilescope_matrix* a,
                                const tilescope_matrix* b, const tilescope_matrix* c,
                                const tilescope_gemm_options* options, void* stream);

/* `count` products of any shapes in one launch, as tilescope_gemm_prepare_list() takes them. Lists
 * that are new to the device are prepared, which waits for a copy of their table. */
tilescope_status tilescope_gemm_list(tilescope_device* device, const tilescope_matrix* a,
                                     const tilescope_matrix* b, const tilescope_matrix* c,
                                     size_t count, const tilescope_gemm_options* options,
                                     void* stream);

/* The same as tilescope_gemm() for matrices and a bias in host memory; returns when C is there. */
tilescope_status tilescope_matmul(tilescope_device* device, const tilescope_matrix* a,
                                  const tilescope_matrix* b, const tilescope_matrix* c,
                                  const tilescope_gemm_options* options);

/* A product in device memory that is ready to run. */
typedef struct tilescope_gemm_plan tilescope_gemm_plan;

/* The workspace that tilescope_gemm_prepare() needs; 0: none. Compiles nothing. */
tilescope_status tilescope_gemm_workspace_bytes(tilescope_device* device,
                                                const tilescope_matrix* a,
                                                const tilescope_matrix* b,
                                                const tilescope_matrix* c,
                                                const tilescope_gemm_options* options,
                                                size_t* bytes);
/* Chooses and compiles the kernels and allocates what they need. Release:
 * tilescope_gemm_destroy(), after the work that it queued and the graphs that captured it. */
tilescope_status tilescope_gemm_prepare(tilescope_device* device, const tilescope_matrix* a,
                                        const tilescope_matrix* b, const tilescope_matrix* c,
                                        const tilescope_gemm_options* options,
                                        tilescope_gemm_plan** plan);
/* `count` products of matrices of any shapes and orders at any addresses, in one launch: lists of
 * single matrices. All A have one type, and so have all B and all C; a bias belongs to every product
 * and needs matrices of C with as many columns and one order. */
tilescope_status tilescope_gemm_prepare_list(tilescope_device* device, const tilescope_matrix* a,
                                             const tilescope_matrix* b, const tilescope_matrix* c,
                                             size_t count, const tilescope_gemm_options* options,
                                             tilescope_gemm_plan** plan);
/* Only queues kernels, so it may be captured in a CUDA graph. Launches that may overlap on the
 * device need a plan each unless the plan needs no workspace. */
tilescope_status tilescope_gemm_launch(const tilescope_gemm_plan* plan, void* stream);
/* Other matrices of the same shapes, types and layouts from the next launch on; the last four bits
 * of their addresses must be those of the matrices that they replace. */
tilescope_status tilescope_gemm_set_operands(tilescope_gemm_plan* plan, const void* a,
                                             const void* b, void* c, const float* bias);
/* The kernel that was chosen, and a remark; "" if there is none. */
const char* tilescope_gemm_variant(const tilescope_gemm_plan* plan);
const char* tilescope_gemm_note(const tilescope_gemm_plan* plan);
void tilescope_gemm_destroy(tilescope_gemm_plan* plan);

/* --- companion operations ---------------------------------------------------------------------*/

/* An operation on lists in the device's memory (on the CPU device: host memory), ready to run. The
 * lists begin at multiples of 16 bytes, and a result shares no memory with an input. `variant` is a
 * rung of the operation's ladder; NULL: the device's best. */
typedef struct tilescope_operation tilescope_operation;

typedef enum tilescope_reduction TILESCOPE_INT {
  TILESCOPE_SUM = 0, /* of float32 and float64 a float64, of int32 an int64 */
  TILESCOPE_MIN = 1, /* in the type of the elements */
  TILESCOPE_MAX = 2,
  TILESCOPE_ARGMAX = 3 /* an int64 */
} tilescope_reduction;

/* y = a * x + b for float32 or float64. Release of these: tilescope_operation_destroy(). */
tilescope_status tilescope_saxpb_prepare(tilescope_device* device, tilescope_type type,
                                         size_t elements, double a, const void* x, double b,
                                         void* y, const char* variant,
                                         tilescope_operation** operation);
/* c = a + b for float32 or float64. */
tilescope_status tilescope_vector_add_prepare(tilescope_device* device, tilescope_type type,
                                              size_t elements, const void* a, const void* b,
                                              void* c, const char* variant,
                                              tilescope_operation** operation);
/* out = factor * in, dense, float32 or float64. */
tilescope_status tilescope_scale_prepare(tilescope_device* device, double factor,
                                         const tilescope_matrix* in, const tilescope_matrix* out,
                                         const char* variant, tilescope_operation** operation);
/* y[i] = x[elements - 1 - i], of any type. */
tilescope_status tilescope_reverse_prepare(tilescope_device* device, tilescope_type type,
                                           size_t elements, const void* x, void* y,
                                           const char* variant, tilescope_operation** operation);
/* out(j, i) = in(i, j), dense, of any type and one order. */
tilescope_status tilescope_transpose_prepare(tilescope_device* device, const tilescope_matrix* in,
                                             const tilescope_matrix* out, const char* variant,
                                             tilescope_operation** operation);
/* The mean of each sample's box of 2 radius + 1 pixels a side, cut at the edges. */
tilescope_status tilescope_blur_prepare(tilescope_device* device, const uint8_t* in, uint8_t* out,
                                        int64_t height, int64_t width, int channels, int radius,
                                        const char* variant, tilescope_operation** operation);
/* `iterations` steps out = center * in + side * (sum of the four neighbours), zero outside. */
tilescope_status tilescope_laplacian_prepare(tilescope_device* device, const tilescope_matrix* in,
                                             const tilescope_matrix* out, int64_t iterations,
                                             double center, double side, const char* variant,
                                             tilescope_operation** operation);
/* How many elements fall into each of `bins` bins of [lower, upper); of floating-point elements
 * `upper` itself too. Counts are uint32, or uint64 for 2^32 elements and more. */
tilescope_status tilescope_histogram_prepare(tilescope_device* device, tilescope_type type,
                                             size_t elements, const void* x, int64_t bins,
                                             double lower, double upper, void* counts,
                                             const char* variant,
                                             tilescope_operation** operation);
/* One value of a list of float32, float64 or int32. */
tilescope_status tilescope_reduce_prepare(tilescope_device* device, tilescope_type type,
                                          size_t elements, const void* x,
                                          tilescope_reduction reduction, void* result,
                                          const char* variant, tilescope_operation** operation);

/* Only queues kernels, so it may be captured in a CUDA graph. Launches that may overlap on the
 * device need an operation each. */
tilescope_status tilescope_operation_launch(const tilescope_operation* operation, void* stream);
/* The rung that was chosen. */
const char* tilescope_operation_variant(const tilescope_operation* operation);
void tilescope_operation_destroy(tilescope_operation* operation);

/* --- check, explain, run ----------------------------------------------------------------------*/

/* A kernel or a program with its launch, and how to look at it. */
typedef struct tilescope_inspection tilescope_inspection;

typedef enum tilescope_target TILESCOPE_INT {
  TILESCOPE_CUDA_TEXT = 0, /* CUDA C++ source; host code in it is set aside */
  TILESCOPE_PTX_TEXT = 1,
  TILESCOPE_FILE = 2,   /* the path of a .cu, .cuh or .ptx file with a kernel */
  TILESCOPE_RUNG = 3,   /* one of Tilescope's kernels with its data, such as "matmul/tiled_16" */
  TILESCOPE_PROGRAM = 4 /* the path of a .cu with a main(), an executable or a script */
} tilescope_target;

/* `name` stands for a text in places and messages; NULL: "kernel.cu". Release:
 * tilescope_inspection_destroy(). */
tilescope_status tilescope_inspection_create(tilescope_target kind, const char* target,
                                             const char* name, tilescope_inspection** inspection);
void tilescope_inspection_destroy(tilescope_inspection* inspection);

/* Sets one option, as the command line spells it:
 *   kernel NAME, grid X[,Y[,Z]], block X[,Y[,Z]], cluster X[,Y[,Z]], shared BYTES, cooperative 1,
 *   define NAME=VALUE, include DIR, constant NAME=TYPE[COUNT]=INIT, guessed NAME,
 *   launch-file FILE.json, program-argument TEXT, compiler-option TEXT,
 *   device DEVICE, max-instructions N, schedules N, schedule SEED, max-findings N, blocks SAMPLE
 *   (of explain), launches LIST and resume FILE (of a program), size N (of a rung), tile N.
 * define, include, constant, guessed, program-argument and compiler-option may be given again. */
tilescope_status tilescope_inspection_set(tilescope_inspection* inspection, const char* option,
                                          const char* value);

/* The kernel's next argument, by its text, such as "f32:2.5" or "x=f32[1024]=iota". */
tilescope_status tilescope_inspection_add_argument(tilescope_inspection* inspection,
                                                   const char* text);
/* By its bytes: a number of `type`, or, with TILESCOPE_UINT8, a structure of so many bytes as the
 * kernel declares it. `name` may be NULL. */
tilescope_status tilescope_inspection_add_value(tilescope_inspection* inspection, const char* name,
                                                tilescope_type type, const void* value,
                                                size_t bytes);
/* An array in device memory whose address is passed. Its elements are read from `data` now; with
 * `is_result`, tilescope_run() writes them back there, so `data` must live until then. */
tilescope_status tilescope_inspection_add_array(tilescope_inspection* inspection, const char* name,
                                                tilescope_type type, void* data, size_t elements,
                                                int is_result);
/* Memory of the caller as an array that kernels use in place, for emulations of other frameworks:
 * after check, explain or run it holds the results. An access beside it is reported by its name.
 * Without `is_writable`, a kernel that writes it is an error (TILESCOPE_USAGE) of that call. `data`
 * must live until the last one. */
tilescope_status tilescope_inspection_add_memory(tilescope_inspection* inspection, const char* name,
                                                 tilescope_type type, void* data, size_t elements,
                                                 int is_writable);
/* Ends a run of this inspection soon, from any thread. */
void tilescope_inspection_cancel(tilescope_inspection* inspection);

/* A result, as the command shows it. */
typedef struct tilescope_document tilescope_document;

/* Runs the kernel or the program and reports its defects; what a profiler would count; or its
 * arrays. Defects are no failure: the document has them. Release: tilescope_document_destroy(). */
tilescope_status tilescope_check(tilescope_inspection* inspection, tilescope_document** document);
tilescope_status tilescope_explain(tilescope_inspection* inspection,
                                   tilescope_document** document);
tilescope_status tilescope_run(tilescope_inspection* inspection, tilescope_document** document);

/* The document of the command's --json. */
const char* tilescope_document_json(const tilescope_document* document);
/* The page as text of 80 columns, and as a page of HTML. */
const char* tilescope_document_text(const tilescope_document* document);
const char* tilescope_document_html(const tilescope_document* document);
/* The text that emulated kernels printed. */
const char* tilescope_document_printed(const tilescope_document* document);
/* The command's exit code for it: 0, or 1 for defects and wrong results; a program's own. */
int tilescope_document_exit_code(const tilescope_document* document);
void tilescope_document_destroy(tilescope_document* document);

#ifdef __cplusplus
}
#endif

#endif
