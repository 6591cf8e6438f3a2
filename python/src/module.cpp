#include "bindings.hpp"

NB_MODULE(_tilescope, module) {
  using namespace tilescope::python;
  module.doc() = "The compiled part of tilescope; use the package `tilescope`.";
  module.attr("__version__") = TILESCOPE_VERSION;
  bind_command(module);
  bind_errors(module);
  bind_reports(module);
  bind_products(module);
  bind_companions(module);
  bind_ladders(module);
  bind_inspections(module);
  bind_triton(module);
}
