// Tuning: measures which kernel computes a product fastest on this GPU and keeps it on disk;
// matmul() takes it from then on.
//
//     auto gpu = tilescope::Device::open("cuda");
//     tilescope::tune_matmul(*gpu, {.shape = {4096, 4096, 4096}, .precision = Precision::bf16,
//                                   .type = DataType::bfloat16});
//
// Without tuning a model of each kernel's time decides. Kernels sum in different orders, so a tuned
// product may have other bits than before, within the bounds of its precision. The same file gives
// the same bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilescope/device.hpp"
#include "tilescope/matmul.hpp"

namespace tilescope {

/// A product that matmul() could compute, without its matrices.
struct MatmulProduct {
  MatmulShape shape = {};
  std::int64_t batch = 1;
  Precision precision = Precision::automatic;
  DataType type = DataType::float32;  ///< of A, B and C
  Order a_order = Order::row_major, b_order = Order::row_major, c_order = Order::row_major;
  bool adds_to_c = false;  ///< beta is not 0
  bool has_bias = false;
  Activation activation = Activation::none;
};

enum class TuneVerdict {
  ok,      ///< right, and timed to the end
  slower,  ///< right, but so much slower than another that only a few runs were timed
  wrong,   ///< a wrong result: never taken
  failed   ///< could not run, for example for lack of memory
};

/// One way to compute the product, and its result.
struct TuneCandidate {
  std::string variant;        ///< such as "tensor_tiles"
  std::string plan;           ///< one of the variant's plans; empty: it has only one
  std::string note;           ///< the plan in words, such as "128x256x4 boxes 2"
  double predicted_ms = 0.0;  ///< by the variant's model; 0: it has none
  double time_ms = 0.0;       ///< the median; 0 for wrong and failed ones
  TuneVerdict verdict = TuneVerdict::failed;
  std::string reason;     ///< why wrong or failed
  bool by_model = false;  ///< matmul() takes it untuned
  bool chosen = false;    ///< matmul() takes it now
};

struct TuneReport {
  std::string product;  ///< the product, as files name it
  std::vector<TuneCandidate> candidates;
  std::string file;  ///< where the result is kept; empty: nowhere
};

struct TuneOptions {
  int candidates = 12;  ///< the most to measure, but at least one of each variant
  int samples = 15;     ///< timed runs of each that is not clearly slower, at least
  bool keep = true;     ///< write the result to the cache
  std::uint64_t seed = 1;
  std::function<void(const TuneCandidate&)> on_candidate = {};  ///< called after the first timing
                                                                ///< of each
  const std::atomic<bool>* cancel = nullptr;  ///< becoming true: Error(usage) soon, nothing is
                                              ///< stored
};

/// Times, on `device`, the variants that compute the product and the best plans of their models.
/// Data rotate through enough addresses to exceed the L2 cache, the median of many runs counts, and
/// each result is checked in full before and after.
///
/// The fastest is kept for this device in $TILESCOPE_CACHE/tuned. The model's own choice is kept
/// instead unless the fastest beats it in every round, and by 1% in all. A product with one
/// candidate is not kept. An emulated GPU is timed by the host's clock.
///
///     tune_matmul(*gpu, {.shape = {4096, 4096, 4096}});
///
/// Errors: usage for extents below 1; no_device for the CPU, which has only one way to multiply;
/// wrong_result if even the reference kernel is wrong; bad_input if the file cannot be written.
TuneReport tune_matmul(Device& device, const MatmulProduct& product,
                       const TuneOptions& options = {});

/// A product whose kernel is stored.
struct TunedMatmul {
  std::string product;         ///< as TuneReport names it
  std::string device;          ///< such as "NVIDIA H200, sm_90, 132 SMs"
  std::string variant, note;   ///< the kernel that matmul() takes
  double time_ms = 0.0;        ///< its time
  std::string model;           ///< the model's choice
  double model_time_ms = 0.0;  ///< its time
};

/// All stored products, of all devices. `troubles` receives a line for each file that is not used
/// because it is damaged or of another version of the kernels.
std::vector<TunedMatmul> tuned_matmuls(std::vector<std::string>* troubles = nullptr);

/// Removes the products for whose names `which` returns true, of all devices, and the files that
/// are not used. Returns the number of products. Errors: bad_input if a file cannot be written.
std::size_t forget_tuned_matmuls(const std::function<bool(const std::string& product)>& which);

/// Why the tuning stored for `device` is not used; empty if it is used, or if there is none.
std::string tuning_trouble(const Device& device);

}  // namespace tilescope
