// The library's errors as Python's exceptions: the kinds that Python has are subclasses of those.
#include <array>
#include <exception>
#include <new>
#include <tilescope/error.hpp>
#include <tilescope/launch_description.hpp>

#include "bindings.hpp"

namespace tilescope::python {
namespace {

struct ExceptionTypes {
  PyObject *error, *usage, *device, *input, *wrong_result;
};

// They live as long as the interpreter.
ExceptionTypes& types() {
  static ExceptionTypes kept{};
  return kept;
}

PyObject* new_exception(nb::module_& module, const char* name, const char* documentation,
                        PyObject* base, PyObject* builtin) {
  const nb::object bases = builtin
                               ? nb::object(nb::make_tuple(nb::handle(base), nb::handle(builtin)))
                               : nb::borrow(base);
  const std::string full_name = std::string("tilescope.") + name;
  PyObject* const type =
      PyErr_NewExceptionWithDoc(full_name.c_str(), documentation, bases.ptr(), nullptr);
  if (!type) throw nb::python_error();
  module.attr(name) = nb::handle(type);
  return type;
}

PyObject* type_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return types().usage;
    case ErrorKind::no_device:
      return types().device;
    case ErrorKind::bad_input:
      return types().input;
    case ErrorKind::wrong_result:
      return types().wrong_result;
  }
  return types().error;
}

void translate(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    PyErr_SetString(type_of(error.kind()), error.what());
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  ExceptionTypes& kept = types();
  kept.error = new_exception(module, "Error", "Any error of Tilescope; its text is one line.",
                             PyExc_Exception, nullptr);
  kept.usage = new_exception(module, "UsageError",
                             "Arguments that contradict each other or a documented limit.",
                             kept.error, PyExc_ValueError);
  kept.device =
      new_exception(module, "DeviceError", "No device, driver or compiler that can do the work.",
                    kept.error, PyExc_RuntimeError);
  kept.input = new_exception(module, "InputError",
                             "A file or source that is missing, damaged or cannot be compiled.",
                             kept.error, PyExc_ValueError);
  kept.wrong_result =
      new_exception(module, "WrongResultError", "A result that failed its verification.",
                    kept.error, PyExc_RuntimeError);
  nb::register_exception_translator(translate);
}

}  // namespace tilescope::python
