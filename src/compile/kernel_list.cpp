#include "compile/kernel_list.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"

namespace tilescope::compile {
namespace {

class Finder {
 public:
  explicit Finder(std::vector<std::string_view> tokens) : tokens_(std::move(tokens)) {}

  std::vector<KernelDeclaration> find() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const std::string_view token = tokens_[at_];
      if (token == "template") {
        template_ = true;
        template_at_ = at_;
      } else if (token == ";") {
        template_ = false;
      } else if (token == "namespace") {
        name_namespace();
      } else if (token == "{") {
        scopes_.push_back(std::exchange(pending_namespace_, {}));
        template_ = false;
      } else if (token == "}") {
        if (!scopes_.empty()) scopes_.pop_back();
        template_ = false;
      } else if (token == "__global__") {
        kernel();
      }
    }
    return std::move(kernels_);
  }

 private:
  void name_namespace() {
    pending_namespace_.clear();
    // namespace a::b {   but not   using namespace a;
    while (at_ + 1 < tokens_.size() && (is_word(tokens_[at_ + 1]) || tokens_[at_ + 1] == ":")) {
      pending_namespace_ += tokens_[++at_];
    }
    if (at_ + 1 >= tokens_.size() || tokens_[at_ + 1] != "{") pending_namespace_.clear();
  }

  /// The index of the bracket that closes the one at `open`.
  std::size_t closing(std::size_t open) const {
    std::size_t depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (tokens_[i] == "(") ++depth;
      if (tokens_[i] == ")" && --depth == 0) return i;
    }
    return tokens_.size();
  }

  void kernel() {
    std::string_view name;
    for (++at_; at_ < tokens_.size(); ++at_) {
      const std::string_view token = tokens_[at_];
      if (token == ";" || token == "{") return;
      if (token != "(") {
        if (is_word(token)) name = token;
        continue;
      }
      const std::size_t end = closing(at_);
      if (name != "__launch_bounds__" && name != "__attribute__" && name != "__block_size__" &&
          name != "__cluster_dims__") {
        add(name, at_ + 1, end);
        at_ = std::min(end, tokens_.size());
        return;
      }
      at_ = end;
    }
  }

  void add(std::string_view name, std::size_t begin, std::size_t end) {
    if (name.empty()) return;
    KernelDeclaration kernel;
    for (const std::string& scope : scopes_) {
      if (!scope.empty()) kernel.name += scope + "::";
    }
    kernel.name += name;
    kernel.is_template = std::exchange(template_, false);
    if (kernel.is_template) kernel.plausible_instance = plausible_arguments();
    kernel.parameters = parameters(begin, end);
    std::string signature = text_of(begin, end);
    const auto known =
        std::find_if(kernels_.begin(), kernels_.end(),
                     [&](const KernelDeclaration& k) { return k.name == kernel.name; });
    if (known == kernels_.end()) {
      kernel.signatures.push_back(std::move(signature));
      kernels_.push_back(std::move(kernel));
    } else if (std::find(known->signatures.begin(), known->signatures.end(), signature) ==
               known->signatures.end()) {
      known->signatures.push_back(std::move(signature));
    }
  }

  /// An argument for every parameter of the last template, up to the first with a default: a type
  /// or a number.
  std::string plausible_arguments() const {
    std::vector<std::string_view> arguments;
    int depth = 0;
    bool begins = true;
    for (std::size_t i = template_at_ + 1; i < tokens_.size(); ++i) {
      const std::string_view token = tokens_[i];
      if (token == "<" && ++depth == 1) continue;
      if (token == ">" && --depth == 0) break;
      if (depth == 1 && token == "=") {
        if (!arguments.empty()) arguments.pop_back();
        break;
      }
      if (std::exchange(begins, depth == 1 && token == ",")) {
        const bool is_type = token == "typename" || token == "class";
        arguments.emplace_back(is_type ? "float" : token == "bool" ? "true" : "16");
      }
    }
    std::string list;
    for (const std::string_view argument : arguments) {
      list += (list.empty() ? "" : ", ") + std::string(argument);
    }
    return "<" + list + ">";
  }

  /// The tokens as they are written, on one line.
  std::string text_of(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
      const bool apart =
          i > begin && tokens_[i].data() != tokens_[i - 1].data() + tokens_[i - 1].size();
      text += (apart ? " " : "") + std::string(tokens_[i]);
    }
    return text;
  }

  std::vector<std::string> parameters(std::size_t begin, std::size_t end) const {
    std::vector<std::string> names;
    if (begin >= end || (begin + 1 == end && tokens_[begin] == "void")) return names;
    int depth = 0;
    std::size_t words = 0;
    std::string_view last;
    bool in_default = false;
    const auto finish = [&] {
      names.emplace_back(words > 1 ? last : std::string_view());
      words = 0;
      last = {};
      in_default = false;
    };
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view token = tokens_[i];
      // Round brackets nest in a default value; elsewhere they belong to the parameter's
      // declaration.
      if (token == "<" || token == "[" || (in_default && token == "(")) ++depth;
      if (token == ">" || token == "]" || (in_default && token == ")")) --depth;
      if (depth > 0) continue;
      if (token == ",") {
        finish();
      } else if (token == "=") {
        in_default = true;
      } else if (!in_default && (is_word(token) || token == "*" || token == "&")) {
        ++words;
        if (is_word(token)) last = token;
      }
    }
    finish();
    return names;
  }

  std::vector<std::string_view> tokens_;
  std::size_t at_ = 0;
  bool template_ = false;
  std::size_t template_at_ = 0;
  std::string pending_namespace_;
  std::vector<std::string> scopes_;  ///< names of open namespaces; empty for any other brace
  std::vector<KernelDeclaration> kernels_;
};

}  // namespace

std::vector<KernelDeclaration> kernels_in(std::string_view source) {
  return Finder(cpp_tokens(source)).find();
}

const KernelDeclaration* find_kernel(const std::vector<KernelDeclaration>& kernels,
                                     std::string_view wanted) {
  const std::string_view base = trim(wanted.substr(0, wanted.find_first_of("<(")));
  for (const KernelDeclaration& kernel : kernels) {
    if (kernel.name == base || std::string_view(kernel.name).ends_with("::" + std::string(base))) {
      return &kernel;
    }
  }
  return nullptr;
}

}  // namespace tilescope::compile
