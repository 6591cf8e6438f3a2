#include "ptx/diagnostics.hpp"

#include "base/errors.hpp"

namespace tilescope::ptx {

void Diagnostics::add(const Failure& failure) {
  errors_.push_back(fmt::format("{}:{}: {}", file_, failure.line, failure.text));
  if (errors_.size() == limit) give_up();
}

void Diagnostics::finish() const {
  if (!errors_.empty()) give_up();
}

void Diagnostics::give_up() const {
  throw input_error("{}", fmt::join(errors_, "\n"));
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  if (text.size() > longest) result += "...";
  return result + "'";
}

}  // namespace tilescope::ptx
