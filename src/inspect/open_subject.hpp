// From a target to a subject that can be launched.
#pragma once

#include <memory>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <tilescope/target.hpp>

#include "inspect/subject.hpp"

namespace tilescope::inspect {

/// Prepares everything; nothing runs yet. Errors as check().
std::unique_ptr<Subject> open_subject(const Target& target, const LaunchDescription& launch,
                                      Device& device);

/// Throws Error(usage) if there is a launch: a whole program makes its own.
void require_no_launch(const LaunchDescription& launch, const std::vector<std::string>& files);

/// The text of a target that is a kernel's source. Throws Error(bad_input) for a file that cannot
/// be read.
SourceText source_of(const Target& target);

}  // namespace tilescope::inspect
