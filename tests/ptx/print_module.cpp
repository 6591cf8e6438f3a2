// Everything around the instructions: variables, functions, the line table.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "ptx/print.hpp"

namespace tilescope::ptx {
namespace {

std::string_view linkage_word(Linkage linkage) {
  switch (linkage) {
    case Linkage::visible:
      return ".visible ";
    case Linkage::external:
      return ".extern ";
    case Linkage::weak:
      return ".weak ";
    case Linkage::common:
      return ".common ";
    case Linkage::internal:
      break;
  }
  return "";
}

class ModulePrinter {
 public:
  explicit ModulePrinter(const Module& module) : module_(module) {}

  std::string print() {
    write(".version {}.{}\n.target {}", module_.version_major, module_.version_minor,
          module_.target);
    for (const std::string& option : module_.target_options) write(", {}", option);
    write("\n.address_size {}\n", module_.address_size);
    for (const auto& [number, path] : module_.files) write(".file {} \"{}\"\n", number, path);
    print_functions();
    for (const Function& function : module_.functions) {
      if (function.alias_of == no_index) continue;
      write(".alias {}, {};\n", function.name, module_.functions[function.alias_of].name);
    }
    print_strings();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void write(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  /// In the order of the tables, so that a second parse gives the same indices. A kernel cannot be
  /// declared ahead of its body; whatever it calls stands before it. A variable may hold the
  /// address of a function.
  void print_functions() {
    const auto declare = [this](const Function& function) {
      if (function.is_entry && function.has_body) return print_function(function);
      print_head(function);
      out_ += ";\n";
    };
    auto function = module_.functions.begin();
    while (function != module_.functions.end() && !function->is_entry) declare(*function++);
    for (const Variable& variable : module_.variables) print_variable(variable);
    while (function != module_.functions.end()) declare(*function++);
    for (const Function& each : module_.functions) {
      if (each.has_body && !each.is_entry) print_function(each);
    }
  }

  void print_parameter(const Parameter& parameter) {
    write("{} .align {}", parameter.in_register ? ".reg" : ".param", parameter.alignment);
    if (parameter.vector > 1) write(" .v{}", parameter.vector);
    write(" .{}", name(parameter.type));
    if (parameter.pointer) {
      out_ += " .ptr";
      if (parameter.pointer_space != Space::none) write(" .{}", name(parameter.pointer_space));
      if (parameter.pointer_alignment != 0) write(" .align {}", parameter.pointer_alignment);
    }
    write(" {}", parameter.name);
    if (parameter.unsized) {
      out_ += "[]";
    } else if (parameter.is_array) {
      write("[{}]", parameter.element_count);
    }
  }

  void print_parameters(const std::vector<Parameter>& parameters) {
    out_ += '(';
    for (const Parameter& parameter : parameters) {
      if (&parameter != &parameters.front()) out_ += ", ";
      print_parameter(parameter);
    }
    out_ += ')';
  }

  void print_dimensions(std::string_view word, const std::array<std::uint32_t, 3>& dims) {
    if (dims[0] != 0) write(" {} {}, {}, {}", word, dims[0], dims[1], dims[2]);
  }

  void print_head(const Function& function) {
    write("{}{} ", linkage_word(function.linkage), function.is_entry ? ".entry" : ".func");
    if (!function.returns.empty()) {
      print_parameters(function.returns);
      out_ += ' ';
    }
    out_ += function.name;
    print_parameters(function.parameters);
    const LaunchBounds& bounds = function.bounds;
    print_dimensions(".maxntid", bounds.maxntid);
    print_dimensions(".reqntid", bounds.reqntid);
    print_dimensions(".reqnctapercluster", bounds.reqnctapercluster);
    const auto limit = [this](std::string_view word, std::uint32_t value) {
      if (value != 0) write(" {} {}", word, value);
    };
    limit(".minnctapersm", bounds.minnctapersm);
    limit(".maxnctapersm", bounds.maxnctapersm);
    limit(".maxnreg", bounds.maxnreg);
    limit(".maxclusterrank", bounds.maxclusterrank);
    if (bounds.explicit_cluster) out_ += " .explicitcluster";
    if (bounds.blocks_are_clusters) out_ += " .blocksareclusters";
    if (function.noreturn) out_ += " .noreturn";
  }

  void print_variable(const Variable& variable) {
    write("{}.{} .align {}", linkage_word(variable.linkage), name(variable.space),
          variable.alignment);
    if (variable.managed) out_ += " .attribute(.managed)";
    if (variable.vector > 1) write(" .v{}", variable.vector);
    write(" .{} {}", name(variable.type), variable.name);
    for (std::size_t i = 0; i < variable.dims.size(); ++i) {
      if (i == 0 && variable.unsized) {
        out_ += "[]";
      } else {
        write("[{}]", variable.dims[i]);
      }
    }
    if (variable.initialized && is_opaque(variable.type)) {
      print_fields(variable);
    } else if (variable.initialized) {
      print_initial(variable);
    }
    out_ += ";\n";
  }

  static bool is_opaque(Type type) {
    return type == Type::texref || type == Type::samplerref || type == Type::surfref;
  }

  /// Prints the fields of a sampler, a byte each; other handles have none.
  void print_fields(const Variable& variable) {
    constexpr std::string_view fields[] = {"filter_mode", "addr_mode_0", "addr_mode_1",
                                           "addr_mode_2", "force_unnormalized_coords"};
    out_ += " = {";
    for (std::size_t i = 0; i < std::min(std::size(fields), variable.initial.size()); ++i) {
      write("{}{} = {}", i == 0 ? "" : ", ", fields[i], variable.initial[i]);
    }
    out_ += '}';
  }

  /// Prints the values as one flat list of scalars. Trailing zeros may be missing.
  void print_initial(const Variable& variable) {
    const std::uint64_t width = byte_size(variable.type);
    std::uint64_t bytes = std::max<std::uint64_t>(variable.initial.size(), width);
    for (const Relocation& each : variable.relocations) {
      bytes = std::max(bytes, each.offset + each.width);
    }
    auto relocation = variable.relocations.begin();
    const bool braces = !variable.dims.empty() || variable.vector > 1;
    out_ += braces ? " = {" : " = ";
    for (std::uint64_t at = 0; at < bytes; at += width) {
      if (at != 0) out_ += ", ";
      if (relocation != variable.relocations.end() && relocation->offset == at) {
        print_relocation(*relocation++, width);
      } else {
        print_scalar(variable, at, width);
      }
    }
    if (braces) out_ += '}';
  }

  void print_scalar(const Variable& variable, std::uint64_t at, std::uint64_t width) {
    std::uint64_t bits = 0;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(width, 8); ++i) {
      if (at + i < variable.initial.size()) {
        bits |= std::uint64_t{variable.initial[at + i]} << (8 * i);
      }
    }
    if (variable.type == Type::f32) {
      write("0f{:08X}", bits);
    } else if (variable.type == Type::f64) {
      write("0d{:016X}", bits);
    } else {
      write("{}", bits);
    }
  }

  void print_relocation(const Relocation& relocation, std::uint64_t width) {
    const std::string_view symbol = relocation.symbol.kind == SymbolKind::function
                                        ? module_.functions[relocation.symbol.index].name
                                        : module_.variables[relocation.symbol.index].name;
    const bool masked = width == 1;
    if (masked) write("{}(", std::uint64_t{0xff} << relocation.shift);
    if (relocation.generic) {
      write("generic({})", symbol);
    } else {
      out_ += symbol;
    }
    if (relocation.addend != 0) write("+{}", relocation.addend);
    if (masked) out_ += ')';
  }

  /// A place stands behind the place of its call, which is how the reader finds that.
  void print_location(std::uint32_t index) {
    std::vector<std::uint32_t> chain;
    for (; index != no_index && chain.size() < 256; index = module_.locations[index].inlined_at) {
      chain.push_back(index);
    }
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
      const Location& location = module_.locations[*each];
      write("  .loc {} {} {}", location.file, location.line, location.column);
      if (location.inlined_at != no_index) {
        const Location& call = module_.locations[location.inlined_at];
        const auto [name, added] = strings_.try_emplace(location.function, strings_.size());
        write(", function_name $name_{}, inlined_at {} {} {}", name->second, call.file, call.line,
              call.column);
      }
      out_ += '\n';
    }
  }

