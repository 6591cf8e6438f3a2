// The order of a segment's items. A tile of sums in registers, such as 8 x 8 of each lane, has more
// of them than the CPU has vectors: step by step of k, each is loaded and stored again. So the
// products of a few sums at a time go through all steps, behind the loads of all steps.
#include <algorithm>
#include <iterator>

#include "emulator/compiled/segment.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::size_t kManySums = 10;      // do not stay in the CPU's registers
constexpr std::size_t kTogether = 8;       // sums that do, with what they need
constexpr std::size_t kLeastProducts = 2;  // of a sum, on average

bool is_product(const Item& item) {
  return item.way == Way::vector && item.operation->act == Act::real_fma &&
         item.operation->width == 4 && item.in_slots[2] == kNoSlot;
}

}  // namespace

/// False: the item must come behind the products so far, so that a new stretch begins with it.
bool ItemOrder::add(const std::vector<Item>& items, std::size_t i) {
  const Item& item = items[i];
  if (is_product(item)) return add_product(item, i);
  const Operation& operation = *item.operation;
  if (operation.writes_memory()) return false;
  // It would come before the products: they neither write what it reads, nor read or write what it
  // writes.
  return std::none_of(operation.in.begin(), operation.in.end(),
                      [&](std::uint32_t reg) { return sum_of_[reg] >= 0; }) &&
         std::none_of(operation.out.begin(), operation.out.end(),
                      [&](std::uint32_t reg) { return sum_of_[reg] >= 0 || read_[reg] != 0; });
}

bool ItemOrder::add_product(const Item& product, std::size_t i) {
  const Operation& operation = *product.operation;
  const std::uint32_t from = operation.in[2], to = operation.out[0];
  for (const std::size_t factor : {0, 1}) {
    if (sum_of_[operation.in[factor]] >= 0) return false;
  }
  int sum = sum_of_[from];
  const bool in_place = to == from && sum >= 0;
  if (!in_place && (sum_of_[to] >= 0 || read_[to] != 0)) return false;
  if (sum < 0) {
    sum = static_cast<int>(sums_.size());
    sums_.emplace_back();
  }
  for (const std::size_t factor : {0, 1}) read_.set(operation.in[factor], 1);
  if (to != from) read_.set(from, 1);
  sum_of_.set(to, sum);
  sums_[static_cast<std::size_t>(sum)].push_back(i);
  return true;
}

/// Orders the items of a stretch, and forgets it.
void ItemOrder::close(std::vector<Item>& items, std::size_t begin, std::size_t end) {
  std::size_t products = 0;
  for (const auto& sum : sums_) products += sum.size();
  if (sums_.size() >= kManySums && products >= kLeastProducts * sums_.size()) {
    std::vector<Item> ordered;
    ordered.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_product(items[i])) ordered.push_back(std::move(items[i]));
    }
    for (std::size_t first = 0; first < sums_.size(); first += kTogether) {
      const std::size_t behind = std::min(first + kTogether, sums_.size());
      std::size_t left = 1;
      for (std::size_t step = 0; left != 0; ++step) {
        left = 0;
        for (std::size_t sum = first; sum < behind; ++sum) {
          if (step >= sums_[sum].size()) continue;
          ordered.push_back(std::move(items[sums_[sum][step]]));
          ++left;
        }
      }
    }
    std::move(ordered.begin(), ordered.end(), items.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  sums_.clear();
  read_.reset();
  sum_of_.reset();
}

void ItemOrder::apply(std::vector<Item>& items) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (add(items, i)) continue;
    close(items, begin, i);
    begin = i;
    if (!add(items, i)) begin = i + 1;
  }
  close(items, begin, items.size());
}

}  // namespace tilescope::emulator::compiled
