// Products whose operands lie in the GPU's memory, through the library's public calls, beside
// cuBLAS on the same stream: time on the device, time of a call on the host, as one node of a CUDA
// graph, and what a launch queues. Usage: device_products [SECONDS [MxNxK[,MxNxK...] ...]]
// Shapes with commas between them are multiplied in turns, each in the time of one product.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <tilescope/gemm.hpp>
#include <vector>

#include "base/text.hpp"
#include "device/cuda/cuda_module.hpp"
#include "operations/gemm/ladder/cublas_run.hpp"
#include "support/random_buffer.hpp"
#include "support/stream_graph.hpp"

namespace tilescope {
namespace {

using Clock = std::chrono::steady_clock;

struct Product {
  MatmulShape shape;
  Precision precision = Precision::fp32;
};

DataType type_of(Precision precision) {
  return precision == Precision::bf16   ? DataType::bfloat16
         : precision == Precision::fp16 ? DataType::float16
                                        : DataType::float32;
}

/// Operands of a product; C, and a second C for cuBLAS.
struct Operands {
  Buffer a, b, c;
  ConstMatrixView a_view, b_view;
  MatrixView c_view;

  Operands(Device& device, const Product& product, std::uint64_t seed) {
    const MatmulShape& s = product.shape;
    const DataType type = type_of(product.precision);
    a = testing::random_buffer(device, type, s.m * s.k, seed);
    b = testing::random_buffer(device, type, s.k * s.n, seed + 1);
    c = testing::random_buffer(device, type, s.m * s.n, seed + 2);
    a_view = dense_view(pointer(a), type, s.m, s.k);
    b_view = dense_view(pointer(b), type, s.k, s.n);
    c_view = dense_view(pointer(c), type, s.m, s.n);
  }
  operations::GemmAddresses addresses() const {
    return {.a = a.address(), .b = b.address(), .c = c.address()};
  }
  std::vector<std::byte> result(Device& device) const {
    std::vector<std::byte> bytes(c.bytes());
    device.synchronize();
    device.copy_to_host(bytes.data(), c.address(), bytes.size());
    return bytes;
  }

  static void* pointer(const Buffer& buffer) { return reinterpret_cast<void*>(buffer.address()); }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Microseconds on the host of a call that only queues, the device being behind.
double call_us(Device& device, const std::function<void()>& call) {
  constexpr int calls = 64, rounds = 9;  // fewer calls than the driver's queue has room for
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    device.synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                    calls);
  }
  device.synchronize();
  return median(times);
}

/// Microseconds on the device of one run among many, all queued before the first starts.
double device_us(Device& device, const Stream& stream, const Buffer& scratch,
                 const std::function<void()>& run) {
  constexpr int runs = 24, rounds = 7;
  const Event before = device.create_event(), after = device.create_event();
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    device.synchronize();
    // Writes that last longer than the host needs to queue the runs.
    for (int i = 0; i < 4; ++i) device.fill(scratch.address(), 0, scratch.bytes(), stream);
    device.record(before, stream);
    for (int i = 0; i < runs; ++i) run();
    device.record(after, stream);
    times.push_back(1e3 * device.elapsed_ms(before, after) / runs);
  }
  return median(times);
}

/// Prints the host's time for launches of a kernel that does nothing with so many bytes of
/// parameters, by the driver's own call and by the library's. Products have 200 to 900.
template <std::size_t bytes>
void print_least_launch(Device& device, const Stream& stream) {
  struct Parameters {
    std::array<std::byte, bytes> all{};
  } parameters;
  const KernelRequest request{
      .source_name = "nothing.cu",
      .source = fmt::format(
          "struct P {{ char all[{}]; }}; extern \"C\" __global__ void nothing(P) {{}}", bytes),
      .kernel = "nothing"};
  const Kernel kernel = device.load(request);
  const KernelArguments arguments = KernelArguments::of(parameters);
  const device::Driver& driver = device::Driver::instance();
  const auto function = static_cast<device::CudaKernel&>(kernel.state()).function();
  void* pointers[] = {&parameters};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = reinterpret_cast<CUstream>(stream.value());
  const double raw =
      call_us(device, [&] { driver.launch_extended(&config, function, pointers, nullptr); });
  const double ours = call_us(device, [&] { device.launch(kernel, {}, arguments, stream); });
  fmt::print(
      "a kernel that does nothing with {} bytes: {:.2f} us by cuLaunchKernelEx, {:.2f} us by the "
      "library\n",
      bytes, raw, ours);
}

class Contest {
 public:
  explicit Contest(std::shared_ptr<Device> device)
      : device_(std::move(device)),
        stream_(device_->create_stream()),
        scratch_(device_->allocate(std::size_t{512} << 20U, "scratch")),
        gemm_(device_) {
    print_least_launch<8>(*device_, stream_);
    print_least_launch<896>(*device_, stream_);
    fmt::print("{:<22} {:<9} {:<16} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8} {:>6} {:>5} {:>5} {}\n",
               "shape", "precision", "kernel", "us", "cuBLAS us", "ratio", "launch", "Gemm()",
               "cuBLAS", "kernels", "fills", "copies", "graph");
  }

