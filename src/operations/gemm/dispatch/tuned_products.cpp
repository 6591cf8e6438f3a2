#include "operations/gemm/dispatch/tuned_products.hpp"

#define XXH_INLINE_ALL  // header-only: nothing to find at run time
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/output_file.hpp"
#include "compile/cache.hpp"
#include "compile/embedded_kernels.hpp"

namespace tilescope::operations {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The version of the file's layout and of the meaning of plans' texts.
constexpr int layout_version = 1;

std::string operand_text(std::string_view name, const GemmOperand& operand, std::int64_t batch) {
  return fmt::format(", {} {} by {} of {}{}", name, name_of(operand.type),
                     operand.order == Order::row_major ? "rows" : "columns", operand.leading,
                     batch > 1 ? fmt::format(" + {}", operand.batch_stride) : "");
}

std::string device_text(const Device& device) {
  const DeviceProperties& p = device.properties();
  return fmt::format("{}{}, sm_{}{}, {} SMs",
                     device.kind() == DeviceKind::emulated ? "emulated " : "", p.name,
                     p.compute_major, p.compute_minor, p.sm_count);
}

std::optional<TunedProduct> product_of(const json& entry) {
  const auto text = [&entry](const char* name) -> const std::string* {
    const auto found = entry.find(name);
    return found == entry.end() ? nullptr : found->get_ptr<const json::string_t*>();
  };
  const auto number = [&entry](const char* name) {
    const auto found = entry.find(name);
    const bool is_number = found != entry.end() && found->is_number();
    return is_number ? found->get<double>() : std::nan("");
  };
  if (!entry.is_object()) return std::nullopt;
  const std::string* const variant = text("variant");
  const std::string *const plan = text("plan"), *const note = text("note"),
                           *const model = text("model");
  TunedProduct product{.ms = number("time_ms"), .model_ms = number("model_time_ms")};
  if (!variant || !plan || !note || !model || !(product.ms > 0.0) || !(product.model_ms > 0.0)) {
    return std::nullopt;
  }
  product.variant = *variant;
  product.plan = *plan;
  product.note = *note;
  product.model = *model;
  return product;
}

// Held while a file is read and rewritten. The lock has a file of its own, which stays: a lock on
// the data file would be on nothing once that is renamed away.
class FileLock {
 public:
  explicit FileLock(const fs::path& file) {
    const std::string path = file.string() + ".lock";
    constexpr int for_everybody = 0666;  // less the umask
    file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, for_everybody));
    int result = -1;
    while (file_.is_open() && (result = ::flock(file_.get(), LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (result == 0) return;
    throw input_error(
        "cannot keep tuned plans: no lock on {} ({}); set TILESCOPE_CACHE to a folder that can be "
        "written",
        quoted(path), system_error_text(errno));
  }

 private:
  FileDescriptor file_;  // closing it releases the lock
};

}  // namespace

std::string key_of(const GemmProblem& p) {
  const MatmulShape& s = p.shape;
  std::string key = fmt::format("{}x{}x{} {}", s.m, s.n, s.k, name_of(p.precision));
  if (p.batch != 1) key += fmt::format(", batch {}", p.batch);
  key += operand_text("A", p.a, p.batch) + operand_text("B", p.b, p.batch) +
         operand_text("C", p.c, p.batch);
  if (p.beta != 0.0) key += ", adds to C";
  if (p.has_bias) key += p.bias_per_row ? ", bias of rows" : ", bias of columns";
  if (p.activation == Activation::relu) key += ", relu";
  if (p.activation == Activation::gelu) key += ", gelu";
  return key;
}

std::string kernels_version() {
  static const std::string version = [] {
    std::string sources;
    for (const compile::EmbeddedKernel& kernel : compile::embedded_kernels()) {
      if (!kernel.name.starts_with("gemm/")) continue;
      (sources += kernel.name) += '\0';
      (sources += kernel.text) += '\0';
    }
    return fmt::format("{:016x}", XXH3_64bits(sources.data(), sources.size()));
  }();
  return version;
}

TunedProducts::TunedProducts(fs::path file, std::string device) : file_(std::move(file)) {
  if (!file_.empty()) contents_ = read();
  if (!device.empty()) contents_.device = std::move(device);
}

TunedProducts::Contents TunedProducts::read() const {
  Contents contents;
  std::error_code failed;
  if (!fs::exists(file_, failed)) return contents;
  const auto damaged = [&](const std::string& why) {
    contents.products.clear();
    contents.trouble = fmt::format("tuned plans are not used: {}; tilescope tune rewrites it", why);
    return contents;
  };
  std::string text;
  try {
    text = read_text_file(file_.string());
  } catch (const Error& error) {
    return damaged(error.what());
  }
  const json document = json::parse(text, nullptr, false);
  const auto is_damaged = [&] { return damaged(quoted(file_.string()) + " is damaged"); };
  if (!document.is_object() || !document.contains("version") || !document.contains("kernels")) {
    return is_damaged();
  }
  if (document["version"] != layout_version || document["kernels"] != kernels_version()) {
    contents.is_stale = true;
    return contents;
  }
  const json device = document.value("device", json()),
             products = document.value("products", json());
  if (!device.is_string() || !products.is_object()) return is_damaged();
  contents.device = device.get<std::string>();
  for (const auto& [key, entry] : products.items()) {
    const std::optional<TunedProduct> product = product_of(entry);
    if (!product) return is_damaged();
    contents.products.emplace(key, *product);
  }
  return contents;
}

void TunedProducts::write(const Contents& contents) const {
  json products = json::object();
  for (const auto& [key, product] : contents.products) {
    products[key] = {{"variant", product.variant}, {"plan", product.plan},
                     {"note", product.note},       {"time_ms", product.ms},
                     {"model", product.model},     {"model_time_ms", product.model_ms}};
  }
  const json document{{"version", layout_version},
                      {"kernels", kernels_version()},
                      {"device", contents.device},
                      {"products", std::move(products)}};
  OutputFile out(file_.string());
  out.append(document.dump(1) + '\n');
  out.commit();
}

template <typename Change>
void TunedProducts::change(const Change& change) {
  const std::lock_guard guard(mutex_);
  if (file_.empty()) {
    throw input_error(
        "cannot keep tuned plans: there is no cache; set TILESCOPE_CACHE to a folder");
  }
  std::error_code failed;
  fs::create_directories(file_.parent_path(), failed);
  const FileLock lock(file_);
  Contents now = read();
  if (!contents_.device.empty()) now.device = contents_.device;
  if (!change(now)) return;
  if (!now.products.empty()) {
    write(now);
  } else {
    fs::remove(file_, failed);
  }
  now.trouble.clear();
  now.is_stale = false;
  contents_ = std::move(now);
}

void TunedProducts::keep(const std::string& key, const TunedProduct& product) {
  change([&](Contents& contents) {
    contents.products.insert_or_assign(key, product);
    return true;
  });
}

std::size_t TunedProducts::forget(const std::function<bool(const std::string& key)>& which) {
  std::size_t count = 0;
  change([&](Contents& contents) {
    count = std::erase_if(contents.products, [&](const auto& entry) { return which(entry.first); });
    return !contents.is_stale;  // results of another version are kept
  });
  return count;
}

std::optional<TunedProduct> TunedProducts::find(std::string_view key) const {
  const std::lock_guard guard(mutex_);
  const auto found = contents_.products.find(key);
  if (found == contents_.products.end()) return std::nullopt;
  return found->second;
}

TunedProducts::Products TunedProducts::all() const {
  const std::lock_guard guard(mutex_);
  return contents_.products;
}

std::string TunedProducts::device() const {
  const std::lock_guard guard(mutex_);
  return contents_.device;
}

std::string TunedProducts::trouble() const {
  const std::lock_guard guard(mutex_);
  return contents_.trouble;
}

bool TunedProducts::is_stale() const {
  const std::lock_guard guard(mutex_);
  return contents_.is_stale;
}

fs::path tuned_folder() {
  const fs::path cache = compile::Cache::standard_directory();
  return cache.empty() ? cache : cache / "tuned";
}

fs::path tuned_file(const Device& device) {
  const fs::path folder = tuned_folder();
  if (folder.empty()) return {};
  std::string name;
  for (const char c : device_text(device)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return folder / (name + ".json");
}

TunedProducts& tuned_products_in(const fs::path& file, const std::string& device) {
  static std::mutex mutex;
  static std::map<fs::path, std::unique_ptr<TunedProducts>> files;
  const std::lock_guard guard(mutex);
  std::unique_ptr<TunedProducts>& products = files[file];
  if (!products) products = std::make_unique<TunedProducts>(file, device);
  return *products;
}

TunedProducts& tuned_products(const Device& device) {
  return tuned_products_in(tuned_file(device), device_text(device));
}

bool uses_tuned_products() {
  const char* const value = std::getenv("TILESCOPE_AUTOTUNE");
  if (value == nullptr) return true;
  const std::string_view text = value;
  return text != "0" && text != "off" && text != "no" && text != "false";
}

}  // namespace tilescope::operations
