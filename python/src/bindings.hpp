// The parts of the module `tilescope._tilescope`; each adds its functions to it.
#pragma once

#include <nanobind/nanobind.h>

namespace tilescope::python {

namespace nb = nanobind;

void bind_command(nb::module_& module);
void bind_errors(nb::module_& module);
void bind_reports(nb::module_& module);
void bind_products(nb::module_& module);
void bind_companions(nb::module_& module);
void bind_ladders(nb::module_& module);
void bind_inspections(nb::module_& module);
void bind_triton(nb::module_& module);

}  // namespace tilescope::python
