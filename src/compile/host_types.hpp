// The element types that host code and kernels name, for sizes and for arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace tilescope::compile {

struct ElementType {
  std::string_view name;       ///< as --arg has it: "f32"
  std::size_t bytes = 0;       ///< of a component
  std::size_t components = 1;  ///< 4 in float4

  bool is_real() const { return name.front() == 'f' || name == "bf16"; }
  std::size_t size() const { return bytes * components; }
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

/// The type of a word of CUDA C++: "float4", "uint8_t". Nothing for other words.
std::optional<ElementType> element_type(std::string_view word);

/// The type that the words of a declaration name: "const unsigned long int".
std::optional<ElementType> element_type(std::span<const std::string_view> words);

}  // namespace tilescope::compile
