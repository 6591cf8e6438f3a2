#include <array>
#include <bit>
#include <functional>
#include <mutex>
#include <string>
#include <tilescope/gemm.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operations/gemm/problem/host_problem.hpp"

namespace tilescope {
namespace operations {

/// Everything that decides which kernels a call launches with which arguments, but for its
/// operands' addresses.
struct CallKey {
  std::array<std::int64_t, 40> numbers{};
  std::string variant;

  friend bool operator==(const CallKey&, const CallKey&) = default;
};

struct CallHash {
  template <typename Key>
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = std::hash<std::string>()(key.variant);
    for (const std::int64_t number : key.numbers) {
      hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29U;
    }
    return hash;
  }
};

static CallKey call_key(const ConstMatrixBatch& a, const ConstMatrixBatch& b,
                        const ConstMatrixBatch& c, const MatmulOptions& options,
                        const Stream& stream) {
  constexpr std::uintptr_t alignments = 16;
  CallKey key{.variant = options.variant};
  std::size_t at = 0;
  const auto add = [&](auto value) { key.numbers.at(at++) = static_cast<std::int64_t>(value); };
  for (const ConstMatrixBatch* batch : {&a, &b, &c}) {
    const ConstMatrixView& first = batch->first;
    add(reinterpret_cast<std::uintptr_t>(first.data) % alignments);
    add(first.type);
    add(first.rows);
    add(first.columns);
    add(first.order);
    add(first.leading);
    add(batch->count);
    add(batch->stride);
  }
  add(options.precision);
  add(std::bit_cast<std::int64_t>(options.alpha));
  add(std::bit_cast<std::int64_t>(options.beta));
  add(options.bias.size());
  add(options.activation);
  for (const OperandScales* scales : {&options.scale_a, &options.scale_b}) {
    add(reinterpret_cast<std::uintptr_t>(scales->values.data()));
    add(scales->values.size());
    add(scales->rows);
    add(scales->columns);
  }
  add(stream.value());
  return key;
}

struct Operands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  const float* bias = nullptr;

  friend bool operator==(const Operands&, const Operands&) = default;
};

/// Everything that a call of lists depends on.
struct ListKey {
  std::vector<std::int64_t> numbers = {};
  std::string variant = {};

  friend bool operator==(const ListKey&, const ListKey&) = default;
};

static ListKey list_key(std::span<const ConstMatrixView> a, std::span<const ConstMatrixView> b,
                        std::span<const MatrixView> c, const MatmulOptions& options,
                        const Stream& stream) {
  ListKey key{.variant = options.variant};
  const auto add = [&](auto value) { key.numbers.push_back(static_cast<std::int64_t>(value)); };
  const auto add_list = [&](auto list) {
    add(list.size());
    for (const ConstMatrixView& one : list) {
      add(reinterpret_cast<std::intptr_t>(one.data));
      add(one.type);
      add(one.rows);
      add(one.columns);
      add(one.order);
      add(one.leading);
    }
  };
  add_list(a);
  add_list(b);
  add_list(c);
  add(options.precision);
  add(std::bit_cast<std::int64_t>(options.alpha));
  add(std::bit_cast<std::int64_t>(options.beta));
  add(reinterpret_cast<std::intptr_t>(options.bias.data()));
  add(options.bias.size());
  add(options.activation);
  add(stream.value());
  return key;
}

/// A prepared product and the operands that it has now.
struct KeptProduct {
  PreparedGemm product;
  Operands operands;
  std::uint64_t stream = 0;
};

}  // namespace operations

using namespace operations;

struct Gemm::State {
  std::shared_ptr<Device> device;
  std::mutex mutex =
      {};  // also while kernels are queued: one product's must not be mixed with another's
  std::unordered_map<std::uint64_t, Buffer> workspaces = {};  // by stream
  std::unordered_map<CallKey, KeptProduct, CallHash> products = {};
  std::unordered_map<ListKey, PreparedGemm, CallHash> lists = {};

  /// A workspace of a stream. A larger one takes the place of the stream's, whose products are
  /// forgotten.
  GemmWorkspace workspace(std::uint64_t stream, std::size_t bytes) {
    if (bytes == 0) return {};
    Buffer& buffer = workspaces[stream];
    if (buffer.bytes() < bytes) {
      std::erase_if(products, [&](const auto& kept) { return kept.second.stream == stream; });
      device->synchronize();  // its work may still use the old one
      buffer = {};
      buffer = device->allocate(bytes, "the workspace of products", Reach::own);
    }
    return {reinterpret_cast<void*>(buffer.address()), buffer.bytes()};
  }

  KeptProduct& kept(const ConstMatrixBatch& a, const ConstMatrixBatch& b, const MatrixBatch& c,
                    const MatmulOptions& options, const Stream& stream) {
    CallKey key = call_key(a, b, {c.first, c.count, c.stride}, options, stream);
    if (const auto known = products.find(key); known != products.end()) return known->second;
    constexpr std::size_t most_kept = 512;
    if (products.size() >= most_kept) {
      device->synchronize();
      products.clear();
    }
    const std::size_t bytes = gemm_workspace_bytes(*device, a, b, c, options);
    KeptProduct product{
        .product = PreparedGemm(*device, a, b, c, options, workspace(stream.value(), bytes)),
        .operands = {a.first.data, b.first.data, c.first.data, options.bias.data()},
        .stream = stream.value()};
    return products.emplace(std::move(key), std::move(product)).first->second;
  }
};

Gemm::Gemm(std::shared_ptr<Device> device) : state_(new State{.device = std::move(device)}) {}
Gemm::Gemm(Gemm&& other) noexcept = default;
Gemm& Gemm::operator=(Gemm&& other) noexcept = default;
Gemm::~Gemm() = default;

void Gemm::operator()(const ConstMatrixBatch& a, const ConstMatrixBatch& b, const MatrixBatch& c,
                      const MatmulOptions& options, const Stream& stream) {
  const std::lock_guard lock(state_->mutex);
  KeptProduct& kept = state_->kept(a, b, c, options, stream);
  const Operands operands{a.first.data, b.first.data, c.first.data, options.bias.data()};
  if (operands != kept.operands) {
    kept.product.set_operands(a.first.data, b.first.data, c.first.mutable_data(),
                              options.bias.data());
    kept.operands = operands;
  }
  kept.product.launch(stream);
}

void Gemm::operator()(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                      const MatmulOptions& options, const Stream& stream) {
  (*this)(ConstMatrixBatch{a}, ConstMatrixBatch{b}, MatrixBatch{c}, options, stream);
}

void Gemm::operator()(std::span<const ConstMatrixView> a, std::span<const ConstMatrixView> b,
                      std::span<const MatrixView> c, const MatmulOptions& options,
                      const Stream& stream) {
  require_unscaled(options);
  const std::lock_guard lock(state_->mutex);
  ListKey key = list_key(a, b, c, options, stream);
  auto known = state_->lists.find(key);
  if (known == state_->lists.end()) {
    constexpr std::size_t most_kept = 64;
    if (state_->lists.size() >= most_kept) {
      state_->device->synchronize();  // their work may still use their tables
      state_->lists.clear();
    }
    PreparedGemm product(*state_->device, a, b, c, options);
    known = state_->lists.emplace(std::move(key), std::move(product)).first;
  }
  known->second.launch(stream);
}

}  // namespace tilescope
