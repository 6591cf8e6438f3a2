// Pages of a report as objects of Python: what a command prints, as text, JSON and HTML.
#pragma once

#include "bindings.hpp"
#include "report/page/page.hpp"

namespace tilescope::python {

/// A `tilescope._tilescope.Page` with methods json(), text() and html().
nb::object page_object(report::Page page);

}  // namespace tilescope::python