  void print_function(const Function& function) {
    print_head(function);
    out_ += "\n{\n";
    std::vector<bool> declared(function.registers.size(), false);  // as a parameter
    for (const auto* list : {&function.parameters, &function.returns}) {
      for (const Parameter& each : *list) {
        if (each.reg != no_index) declared[each.reg] = true;
      }
    }
    for (std::size_t i = 0; i < function.registers.size(); ++i) {
      const Register& reg = function.registers[i];
      if (!declared[i]) write("  .reg .{} {};\n", name(reg.type), reg.name);
    }
    for (const Variable& variable : function.variables) {
      out_ += "  ";
      print_variable(variable);
    }
    print_tables(function);
    print_code(function);
    out_ += "}\n";
  }

  void print_tables(const Function& function) {
    for (const Prototype& prototype : function.prototypes) {
      write("  {}: .callprototype ", prototype.name);
      if (!prototype.returns.empty()) print_parameters(prototype.returns);
      out_ += " _ ";
      print_parameters(prototype.parameters);
      out_ += ";\n";
    }
    for (std::size_t i = 0; i < function.branch_targets.size(); ++i) {
      write("  $targets_{}: .branchtargets ", i);
      for (std::size_t k = 0; k < function.branch_targets[i].size(); ++k) {
        write("{}{}", k == 0 ? "" : ", ", function.labels[function.branch_targets[i][k]].name);
      }
      out_ += ";\n";
    }
    for (std::size_t i = 0; i < function.call_targets.size(); ++i) {
      write("  $callees_{}: .calltargets ", i);
      for (std::size_t k = 0; k < function.call_targets[i].size(); ++k) {
        write("{}{}", k == 0 ? "" : ", ", module_.functions[function.call_targets[i][k]].name);
      }
      out_ += ";\n";
    }
  }

  void print_code(const Function& function) {
    auto label = function.labels.begin();
    const auto print_labels = [&](std::size_t instruction) {
      for (; label != function.labels.end() && label->instruction == instruction; ++label) {
        write("{}:\n", label->name);
      }
    };
    std::uint32_t location = no_index;
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      print_labels(i);
      const Instruction& instruction = function.instructions[i];
      if (instruction.location != location) print_location(instruction.location);
      location = instruction.location;
      write("  {};\n", ptx::print(module_, function, instruction));
    }
    print_labels(function.instructions.size());
  }

  void print_strings() {
    if (strings_.empty()) return;
    out_ += ".section .debug_str\n{\n";
    for (const auto& [text, number] : strings_) {
      write("$name_{}:\n.b8 ", number);
      for (const char c : text) write("{}, ", static_cast<unsigned char>(c));
      out_ += "0\n";
    }
    out_ += "}\n";
  }

  const Module& module_;
  std::string out_;
  std::map<std::string, std::size_t> strings_;
};

}  // namespace

std::string print(const Module& module) {
  return ModulePrinter(module).print();
}

}  // namespace tilescope::ptx
