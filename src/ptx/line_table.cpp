#include "ptx/line_table.hpp"

#include <algorithm>

namespace tilescope::ptx {
std::size_t LineTable::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = std::hash<std::string_view>{}(key.name.label) + key.name.offset;
  for (const std::uint32_t part :
       {key.place.file, key.place.line, key.place.column, key.inlined_at}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return hash;
}

std::uint32_t LineTable::intern(const Key& key) {
  const auto [entry, added] =
      known_.try_emplace(key, static_cast<std::uint32_t>(module_.locations.size()));
  if (added) {
    module_.locations.push_back(
        {key.place.file, key.place.line, key.place.column, {}, key.inlined_at});
    names_.push_back(key.name);
  }
  latest_[{key.place, no_index, {}}] = entry->second;
  return entry->second;
}

void LineTable::set(const Place& place, const NameAt& name, const std::optional<Place>& call) {
  Key key{place, no_index, name};
  if (call) {
    // The place of the call is an earlier .loc, which records where it was inlined in turn.
    const Key there{*call, no_index, {}};
    const auto latest = latest_.find(there);
    key.inlined_at = latest == latest_.end() ? intern(there) : latest->second;
  }
  current_ = intern(key);
}

std::string LineTable::name_at(const NameAt& name) const {
  const auto label = labels_.find(name.label);
  if (label == labels_.end()) return {};
  const std::size_t begin = label->second + name.offset;
  if (begin >= strings_.size()) return {};
  const std::size_t end = std::min(strings_.find('\0', begin), strings_.size());
  // A name cannot be as long as the whole table; without its terminator one
  // might be.
  constexpr std::size_t longest = 4096;
  return strings_.substr(begin, std::min(end - begin, longest));
}

void LineTable::resolve_names() {
  std::size_t budget = 64u << 20;  // bytes: many locations may share one long name
  for (std::size_t i = 0; i < names_.size() && budget != 0; ++i) {
    if (names_[i].label.empty()) continue;
    module_.locations[i].function = name_at(names_[i]);
    budget -= std::min(budget, module_.locations[i].function.size());
  }
}

}  // namespace tilescope::ptx
