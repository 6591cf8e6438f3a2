// The fastest measured way to compute each product, kept on disk: one file for each device.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The result for one product on one device.
struct TunedProduct {
  std::string variant, plan;  ///< as in GemmChoice
  std::string note;           ///< the plan in words
  double ms = 0.0;            ///< its time
  std::string model;          ///< the model's choice, in words
  double model_ms = 0.0;      ///< its time
  friend bool operator==(const TunedProduct&, const TunedProduct&) = default;
};

/// Everything that decides which kernels compute a problem and how long they take, such as
/// "4096x4096x4096 bf16, A bfloat16 by rows of 4096, ...". It leaves out alpha and beta, but says
/// whether C is read.
std::string key_of(const GemmProblem& problem);

/// One device's products. Several processes may use a file at once: a writer takes a lock, reads
/// the file, adds to it, and renames a new file to its name. A damaged file is treated as empty. So
/// is one of other kernels than this program's, whose times mean nothing.
class TunedProducts {
 public:
  using Products = std::map<std::string, TunedProduct, std::less<>>;

  /// Reads `file`, which need not exist. `device` is the description that the file must have.
  explicit TunedProducts(std::filesystem::path file, std::string device = {});

  std::optional<TunedProduct> find(std::string_view key) const;
  Products all() const;
  const std::filesystem::path& file() const { return file_; }
  /// The device that the file describes.
  std::string device() const;
  /// One line about an existing file that cannot be read; empty: none.
  std::string trouble() const;
  /// Whether the file belongs to other kernels.
  bool is_stale() const;

  /// Writes the product to the file. Throws Error(bad_input) if that fails.
  void keep(const std::string& key, const TunedProduct& product);
  /// Removes the products for which `which` returns true, and an empty file. Returns the number
  /// removed.
  std::size_t forget(const std::function<bool(const std::string& key)>& which);

 private:
  struct Contents {
    std::string device, trouble;
    bool is_stale = false;
    Products products;
  };
  Contents read() const;
  void write(const Contents& contents) const;
  template <typename Change>
  void change(const Change& change);

  std::filesystem::path file_;
  mutable std::mutex mutex_;
  Contents contents_;
};

/// The folder of the files; empty if nothing is kept.
std::filesystem::path tuned_folder();

/// The file of a device, by everything that decides its times: name, compute capability, SMs, and
/// whether it is emulated. Empty if nothing is kept.
std::filesystem::path tuned_file(const Device& device);

/// The products of a device, or of a file, read once in a process.
TunedProducts& tuned_products(const Device& device);
TunedProducts& tuned_products_in(const std::filesystem::path& file, const std::string& device = {});

/// Whether tuned products are used: not if TILESCOPE_AUTOTUNE is 0, off, no or false.
bool uses_tuned_products();

/// The version of the kernels whose times are kept: a hash of their sources.
std::string kernels_version();

}  // namespace tilescope::operations
