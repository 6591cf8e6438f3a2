// Compares two modules in everything but the numbers of the lines they were written on.
#pragma once

#include <string>

#include "ptx/location.hpp"
#include "ptx/module.hpp"
#include "ptx/print.hpp"

namespace tilescope::ptx {

inline Variable without_line(Variable variable) {
  variable.line = 0;
  return variable;
}

/// "" when both are the same, else the first difference.
inline std::string difference(const Module& a, const Function& f, const Module& b,
                              const Function& g) {
  if (f.name != g.name) return "name " + f.name + " / " + g.name;
  const std::string where = " of " + f.name;
  if (f.is_entry != g.is_entry || f.has_body != g.has_body || f.noreturn != g.noreturn ||
      f.linkage != g.linkage || f.alias_of != g.alias_of || f.bounds != g.bounds) {
    return "head" + where;
  }
  if (f.returns != g.returns || f.parameters != g.parameters) return "parameters" + where;
  if (f.registers != g.registers) return "registers" + where;
  if (f.labels != g.labels) return "labels" + where;
  if (f.calls != g.calls || f.prototypes != g.prototypes) return "calls" + where;
  if (f.branch_targets != g.branch_targets || f.call_targets != g.call_targets) {
    return "targets" + where;
  }
  if (f.unknown_texts != g.unknown_texts) return "unknown texts" + where;
  if (f.variables.size() != g.variables.size()) return "variables" + where;
  for (std::size_t i = 0; i < f.variables.size(); ++i) {
    if (without_line(f.variables[i]) != without_line(g.variables[i])) {
      return "variable " + f.variables[i].name + where;
    }
  }
  if (f.instructions.size() != g.instructions.size()) return "number of instructions" + where;
  for (std::size_t i = 0; i < f.instructions.size(); ++i) {
    const Instruction& x = f.instructions[i];
    const Instruction& y = g.instructions[i];
    const std::string text = print(a, f, x) + where;
    if (x.opcode != y.opcode || x.modifiers != y.modifiers || x.operands != y.operands ||
        x.guard != y.guard || x.guard_negated != y.guard_negated || x.detail != y.detail) {
      return text;
    }
    const auto p = inline_chain(a, x);
    const auto q = inline_chain(b, y);
    if (p.size() != q.size()) return "inline depth at " + text;
    for (std::size_t k = 0; k < p.size(); ++k) {
      if (p[k].file != q[k].file || p[k].line != q[k].line || p[k].column != q[k].column ||
          p[k].function != q[k].function) {
        return "location of " + text;
      }
    }
  }
  return "";
}

inline std::string difference(const Module& a, const Module& b) {
  if (a.version_major != b.version_major || a.version_minor != b.version_minor ||
      a.target != b.target || a.target_options != b.target_options ||
      a.address_size != b.address_size || a.files != b.files) {
    return "head of the module";
  }
  if (a.variables.size() != b.variables.size()) return "number of variables";
  for (std::size_t i = 0; i < a.variables.size(); ++i) {
    if (without_line(a.variables[i]) != without_line(b.variables[i])) {
      return "variable " + a.variables[i].name;
    }
  }
  if (a.functions.size() != b.functions.size()) return "number of functions";
  for (std::size_t i = 0; i < a.functions.size(); ++i) {
    const std::string found = difference(a, a.functions[i], b, b.functions[i]);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tilescope::ptx