  /// Products in turns; times are those of one on average.
  void hold(const std::vector<MatmulShape>& shapes, Precision precision) {
    std::vector<std::unique_ptr<Entry>> entries;
    for (const MatmulShape& shape : shapes) {
      entries.push_back(std::make_unique<Entry>(*device_, Product{shape, precision}));
    }
    const auto each = [&](auto&& run) {
      return [&entries, run] {
        for (const auto& entry : entries) run(*entry);
      };
    };
    const auto launch = each([&](const Entry& entry) { entry.prepared.launch(stream_); });
    const auto call = each([&](const Entry& entry) {
      gemm_(entry.ours.a_view, entry.ours.b_view, entry.ours.c_view, {.precision = precision},
            stream_);
    });
    const auto peer = each([&](Entry& entry) { entry.cublas.run(entry.at, stream_); });
    const auto results = [&] {
      std::vector<std::vector<std::byte>> all;
      for (const auto& entry : entries) all.push_back(entry->ours.result(*device_));
      return all;
    };
    launch();
    const auto expected = results();
    for (const auto& entry : entries) {
      device_->fill(entry->ours.c.address(), 0xFF, entry->ours.c.bytes());
    }
    const testing::StreamGraph graph(stream_, launch);
    graph.launch(stream_);
    const bool replayed = results() == expected;
    call();
    const bool called = results() == expected;

    const auto products = static_cast<double>(entries.size());
    const double own_us = device_us(*device_, stream_, scratch_, launch) / products;
    const double peer_us = device_us(*device_, stream_, scratch_, peer) / products;
    const double own_again = device_us(*device_, stream_, scratch_, launch) / products;
    const double best = std::min(own_us, own_again);
    std::string text, variant;
    for (const auto& entry : entries) {
      const std::string_view separator = text.empty() ? "" : ", ";
      text += fmt::format("{}{}", separator, shape_text(entry->shape));
      const std::string& name = entry->prepared.report().variant;
      if (variant.find(name) == std::string::npos) variant += fmt::format("{}{}", separator, name);
    }
    fmt::print(
        "{:<22} {:<9} {:<16} {:>9.2f} {:>9.2f} {:>6.3f} {:>8.2f} {:>8.2f} {:>8.2f} {:>6} {:>5} "
        "{:>5} {}\n",
        text, name_of(precision), variant, best, peer_us, peer_us / best,
        call_us(*device_, launch) / products, call_us(*device_, call) / products,
        call_us(*device_, peer) / products, graph.count(CU_GRAPH_NODE_TYPE_KERNEL),
        graph.count(CU_GRAPH_NODE_TYPE_MEMSET), graph.count(CU_GRAPH_NODE_TYPE_MEMCPY),
        replayed && called ? "same bits" : "WRONG");
    std::fflush(stdout);
    is_right_ = is_right_ && replayed && called;
  }

  bool is_right() const { return is_right_; }

 private:
  /// A product, ours and cuBLAS's.
  struct Entry {
    MatmulShape shape;
    Operands ours, theirs;
    PreparedGemm prepared;
    operations::CublasGemm cublas;
    operations::GemmAddresses at;

    Entry(Device& device, const Product& product)
        : shape(product.shape),
          ours(device, product, 1),
          theirs(device, product, 1),
          prepared(device, ours.a_view, ours.b_view, ours.c_view, {.precision = product.precision}),
          cublas(device,
                 operations::dense_problem(product.shape, product.precision,
                                           type_of(product.precision), type_of(product.precision))),
          at(theirs.addresses()) {
      cublas.choose_fastest({&at, 1});
    }
  };

  std::shared_ptr<Device> device_;
  Stream stream_;
  Buffer scratch_;
  Gemm gemm_;
  bool is_right_ = true;
};

/// "64x48x32", or several with commas between them.
std::vector<MatmulShape> parsed_shapes(const std::string& text) {
  std::vector<MatmulShape> shapes;
  for (const std::string_view one : split(text, ',')) {
    MatmulShape& shape = shapes.emplace_back();
    if (std::sscanf(std::string(one).c_str(), "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &shape.m,
                    &shape.n, &shape.k) != 3) {
      throw Error(ErrorKind::usage, fmt::format("expected MxNxK, got \"{}\"", one));
    }
  }
  return shapes;
}

int run(double seconds, const std::vector<std::vector<MatmulShape>>& rows) {
  const auto start = Clock::now();
  Contest contest(Device::open("cuda"));
  constexpr Precision precisions[] = {Precision::fp32, Precision::fp32_fast, Precision::tf32,
                                      Precision::bf16, Precision::fp16};
  for (const std::vector<MatmulShape>& shapes : rows) {
    for (const Precision precision : precisions) {
      if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
      contest.hold(shapes, precision);
    }
  }
  return contest.is_right() ? 0 : 1;
}

}  // namespace
}  // namespace tilescope

int main(int argc, char** argv) {
  try {
    std::vector<std::vector<tilescope::MatmulShape>> rows;
    for (int i = 2; i < argc; ++i) rows.push_back(tilescope::parsed_shapes(argv[i]));
    if (rows.empty()) {
      rows = {{{64, 64, 64}},      {{1024, 1024, 1024}}, {{4096, 4096, 4096}},
              {{1000, 999, 1001}}, {{16, 8192, 8192}},   {{8192, 8192, 8192}}};
    }
    return tilescope::run(argc > 1 ? std::atof(argv[1]) : 1e9, rows);
  } catch (const tilescope::Error& error) {
    fmt::print(stderr, "device_products: {}\n", error.what());
    return error.exit_code();
  }
}
