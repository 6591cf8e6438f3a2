#include <tilescope/blur.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/laplacian.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/reverse.hpp>
#include <tilescope/saxpb.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/transpose.hpp>
#include <tilescope/vector_add.hpp>
#include <utility>

#include "capi/handles.hpp"
#include "capi/status.hpp"

using namespace tilescope;
using namespace tilescope::capi;

struct tilescope_operation {
  PreparedOperation prepared;
};

namespace {

/// Keeps what `prepare(device, run options)` makes in a new handle.
template <typename Prepare>
tilescope_status prepared(tilescope_device* device, const char* variant,
                          tilescope_operation** operation, const Prepare& prepare) {
  return guarded([&] {
    require(device, "device");
    require(operation, "operation");
    const RunOptions options{.variant = variant ? variant : ""};
    *operation = new tilescope_operation{prepare(*device->device, options)};
  });
}

ConstArrayView list_of(tilescope_type type, size_t elements, const void* data, const char* name) {
  require_if(elements > 0, data, name);
  return {type_of(type), elements, data};
}
ArrayView result_of(tilescope_type type, size_t elements, void* data, const char* name) {
  require_if(elements > 0, data, name);
  return {type_of(type), elements, data};
}
MatrixView result_of(const tilescope_matrix* matrix) {
  return {view_of(matrix, "out")};
}

}  // namespace

extern "C" {

tilescope_status tilescope_saxpb_prepare(tilescope_device* device, tilescope_type type,
                                         size_t elements, double a, const void* x, double b,
                                         void* y, const char* variant,
                                         tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    return prepare_saxpb(on, a, list_of(type, elements, x, "x"), b,
                         result_of(type, elements, y, "y"), {options});
  });
}

tilescope_status tilescope_vector_add_prepare(tilescope_device* device, tilescope_type type,
                                              size_t elements, const void* a, const void* b,
                                              void* c, const char* variant,
                                              tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    return prepare_vector_add(on, list_of(type, elements, a, "a"), list_of(type, elements, b, "b"),
                              result_of(type, elements, c, "c"), options);
  });
}

tilescope_status tilescope_scale_prepare(tilescope_device* device, double factor,
                                         const tilescope_matrix* in, const tilescope_matrix* out,
                                         const char* variant, tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    return prepare_scale(on, factor, view_of(in, "in"), result_of(out), options);
  });
}

tilescope_status tilescope_reverse_prepare(tilescope_device* device, tilescope_type type,
                                           size_t elements, const void* x, void* y,
                                           const char* variant, tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    return prepare_reverse(on, list_of(type, elements, x, "x"), result_of(type, elements, y, "y"),
                           options);
  });
}

tilescope_status tilescope_transpose_prepare(tilescope_device* device, const tilescope_matrix* in,
                                             const tilescope_matrix* out, const char* variant,
                                             tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    return prepare_transpose(on, view_of(in, "in"), result_of(out), options);
  });
}

tilescope_status tilescope_blur_prepare(tilescope_device* device, const uint8_t* in, uint8_t* out,
                                        int64_t height, int64_t width, int channels, int radius,
                                        const char* variant, tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    require_if(height > 0 && width > 0, in, "in");
    require_if(height > 0 && width > 0, out, "out");
    return prepare_blur(on, in, out, height, width, channels, {options, radius});
  });
}

tilescope_status tilescope_laplacian_prepare(tilescope_device* device, const tilescope_matrix* in,
                                             const tilescope_matrix* out, int64_t iterations,
                                             double center, double side, const char* variant,
                                             tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    return prepare_laplacian(on, view_of(in, "in"), result_of(out),
                             {options, iterations, center, side});
  });
}

tilescope_status tilescope_histogram_prepare(tilescope_device* device, tilescope_type type,
                                             size_t elements, const void* x, int64_t bins,
                                             double lower, double upper, void* counts,
                                             const char* variant, tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    require(counts, "counts");
    return prepare_histogram(on, list_of(type, elements, x, "x"), counts,
                             {.count = bins, .lower = lower, .upper = upper}, options);
  });
}

tilescope_status tilescope_reduce_prepare(tilescope_device* device, tilescope_type type,
                                          size_t elements, const void* x,
                                          tilescope_reduction reduction, void* result,
                                          const char* variant, tilescope_operation** operation) {
  return prepared(device, variant, operation, [&](Device& on, const RunOptions& options) {
    require(result, "result");
    return prepare_reduce(on, list_of(type, elements, x, "x"),
                          value_of<Reduction>(reduction, TILESCOPE_ARGMAX + 1, "the reduction"),
                          result, options);
  });
}

tilescope_status tilescope_operation_launch(const tilescope_operation* operation, void* stream) {
  return guarded([&] {
    require(operation, "operation");
    operation->prepared.launch(stream_of(stream));
  });
}

const char* tilescope_operation_variant(const tilescope_operation* operation) {
  return operation->prepared.variant().c_str();
}

void tilescope_operation_destroy(tilescope_operation* operation) {
  delete operation;
}

}  // extern "C"
