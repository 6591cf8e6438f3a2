#include <nanobind/stl/string.h>

#include "page_object.hpp"
#include "report/html/html_renderer.hpp"
#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::python {

nb::object page_object(report::Page page) {
  return nb::cast(std::move(page));
}

void bind_reports(nb::module_& module) {
  nb::class_<report::Page>(module, "Page")
      .def("json", [](const report::Page& page) { return report::render_json(page); })
      .def("text", [](const report::Page& page) { return report::render_text(page); })
      .def("html", [](const report::Page& page) { return report::render_html(page); });
}

}  // namespace tilescope::python
