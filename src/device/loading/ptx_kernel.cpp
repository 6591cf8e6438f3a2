#include "device/loading/ptx_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/errors.hpp"
#include "base/symbol_names.hpp"
#include "base/text.hpp"
#include "gpu/architecture.hpp"
#include "ptx/module_parser.hpp"

namespace tilescope::device {
namespace {

KernelParameter::Kind kind_of(const ptx::Parameter& parameter) {
  if (parameter.pointer) return KernelParameter::Kind::pointer;
  if (parameter.is_array || parameter.vector > 1) return KernelParameter::Kind::bytes;
  switch (parameter.type) {
    case ptx::Type::f32:
    case ptx::Type::f64:
      return KernelParameter::Kind::floating;
    case ptx::Type::u8:
    case ptx::Type::s8:
    case ptx::Type::u16:
    case ptx::Type::s16:
    case ptx::Type::u32:
    case ptx::Type::s32:
      return KernelParameter::Kind::integer;
    default:  // .u64 may be a pointer, .b16 a half
      return KernelParameter::Kind::bytes;
  }
}

/// The parameter types in a C++ name: "void scale<16>(float*, long)" has two.
std::vector<std::string> types_in_name(const std::string& symbol) {
  const std::string text = demangled(symbol);
  std::vector<std::string> types;
  if (text.empty() || text.back() != ')') return types;
  // From the end, because the arguments of a template may contain brackets.
  int depth = 0;
  std::size_t end = text.size() - 1;
  for (std::size_t i = end; i-- > 0;) {
    const char c = text[i];
    if (c == ')' || c == '>' || c == ']') ++depth;
    if (c == '<' || c == '[') --depth;
    const bool opens = c == '(' && depth == 0;
    if (c == '(' && depth > 0) --depth;
    if (!opens && !(c == ',' && depth == 0)) continue;
    types.emplace_back(trim(std::string_view(text).substr(i + 1, end - i - 1)));
    end = i;
    if (opens) break;
  }
  std::reverse(types.begin(), types.end());
  return types;
}

/// The variables and functions that operands name.
struct NamedSymbols {
  std::set<std::uint32_t> variables, functions;

