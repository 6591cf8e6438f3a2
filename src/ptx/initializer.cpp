// Initialisers: nested lists of constants and of addresses that are known only when the module is
// loaded.
#include <algorithm>
#include <bit>
#include <limits>

#include "ptx/constant_expression.hpp"
#include "ptx/declaration.hpp"

namespace tilescope::ptx {
namespace {

/// Braces that skip to the next row could otherwise ask for an image of any size.
constexpr std::uint64_t largest_image = std::uint64_t{256} << 20;

/// The fields of a .samplerref, one byte each, in the order of its eight.
constexpr std::string_view sampler_fields[] = {"filter_mode", "addr_mode_0", "addr_mode_1",
                                               "addr_mode_2", "force_unnormalized_coords"};
/// The words of these fields, with the numbers of CUDA's enumerations.
constexpr std::pair<std::string_view, std::uint8_t> field_words[] = {
    {"nearest", 0}, {"linear", 1},    {"wrap", 0},          {"mirror", 2},
    {"clamp", 1},   {"clamp_ogl", 1}, {"clamp_to_edge", 1}, {"clamp_to_border", 3},
};

class Initializer {
 public:
  Initializer(ParseContext& context, Variable& variable, std::uint32_t function,
              std::uint32_t variable_index)
      : context_(context),
        variable_(variable),
        function_(function),
        variable_index_(variable_index),
        dims_(variable.dims) {
    if (variable.vector > 1) dims_.push_back(variable.vector);
    if (dims_.empty()) dims_.push_back(1);
  }

  void parse() {
    std::uint64_t used = 1;
    if (byte_size(variable_.type) == 8 && bit_width(variable_.type) == 0) {
      parse_fields();
    } else if (context_.at('{')) {
      used = parse_list(0, 0);
    } else {
      parse_value(0);
    }
    variable_.initialized = true;
    if (!variable_.unsized) return;
    const std::uint64_t row = stride(0);
    variable_.dims[0] = (used + row - 1) / row;
    variable_.element_count = variable_.dims[0] * row / variable_.vector;
    variable_.unsized = false;
  }

 private:
  /// Scalars in one element of the list at `level`.
  std::uint64_t stride(std::size_t level) const {
    std::uint64_t product = 1;
    for (std::size_t i = level + 1; i < dims_.size(); ++i) {
      product *= std::max<std::uint64_t>(dims_[i], 1);
    }
    return product;
  }

  /// Scalars that the list at `level` may hold.
  std::uint64_t extent(std::size_t level) const {
    if (level == 0 && variable_.unsized) return largest_image;
    return dims_[level] * stride(level);
  }

  /// `{ filter_mode = linear, width = 64 }` of an opaque variable. Only a sampler's fields matter:
  /// a texture has its own when it is bound.
  void parse_fields() {
    context_.expect('{', "before the fields of an opaque variable");
    while (!context_.at('}')) {
      const Token name = context_.expect_name("the name of a field");
      context_.expect('=', "after the name of a field");
      std::uint64_t value = 0;
      if (context_.token().kind == Token::Kind::word) {
        const Token word = context_.lexer.next();
        const auto* known = std::find_if(std::begin(field_words), std::end(field_words),
                                         [&](const auto& entry) { return word.is(entry.first); });
        if (known == std::end(field_words)) {
          fail(word.line, "{} is no value of a field", quoted(word.text));
        }
        value = known->second;
      } else {
        value = parse_integer_constant(context_.lexer);
      }
      for (std::size_t i = 0; i < std::size(sampler_fields); ++i) {
        if (variable_.type == Type::samplerref && name.is(sampler_fields[i])) {
          store(i, 1, value & 0xff);
        }
      }
      if (!context_.accept(',')) break;
    }
    context_.expect('}', "to close an initialiser");
  }

