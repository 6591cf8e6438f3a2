#include "inspect/open_subject.hpp"

#include <fmt/format.h>

#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "inspect/rung_subject.hpp"
#include "inspect/user_kernel.hpp"

namespace tilescope {

bool is_kernel_file(std::string_view path) {
  return path.ends_with(".cu") || path.ends_with(".cuh") || path.ends_with(".ptx");
}

namespace inspect {

SourceText source_of(const Target& target) {
  if (const auto* text = std::get_if<SourceText>(&target)) return *text;
  const std::string& path = std::get<SourceFile>(target).path;
  return {.text = read_text_file(path),
          .name = path,
          .language = path.ends_with(".ptx") ? SourceLanguage::ptx : SourceLanguage::cuda};
}

void require_no_launch(const LaunchDescription& launch, const std::vector<std::string>& files) {
  if (launch == LaunchDescription{} || files.empty()) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} is a whole program, which makes its own launches; --kernel, --grid, "
                          "--arg and the like are for a kernel alone",
                          quoted(files.front())));
}

std::unique_ptr<Subject> open_subject(const Target& target, const LaunchDescription& launch,
                                      Device& device) {
  const auto* rung = std::get_if<LadderRung>(&target);
  if (!rung) return std::make_unique<UserKernel>(device, source_of(target), launch);
  if (launch != LaunchDescription{}) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has its own launch; --kernel, --grid, --arg and the like are "
                            "for files",
                            rung->name));
  }
  return std::make_unique<RungSubject>(*rung, device);
}

}  // namespace inspect
}  // namespace tilescope
