// The interface of an operation for the ladder: a table of variants, a reference, and the means to
// run one variant on one device. `measure/` verifies and times through it and knows no operation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/error.hpp>
#include <vector>

#include "operations/numerics/expected.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// One row of an operation's table of variants, for display.
struct VariantInfo {
  std::string name;         ///< such as "tiled_16"
  std::string_view idea;    ///< one line
  std::string_view source;  ///< file below kernels/; empty if the variant is no Tilescope kernel
  bool is_peer = false;     ///< the vendor's library: the baseline of the others
  bool needs_gpu = false;   ///< cannot run emulated (a vendor's library)
  bool on_host = false;     ///< runs on the CPU whatever the device
  bool is_copy = false;     ///< no variant: the device's copy of as many bytes, a baseline
};

/// The work of one run of a problem, whichever variant runs it.
struct Work {
  double flops = 0.0;  ///< useful floating-point operations
  double bytes = 0.0;  ///< compulsory traffic: each input read once, each output written once
  bool memory_bound = false;  ///< judged by the rate of its bytes
  /// The ceiling of `flops`, by its name in gpu::Gpu::rates: the units that may compute it.
  std::string_view rate = "fp32";
};

/// One variant ready to run on one device: kernel loaded, inputs uploaded.
class Prepared {
 public:
  virtual ~Prepared() = default;
  /// Queues one run on the device's default stream (or runs it, for CPU variants). `input_set`
  /// counts runs: implementations rotate through copies of the data that exceed the L2 cache.
  virtual void run(int input_set) = 0;
  /// Fills the output that run(`input_set`) writes with bytes of 0xFF: NaN where elements are
  /// floating-point. A variant that works in place gets its input there instead.
  virtual void poison(int input_set) = 0;
  /// The output of run(`input_set`), in the order of Expected.
  virtual HostArray output(int input_set) = 0;
  /// A remark on this run, such as "padded to 1024 x 1024 x 1024"; may be empty.
  virtual std::string note() const { return {}; }
};

/// A problem of an operation: shape and data are fixed; variants are compared on it.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string_view name() const = 0;
  /// The problem's size in words, such as "1000 x 999 x 1001".
  virtual std::string size_text() const = 0;
  virtual std::vector<VariantInfo> variants() const = 0;
  /// The full name of the variant that a user calls `name`. Throws Error(usage) for none.
  virtual std::string variant_name(std::string_view name) const = 0;
  virtual Work work() const = 0;
  /// Why the variant cannot run this problem on this device; nothing if it can.
  virtual std::optional<std::string> refusal(const VariantInfo& variant,
                                             const Device& device) const = 0;
  /// The launches of the variant on such a device, without running it. Throws Error(usage) for a
  /// variant that launches no Tilescope kernel.
  virtual Plan plan(const VariantInfo& variant, const DeviceProperties& device) const = 0;
  virtual std::unique_ptr<Prepared> prepare(const VariantInfo& variant, Device& device) const = 0;
  /// The answer for `variant`; variants of other precision have other bounds.
  virtual const Expected& expected(const VariantInfo& variant) const = 0;
};

/// The error for a variant that launches no Tilescope kernel: the CPU's, a vendor's, a plain copy.
Error no_kernel_of_ours(std::string_view operation, const VariantInfo& variant);

/// How many copies of a problem's data, at `bytes` each, exceed twice the L2 cache, so that
/// successive runs find none of their data there; one if no GPU's cache is timed.
std::size_t input_sets(const Device& device, std::size_t bytes);

}  // namespace tilescope::operations
