// The result of an inspection as other tools take it: what was looked at, and what was found where,
// without layout. The renderers of formats/ make annotations, test cases and the like of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::report {

/// A line of a source, and what happened there.
struct AnnotatedPlace {
  std::string file;
  std::uint32_t line = 0;   ///< 0: about the file, or if that is empty about the launch
  std::string source = {};  ///< the line's text; empty: not known
  std::string text = {};    ///< "write of 4 bytes: block (0,0,0), thread (1,0,0)"; may be empty
};

/// One defect or remark.
struct Annotation {
  std::string severity;                ///< "error", "warning" or "note"
  bool fails = false;                  ///< it makes the command fail
  std::string kind;                    ///< "race", "bank-conflict", ...
  std::string rule;                    ///< the kind in one sentence
  std::string kernel = {};             ///< empty: host code
  std::string test_case;               ///< of Outcome::cases, or another
  std::string message;                 ///< sentences
  std::string cure = {};               ///< a sentence; may be empty
  std::vector<AnnotatedPlace> places;  ///< the first is its own; at least one
};

struct Outcome {
  std::string target;
  std::string file = {};                     ///< of the target; empty: it is none
  std::vector<std::string> cases = {};       ///< the kernels and budgets that were checked
  std::vector<Annotation> annotations = {};  ///< in the order of the report
  std::string broken = {};  ///< why the run says too little to pass; empty: it says enough
  std::string foot = {};    ///< how much was looked at

  /// Nothing in it makes the command fail, and the run says enough.
  bool passes() const {
    return broken.empty() && std::none_of(annotations.begin(), annotations.end(),
                                          [](const Annotation& one) { return one.fails; });
  }
};

}  // namespace tilescope::report
