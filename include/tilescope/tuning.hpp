// Which kernel computes a product soonest on this GPU: measured once, kept on disk, and taken by
// matmul() from then on.
//
//     auto gpu = tilescope::Device::open("cuda");
//     tilescope::tune_matmul(*gpu, {.shape = {4096, 4096, 4096}, .precision = Precision::bf16,
//                                   .type = DataType::bfloat16});
//
// Without it a model of each kernel's time decides. Different kernels sum in different orders: a
// product that was tuned may have other bits than before, within the bounds of its precision. The
// same file gives the same bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilescope/device.hpp"
#include "tilescope/matmul.hpp"

namespace tilescope {

/// A product as matmul() would be asked for it, without its matrices.
struct MatmulProduct {
  MatmulShape shape;
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
  slower,  ///< right, and so much slower than another that few runs were timed
  wrong,   ///< a wrong result: never taken
  failed   ///< could not run, such as for want of memory
};

/// One way to compute the product, and what came of it.
struct TuneCandidate {
  std::string variant;        ///< such as "tensor_tiles"
  std::string plan;           ///< which of its plans; empty: it has but one
  std::string note;           ///< the plan in words, such as "128x256x4 boxes 2"
  double predicted_ms = 0.0;  ///< by the variant's model; 0: it has none
  double time_ms = 0.0;       ///< the median; 0 for wrong and failed ones
  TuneVerdict verdict = TuneVerdict::failed;
  std::string reason;     ///< why wrong or failed
  bool by_model = false;  ///< what matmul() takes untuned
  bool chosen = false;    ///< what it takes now
};

struct TuneReport {
  std::string product;  ///< what was tuned, as files name it
  std::vector<TuneCandidate> candidates;
  std::string file;  ///< where the result is kept; empty: nowhere
};

struct TuneOptions {
  int candidates = 12;  ///< to measure at most, but at least one of each variant
  int samples = 15;     ///< timed runs of each that is not clearly slower, at least
  bool keep = true;     ///< write the result to the cache
  std::uint64_t seed = 1;
  std::function<void(const TuneCandidate&)> on_candidate;  ///< called as each was first timed
  const std::atomic<bool>* cancel = nullptr;  ///< becoming true: Error(usage) soon, nothing is kept
};

/// Times the variants that compute the product and the best plans of their models on `device`: data
/// in turn at enough addresses to exceed the L2 cache, the median of many runs, each result checked
/// in full before and after. The fastest is kept for this device in $TILESCOPE_CACHE/tuned; where
/// it does not beat the model's own choice by 1% again and again, that. A product of which there is
/// only one candidate is not kept. An emulated GPU is timed as it is, by the host's clock.
///
/// Errors: usage for extents below 1; no_device for the CPU, which has nothing to choose from;
/// wrong_result if not even the reference kernel is right; bad_input if the file cannot be written.
TuneReport tune_matmul(Device& device, const MatmulProduct& product,
                       const TuneOptions& options = {});

/// A product whose kernel is on file.
struct TunedMatmul {
  std::string product;         ///< as TuneReport names it
  std::string device;          ///< such as "NVIDIA H200, sm_90, 132 SMs"
  std::string variant, note;   ///< what is taken
  double time_ms = 0.0;        ///< what that took
  std::string model;           ///< what the model would have taken
  double model_time_ms = 0.0;  ///< what that took
};

/// Everything on file, of all devices. `troubles` receives a line for each file that is damaged or
/// of another version of the kernels, and for that not used.
std::vector<TunedMatmul> tuned_matmuls(std::vector<std::string>* troubles = nullptr);

/// Removes the products that `which` says (by their names), of all devices, and the files that are
/// not used. Returns how many products. Errors: bad_input if a file cannot be written.
std::size_t forget_tuned_matmuls(const std::function<bool(const std::string& product)>& which);

/// Why what was tuned for `device` is not used; empty: it is, or there is nothing.
std::string tuning_trouble(const Device& device);

}  // namespace tilescope
