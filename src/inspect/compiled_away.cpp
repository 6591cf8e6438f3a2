#include "inspect/compiled_away.hpp"

#include <algorithm>

#include "compile/shared_stores.hpp"

namespace tilescope::inspect {

std::vector<Finding> compiled_away(const std::vector<SourceText>& sources, std::string_view kernel,
                                   const std::vector<std::string>& compiled) {
  std::vector<Finding> notes;
  for (const SourceText& source : sources) {
    if (source.language == SourceLanguage::ptx || source.name.empty()) continue;
    for (const compile::SharedStore& store : compile::shared_stores(source.text, kernel)) {
      // The compiler may split a structure and name the parts after it.
      const bool left = std::any_of(
          compiled.begin(), compiled.end(),
          [&](const std::string& symbol) { return symbol.find(store.variable) != symbol.npos; });
      if (left) continue;
      Finding& note = notes.emplace_back();
      note.kind = FindingKind::compiled_away;
      note.severity = Severity::note;
      note.kernel = kernel;
      note.first.place = {source.name, store.line};
      note.memory = MemoryPlace{.space = MemorySpace::shared, .object = store.variable};
    }
  }
  return notes;
}

}  // namespace tilescope::inspect
