// The line table of .file, .loc and the strings that .loc names: from it every
// instruction gets its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/module.hpp"

namespace tilescope::ptx {

class LineTable {
 public:
  explicit LineTable(Module& module) : module_(module) {}

  struct Place {
    std::uint32_t file, line, column;
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// The place in .debug_str where a name begins: a label and a distance from it.
  struct NameAt {
    std::string_view label;
    std::uint64_t offset = 0;
    friend bool operator==(const NameAt&, const NameAt&) = default;
  };

  void set_file(std::uint32_t index, std::string_view path) { module_.files[index] = path; }
  /// The instructions that follow come from `place`; from the function at
  /// `name` if that was inlined where `call` is.
  void set(const Place& place, const NameAt& name, const std::optional<Place>& call);
  void add_string_byte(char byte) { strings_ += byte; }
  void add_string_label(std::string_view label) { labels_[label] = strings_.size(); }

  /// The place of the next instruction: an index in Module::locations, or
  /// no_index.
  std::uint32_t current() const { return current_; }
  /// A function begins: the place of the code before it does not apply to it.
  void reset() { current_ = no_index; }
  /// Called after the whole text: writes the names of inlined functions into the locations.
  void resolve_names();

 private:
  struct Key {
    Place place;
    std::uint32_t inlined_at;
    NameAt name;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::uint32_t intern(const Key& key);
  std::string name_at(const NameAt& name) const;

  Module& module_;
  std::uint32_t current_ = no_index;
  std::unordered_map<Key, std::uint32_t, KeyHash> known_;
  std::vector<NameAt> names_;  ///< by location
  /// The latest location at each (file, line, column), inlined or not, to which inlined_at refers.
  std::unordered_map<Key, std::uint32_t, KeyHash> latest_;
  std::string strings_;  ///< the bytes of .debug_str
  std::unordered_map<std::string_view, std::size_t> labels_;
};

}  // namespace tilescope::ptx
