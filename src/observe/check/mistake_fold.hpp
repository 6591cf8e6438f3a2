// Mistakes of the same kind at the same instructions, folded into one.
#pragma once

#include <cstdint>
#include <map>

namespace tilescope::observe {

/// Keeps the example of the lowest block for each `Key`, so that the result does not depend on the
/// order in which blocks ran. `Mistake` has `first.block`, its linear block.
template <class Key, class Mistake>
class MistakeFold {
 public:
  struct Folded {
    Mistake mistake;
    std::uint64_t count = 1;
  };

  void add(const Key& key, const Mistake& mistake) { fold(key, {mistake, 1}); }

  void merge(const MistakeFold& other) {
    for (const auto& [key, folded] : other.folded_) fold(key, folded);
  }

  auto begin() const { return folded_.begin(); }
  auto end() const { return folded_.end(); }

 private:
  void fold(const Key& key, const Folded& more) {
    const auto [found, fresh] = folded_.try_emplace(key, more);
    if (fresh) return;
    Folded& known = found->second;
    known.count += more.count;
    if (more.mistake.first.block < known.mistake.first.block) known.mistake = more.mistake;
  }

  std::map<Key, Folded> folded_;
};

}  // namespace tilescope::observe
