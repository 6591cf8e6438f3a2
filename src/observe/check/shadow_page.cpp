#include "observe/check/shadow_page.hpp"

namespace tilescope::observe {

ShadowPage* GlobalShadow::find(std::uint64_t number) {
  const auto [entry, fresh] = by_number_.try_emplace(number, nullptr);
  if (!fresh) return entry->second;
  if (used_.size() >= kMostPages) {
    by_number_.erase(entry);
    overflowed_ = true;
    return nullptr;
  }
  ShadowPage* page = nullptr;
  if (spare_.empty()) {
    owned_.push_back(std::make_unique<ShadowPage>());
    page = owned_.back().get();
  } else {
    page = spare_.back();
    spare_.pop_back();
  }
  // The contents of a spare page are older than the block and mean nothing.
  if (!page->cells || page->by_bytes) {
    page->cells = std::make_unique<Cell[]>(ShadowPage::kBytes / 4);
    page->by_bytes = false;
  }
  page->base = number * ShadowPage::kBytes;
  page->low = ShadowPage::kBytes;
  page->high = 0;
  used_.push_back(page);
  entry->second = page;
  return page;
}

void GlobalShadow::clear() {
  recent_.fill(nullptr);
  by_number_.clear();
  spare_.insert(spare_.end(), used_.begin(), used_.end());
  used_.clear();
}

}  // namespace tilescope::observe
