#include <cstring>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "capi/handles.hpp"
#include "capi/status.hpp"

using namespace tilescope;
using namespace tilescope::capi;

struct tilescope_gemm_plan {
  PreparedGemm product;
};

namespace {

ConstMatrixBatch batch_of(const tilescope_matrix* matrix, const char* name) {
  return {.first = view_of(matrix, name), .count = matrix->count, .stride = matrix->stride};
}

OperandScales scales_of(const tilescope_scales& given) {
  if (given.values == nullptr) return {};
  if (given.rows < 1 || given.columns < 1) {
    throw usage_error("scales have a shape of {} x {}: both must be positive", given.rows,
                      given.columns);
  }
  return {{given.values, static_cast<std::size_t>(given.rows * given.columns)},
          given.rows,
          given.columns};
}

/// A call's matrices and options in C++.
struct GemmCall {
  ConstMatrixBatch a, b;
  MatrixBatch c;
  MatmulOptions options;
  GemmWorkspace workspace;

  GemmCall(const tilescope_matrix* a_given, const tilescope_matrix* b_given,
           const tilescope_matrix* c_given, const tilescope_gemm_options* given)
      : a(batch_of(a_given, "a")), b(batch_of(b_given, "b")) {
    const ConstMatrixBatch of_c = batch_of(c_given, "c");
    c = {{of_c.first}, of_c.count, of_c.stride};
    const tilescope_gemm_options o = complete(given);
    options = {
        .variant = o.variant ? o.variant : "",
        .precision =
            value_of<Precision>(o.precision, TILESCOPE_PRECISION_INT8 + 1, "the precision"),
        .alpha = o.alpha,
        .beta = o.beta,
        .bias = {o.bias, o.bias ? static_cast<std::size_t>(of_c.first.columns) : 0},
        .activation = value_of<Activation>(o.activation, TILESCOPE_GELU + 1, "the activation"),
        .scale_a = scales_of(o.scale_a),
        .scale_b = scales_of(o.scale_b)};
    workspace = {o.workspace, o.workspace_bytes};
  }

  // Members that the caller's version of the structure lacks have their defaults.
  static tilescope_gemm_options complete(const tilescope_gemm_options* given) {
    tilescope_gemm_options options = tilescope_gemm_defaults();
    if (given == nullptr) return options;
    if (given->size < sizeof given->size || given->size > sizeof options) {
      throw usage_error(
          "tilescope_gemm_options::size is {}, and the library's at most {}: begin "
          "with tilescope_gemm_defaults()",
          given->size, sizeof options);
    }
    std::memcpy(&options, given, given->size);
    return options;
  }
};

/// The matrices of a call of lists, and its options.
struct ListCall {
  std::vector<ConstMatrixView> a, b;
  std::vector<MatrixView> c;
  MatmulOptions options;
  GemmWorkspace workspace;

  ListCall(const tilescope_matrix* a_given, const tilescope_matrix* b_given,
           const tilescope_matrix* c_given, std::size_t count,
           const tilescope_gemm_options* given) {
    if (count == 0) throw usage_error("count is 0: lists have at least one product");
    const GemmCall first(a_given, b_given, c_given, given);
    options = first.options;
    workspace = first.workspace;
    for (std::size_t i = 0; i < count; ++i) {
      a.push_back(batch_of(a_given + i, "a").first);
      b.push_back(batch_of(b_given + i, "b").first);
      c.push_back({batch_of(c_given + i, "c").first});
    }
  }
};

}  // namespace