  void add(const ptx::Operand& operand) {
    if (operand.symbol.kind == ptx::SymbolKind::variable) variables.insert(operand.symbol.index);
    if (operand.symbol.kind == ptx::SymbolKind::function) functions.insert(operand.symbol.index);
    for (const ptx::Operand& element : operand.elements) add(element);
  }
  void add(const ptx::Function& function) {
    for (const ptx::Instruction& instruction : function.instructions) {
      for (const ptx::Operand& operand : instruction.operands) add(operand);
    }
    for (const ptx::Call& call : function.calls) add(call.callee);
  }
};

bool is_pointer(std::string_view type) {
  return type.ends_with('*') || type.ends_with("* const") || type.ends_with("*__restrict");
}

bool is_wide_integer(std::string_view type) {
  return type == "long" || type == "unsigned long" || type == "long long" ||
         type == "unsigned long long";
}

}  // namespace

const ptx::Function& find_ptx_kernel(const ptx::Module& module, std::string_view wanted,
                                     std::string_view file) {
  std::vector<const ptx::Function*> kernels, matching;
  std::string list;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    kernels.push_back(&function);
    const std::string plain = function_name(function.name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", plain);
    if (function.name == wanted) return function;
    if (plain == wanted || plain.substr(0, plain.find('<')) == wanted)
      matching.push_back(&function);
  }
  if (wanted.empty() && kernels.size() == 1) return *kernels.front();
  if (matching.size() == 1) return *matching.front();
  const std::string choice = printable(list, 300);
  if (kernels.empty()) {
    throw input_error("{} has no kernel (.entry)", file);
  }
  if (wanted.empty() || !matching.empty()) {
    throw usage_error("{} has several kernels{}; name one with --kernel: {}", file,
                      matching.empty() ? "" : " of that name", choice);
  }
  throw usage_error("{} has no kernel \"{}\"; it has: {}", file, printable(wanted, 80), choice);
}

std::vector<KernelParameter> parameters_of(const ptx::Function& kernel) {
  std::vector<KernelParameter> parameters;
  const std::vector<std::string> types = types_in_name(kernel.name);
  for (const ptx::Parameter& p : kernel.parameters) {
    KernelParameter parameter{kind_of(p), p.size, p.alignment};
    const std::string_view type = types.size() == kernel.parameters.size()
                                      ? std::string_view(types[parameters.size()])
                                      : std::string_view();
    // PTX does not distinguish pointers from integers of 8 bytes; a C++ name does.
    if (parameter.kind == KernelParameter::Kind::bytes && parameter.bytes == 8 && !p.is_array) {
      if (is_pointer(type)) {
        parameter.kind = KernelParameter::Kind::pointer;
      } else if (is_wide_integer(type)) {
        parameter.kind = KernelParameter::Kind::integer;
      }
    }
    parameter.is_shared = is_pointer(type) && (type.find(" volatile*") != type.npos ||
                                               type.find("::atomic<") != type.npos);
    parameters.push_back(parameter);
  }
  return parameters;
}

std::vector<KernelVariable> variables_of(const ptx::Module& module, const ptx::Function& kernel) {
  NamedSymbols named;
  named.add(kernel);
  for (std::set<std::uint32_t> read; read.size() < named.functions.size();) {
    for (const std::uint32_t function : std::set(named.functions)) {
      if (read.insert(function).second) named.add(module.functions[function]);
    }
  }
  std::vector<KernelVariable> variables;
  for (const std::uint32_t index : named.variables) {
    const ptx::Variable& variable = module.variables[index];
    const bool is_constant = variable.space == ptx::Space::constant;
    if (!is_constant && variable.space != ptx::Space::global) continue;
    variables.push_back({variable.name, is_constant, variable.initialized});
  }
  return variables;
}

bool uses_variables(std::string_view ptx) {
  const auto is_of_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '$';
  };
  std::set<std::string_view> constants;  // of the source: with values, named by no other module
  std::string_view code = ptx;
  for (const std::string_view line : split(ptx, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    const auto space = std::find_if(words.begin(), words.end(), [](std::string_view word) {
      return word == ".global" || word == ".const";
    });
    const bool is_function = line.find('(') != line.npos || line.starts_with('{');
    if (is_function) break;
    if (!line.starts_with('.') || space == words.end()) continue;
    if (space != words.begin()) return true;
    const auto name = std::find_if(words.begin(), words.end(), [&](std::string_view word) {
      return !word.empty() && is_of_name(word.front()) && std::isdigit(word.front()) == 0;
    });
    if (name == words.end()) return true;
    constants.insert(name->substr(0, name->find_first_of("[;")));
    code.remove_prefix(static_cast<std::size_t>(line.end() - code.begin()));
  }
  for (auto at = code.begin(); at != code.end();) {
    const auto begin = std::find_if(at, code.end(), is_of_name);
    at = std::find_if_not(begin, code.end(), is_of_name);
    if (constants.contains(std::string_view(begin, at))) return true;
  }
  return false;
}

compile::Program program_of(const KernelRequest& request, const DeviceProperties& gpu,
                            bool machine_code) {
  if (request.language == SourceLanguage::ptx) {
    const ptx::Module module = ptx::parse(request.source, request.source_name);
    compile::Program program;
    program.kernel_name = find_ptx_kernel(module, request.kernel, request.source_name).name;
    program.ptx = request.source;
    return program;
  }
  return compile::compile(
      {.source_name = request.source_name,
       .source = request.source,
       .kernel = request.kernel,
       .architecture = gpu::architecture_name(gpu.compute_major, gpu.compute_minor),
       .defines = request.defines,
       .include_directories = request.include_directories,
       .headers = request.headers,
       .extra_options = request.extra_options,
       .machine_code = machine_code});
}

}  // namespace tilescope::device
