#include "ptx/scopes.hpp"

#include <charconv>

#include "ptx/diagnostics.hpp"

namespace tilescope::ptx {
namespace {

/// Nested braces beyond this are no program; every use of a name may walk them all.
constexpr std::uint32_t deepest_scope = 256;

}  // namespace

Scopes::Scopes(Function& function, std::function<bool(std::string_view)> outer_name)
    : function_(function), outer_name_(std::move(outer_name)), scopes_{{no_index}} {}

void Scopes::enter(std::uint32_t line) {
  if (depth_ == deepest_scope) fail(line, "scopes are nested more than {} deep", deepest_scope);
  scopes_.push_back({current_});
  current_ = static_cast<std::uint32_t>(scopes_.size() - 1);
  ++depth_;
}

bool Scopes::leave() {
  if (depth_ == 0) return false;
  current_ = scopes_[current_].parent;
  --depth_;
  return true;
}

void Scopes::declare(std::string_view name, NameEntry entry, std::uint32_t line) {
  if (!names_.try_emplace({current_, name}, entry).second) {
    fail(line, "{} is declared twice in one scope", quoted(name));
  }
  scopes_[current_].has_names = true;
}

void Scopes::declare_range(std::string_view prefix, std::uint64_t count, Type type,
                           std::uint8_t vector, std::uint32_t line) {
  if (!ranges_.try_emplace({current_, prefix}, Range{count, type, vector}).second) {
    fail(line, "the registers {} are declared twice in one scope", quoted(prefix));
  }
  scopes_[current_].has_names = true;
}

NameEntry* Scopes::find_in(std::uint32_t scope, std::string_view name) {
  const auto named = names_.find({scope, name});
  if (named != names_.end()) return &named->second;

  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || digits == 0) return nullptr;
  const auto range = ranges_.find({scope, name.substr(0, digits)});
  if (range == ranges_.end()) return nullptr;
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
  const bool leading_zero = name[digits] == '0' && digits + 1 < name.size();
  if (error != std::errc{} || leading_zero || number >= range->second.count) return nullptr;
  NameEntry entry;
  entry.type = range->second.type;
  entry.vector = range->second.vector;
  return &names_.emplace(Key{scope, name}, entry).first->second;
}

std::uint32_t Scopes::add_register(std::string_view name, Type type) {
  function_.registers.push_back({unique(name), type});
  return static_cast<std::uint32_t>(function_.registers.size() - 1);
}

std::uint32_t Scopes::component(std::string_view name, NameEntry& entry, unsigned which) {
  std::uint32_t& index = entry.components[which];
  if (index == no_index) {
    index = add_register(fmt::format("{}_{}", name, "xyzw"[which]), entry.type);
  }
  return index;
}

NameEntry* Scopes::find(std::string_view name) {
  for (std::uint32_t scope = current_; scope != no_index; scope = scopes_[scope].parent) {
    if (!scopes_[scope].has_names) continue;
    NameEntry* entry = find_in(scope, name);
    if (entry == nullptr) continue;
    const bool scalar = entry->kind == NameEntry::Kind::reg && entry->vector == 1;
    if (scalar && entry->index == no_index) entry->index = add_register(name, entry->type);
    return entry;
  }
  return nullptr;
}

void Scopes::define_label(std::string_view name, std::uint32_t instruction, std::uint32_t line) {
  const auto index = static_cast<std::uint32_t>(function_.labels.size());
  if (!labels_.try_emplace({current_, name}, index).second) {
    fail(line, "the label {} is defined twice in one scope", quoted(name));
  }
  function_.labels.push_back({unique(name), instruction});
}

std::uint32_t Scopes::refer_label(std::string_view name, std::uint32_t line) {
  label_uses_.push_back({current_, line, name});
  return static_cast<std::uint32_t>(label_uses_.size() - 1);
}

std::vector<std::uint32_t> Scopes::resolve_labels() const {
  std::vector<std::uint32_t> resolved;
  resolved.reserve(label_uses_.size());
  for (const LabelUse& use : label_uses_) {
    std::uint32_t found = no_index;
    for (std::uint32_t scope = use.scope; scope != no_index && found == no_index;
         scope = scopes_[scope].parent) {
      const auto entry = labels_.find({scope, use.name});
      if (entry != labels_.end()) found = entry->second;
    }
    if (found == no_index) fail(use.line, "the label {} is not defined", quoted(use.name));
    resolved.push_back(found);
  }
  return resolved;
}

std::string Scopes::unique(std::string_view name) {
  std::string candidate(name);
  if (!outer_name_(name) && used_.insert(candidate).second) return candidate;
  std::uint32_t& suffix = next_suffix_[candidate];
  do {
    candidate = fmt::format("{}${}", name, ++suffix);
  } while (outer_name_(candidate) || !used_.insert(candidate).second);
  return candidate;
}

}  // namespace tilescope::ptx
