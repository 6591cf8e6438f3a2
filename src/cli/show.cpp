#include "cli/show.hpp"

#include "base/output_file.hpp"
#include "cli/command.hpp"
#include "report/json/json_renderer.hpp"

namespace tilescope::cli {

void show(const report::Page& page, const std::string& json_target,
          const report::TextStyle& style) {
  if (json_target != "-") print(report::render_text(page, style));
  if (json_target.empty()) return;
  const std::string json = report::render_json(page);
  if (json_target == "-") {
    print(json);
    return;
  }
  OutputFile file(json_target);
  file.append(json);
  file.commit();
}

void show_so_far(report::Page& page, const std::string& json_target) {
  if (json_target != "-") print(report::render_text(page));
  page.blocks.clear();
}

}  // namespace tilescope::cli
