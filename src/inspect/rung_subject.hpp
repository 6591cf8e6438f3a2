// A rung of a ladder as a subject.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "inspect/subject.hpp"
#include "operations/registry.hpp"

namespace tilescope::inspect {

class RungSubject : public Subject {
 public:
  /// Errors as make_operation; usage for a name that is not OPERATION/VARIANT, a variant that is
  /// not a Tilescope kernel, and a problem that it cannot run.
  RungSubject(const LadderRung& rung, Device& device);

  void launch() override { prepared_->run(0); }
  void require_launchable() const override {}  // checked when it was opened

 private:
  std::unique_ptr<operations::Operation> operation_;
  std::unique_ptr<operations::Prepared> prepared_;
};

/// The options with a size that is emulated in a moment, unless one was given.
ProblemOptions emulated_size(std::string_view operation, ProblemOptions options);

}  // namespace tilescope::inspect