  /// Reads a list that begins at the scalar `begin`; returns one past the last scalar.
  std::uint64_t parse_list(std::size_t level, std::uint64_t begin) {
    context_.lexer.next();
    std::uint64_t at = begin;
    while (!context_.at('}')) {
      const std::uint32_t line = context_.token().line;
      if (at >= begin + extent(level)) {
        fail(line, "{} has more initial values than elements", quoted(variable_.name));
      }
      if (context_.at('{')) {
        if (level + 1 >= dims_.size()) fail(line, "an initialiser has more braces than dimensions");
        const std::uint64_t row = stride(level);
        at = begin + (at - begin + row - 1) / row * row;
        parse_list(level + 1, at);
        at += row;
      } else {
        parse_value(at++);
      }
      if (!context_.accept(',')) break;
    }
    context_.expect('}', "to close an initialiser");
    return at;
  }

  void parse_value(std::uint64_t scalar) {
    const Token& first = context_.token();
    const unsigned width = byte_size(variable_.type);
    const std::uint64_t offset = scalar * width;
    if (first.kind == Token::Kind::word && !context_.at("WARP_SZ")) {
      return parse_symbol(offset, 0, false);
    }
    const Number number = parse_constant(context_.lexer);
    if (context_.at('(')) return parse_masked(offset, number);
    Operand immediate;
    immediate.kind = Operand::Kind::immediate;
    immediate.literal = number.literal;
    immediate.bits = number.bits;
    store(offset, width, immediate_bits(immediate, variable_.type));
  }

  void store(std::uint64_t offset, unsigned width, std::uint64_t bits) {
    std::vector<std::uint8_t>& image = variable_.initial;
    if (bits == 0) return;  // memory beyond the image is zero, and inside it was zeroed
    if (offset + width > largest_image) {
      fail(variable_.line, "{} has an initialiser beyond {} bytes", quoted(variable_.name),
           largest_image);
    }
    if (image.size() < offset + width) image.resize(offset + width);
    for (unsigned i = 0; i < std::min(width, 8u); ++i) {
      image[offset + i] = static_cast<std::uint8_t>(bits >> (8 * i));
    }
  }

  /// 0xFF00(symbol): one byte of an address.
  void parse_masked(std::uint64_t offset, const Number& mask) {
    const std::uint32_t line = context_.token().line;
    const int shift = mask.bits == 0 ? 0 : std::countr_zero(mask.bits);
    if (mask.literal != Literal::integer || shift % 8 != 0 || mask.bits >> shift != 0xff) {
      fail(line, "the mask of an address in an initialiser must select one byte");
    }
    context_.lexer.next();
    parse_symbol(offset, static_cast<std::uint8_t>(shift), true);
    context_.expect(')', "after a masked address");
  }

  void parse_symbol(std::uint64_t offset, std::uint8_t shift, bool masked) {
    const unsigned element = byte_size(variable_.type);
    Relocation relocation;
    relocation.offset = offset;
    relocation.width = static_cast<std::uint8_t>(element);
    relocation.shift = shift;
    Token symbol = context_.expect_name("a symbol");
    if (symbol.is("generic") && context_.accept('(')) {
      relocation.generic = true;
      symbol = context_.expect_name("a symbol in generic()");
      parse_addend(relocation);
      context_.expect(')', "after generic(symbol");
    }
    parse_addend(relocation);
    const bool fits = masked ? element == 1 : element == 4 || element == 8;
    if (!fits || is_float(variable_.type)) {
      fail(symbol.line, "an address does not fit in an element of type .{}", name(variable_.type));
    }
    context_.relocations.push_back(
        {function_, variable_index_, variable_.relocations.size(), symbol.text, symbol.line});
    variable_.relocations.push_back(relocation);
  }

  void parse_addend(Relocation& relocation) {
    if (!context_.at('-') && !context_.accept('+')) return;
    const std::uint64_t more = parse_integer_constant(context_.lexer);
    relocation.addend =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(relocation.addend) + more);
  }

  ParseContext& context_;
  Variable& variable_;
  std::uint32_t function_;
  std::uint32_t variable_index_;
  std::vector<std::uint64_t> dims_;  ///< with .v2 and .v4 as the innermost
};

}  // namespace

void parse_initializer(ParseContext& context, Variable& variable, std::uint32_t function,
                       std::uint32_t variable_index) {
  Initializer(context, variable, function, variable_index).parse();
}

}  // namespace tilescope::ptx
