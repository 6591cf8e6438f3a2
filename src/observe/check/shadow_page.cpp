#include "observe/check/shadow_page.hpp"

namespace tilescope::observe {

void PageTable::put(std::uint64_t key, ShadowPage* page) {
  std::size_t at = place_of(key >> 8);
  while ((slots_[at & (slots_.size() - 1)].key & kGenerations) == generation_) ++at;
  slots_[at & (slots_.size() - 1)] = {key, page};
}

void PageTable::insert(std::uint64_t number, ShadowPage* page) {
  if (++used_ > slots_.size() / 2) {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before) {
      if ((slot.key & kGenerations) == generation_) put(slot.key, slot.page);
    }
  }
  put(key_of(number), page);
}

void PageTable::clear() {
  used_ = 0;
  if (++generation_ > kGenerations) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    generation_ = 1;
  }
}

ShadowPage* GlobalShadow::add(std::uint64_t number) {
  if (used_.size() >= kMostPages) {
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
  page->by_bytes = false;
  page->by_rows = true;
  page->rows.clear();
  page->base = number * ShadowPage::kBytes;
  page->low = ShadowPage::kBytes;
  page->high = 0;
  used_.push_back(page);
  table_.insert(number, page);
  return page;
}

void GlobalShadow::clear() {
  table_.clear();
  spare_.insert(spare_.end(), used_.begin(), used_.end());
  used_.clear();
}

}  // namespace tilescope::observe