extern "C" {

tilescope_matrix tilescope_dense_matrix(void* data, tilescope_type type, int64_t rows,
                                        int64_t columns) {
  return {.data = data,
          .type = type,
          .order = TILESCOPE_ROW_MAJOR,
          .rows = rows,
          .columns = columns,
          .leading = columns,
          .count = 1,
          .stride = 0};
}

tilescope_gemm_options tilescope_gemm_defaults() {
  return {.size = sizeof(tilescope_gemm_options),
          .precision = TILESCOPE_PRECISION_AUTO,
          .activation = TILESCOPE_NO_ACTIVATION,
          .alpha = 1.0,
          .beta = 0.0,
          .bias = nullptr,
          .variant = nullptr,
          .workspace = nullptr,
          .workspace_bytes = 0,
          .scale_a = {},
          .scale_b = {}};
}

tilescope_status tilescope_gemm(tilescope_device* device, const tilescope_matrix* a,
                                const tilescope_matrix* b, const tilescope_matrix* c,
                                const tilescope_gemm_options* options, void* stream) {
  return guarded([&] {
    require(device, "device");
    const GemmCall call(a, b, c, options);
    device->gemm(call.a, call.b, call.c, call.options, stream_of(stream));
  });
}

tilescope_status tilescope_gemm_list(tilescope_device* device, const tilescope_matrix* a,
                                     const tilescope_matrix* b, const tilescope_matrix* c,
                                     size_t count, const tilescope_gemm_options* options,
                                     void* stream) {
  return guarded([&] {
    require(device, "device");
    const ListCall call(a, b, c, count, options);
    device->gemm(call.a, call.b, call.c, call.options, stream_of(stream));
  });
}

tilescope_status tilescope_matmul(tilescope_device* device, const tilescope_matrix* a,
                                  const tilescope_matrix* b, const tilescope_matrix* c,
                                  const tilescope_gemm_options* options) {
  return guarded([&] {
    require(device, "device");
    const GemmCall call(a, b, c, options);
    matmul_batched(*device->device, call.a, call.b, call.c, call.options);
  });
}

tilescope_status tilescope_gemm_workspace_bytes(tilescope_device* device, const tilescope_matrix* a,
                                                const tilescope_matrix* b,
                                                const tilescope_matrix* c,
                                                const tilescope_gemm_options* options,
                                                size_t* bytes) {
  return guarded([&] {
    require(device, "device");
    require(bytes, "bytes");
    const GemmCall call(a, b, c, options);
    *bytes = gemm_workspace_bytes(*device->device, call.a, call.b, call.c, call.options);
  });
}

tilescope_status tilescope_gemm_prepare(tilescope_device* device, const tilescope_matrix* a,
                                        const tilescope_matrix* b, const tilescope_matrix* c,
                                        const tilescope_gemm_options* options,
                                        tilescope_gemm_plan** plan) {
  return guarded([&] {
    require(device, "device");
    require(plan, "plan");
    const GemmCall call(a, b, c, options);
    *plan = new tilescope_gemm_plan{
        PreparedGemm(*device->device, call.a, call.b, call.c, call.options, call.workspace)};
  });
}

tilescope_status tilescope_gemm_prepare_list(tilescope_device* device, const tilescope_matrix* a,
                                             const tilescope_matrix* b, const tilescope_matrix* c,
                                             size_t count, const tilescope_gemm_options* options,
                                             tilescope_gemm_plan** plan) {
  return guarded([&] {
    require(device, "device");
    require(plan, "plan");
    const ListCall call(a, b, c, count, options);
    *plan = new tilescope_gemm_plan{
        PreparedGemm(*device->device, call.a, call.b, call.c, call.options, call.workspace)};
  });
}

tilescope_status tilescope_gemm_launch(const tilescope_gemm_plan* plan, void* stream) {
  return guarded([&] {
    require(plan, "plan");
    plan->product.launch(stream_of(stream));
  });
}

tilescope_status tilescope_gemm_set_operands(tilescope_gemm_plan* plan, const void* a,
                                             const void* b, void* c, const float* bias) {
  return guarded([&] {
    require(plan, "plan");
    plan->product.set_operands(a, b, c, bias);
  });
}

const char* tilescope_gemm_variant(const tilescope_gemm_plan* plan) {
  return plan->product.report().variant.c_str();
}

const char* tilescope_gemm_note(const tilescope_gemm_plan* plan) {
  return plan->product.report().note.c_str();
}

void tilescope_gemm_destroy(tilescope_gemm_plan* plan) {
  delete plan;
}

}  // extern "C"
