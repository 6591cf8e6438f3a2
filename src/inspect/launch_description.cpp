
#include <cctype>
#include <charconv>
#include <tilescope/launch_description.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {

Dim3 parse_extents(std::string_view text, std::string_view what) {
  const auto refuse = [&](std::string_view why) {
    throw usage_error("--{} {}: {}", what, printable(text, 60), why);
  };
  const std::vector<std::string_view> pieces = split(text, ',');
  if (pieces.size() > 3) refuse("at most three extents, X,Y,Z");
  std::uint32_t extents[3] = {1, 1, 1};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view digits = trim(pieces[i]);
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, extents[i]);
    if (error == std::errc::result_out_of_range) refuse("an extent is at most 4294967295");
    if (error != std::errc{} || stop != end) refuse("expected one to three numbers X[,Y[,Z]]");
    if (extents[i] == 0) refuse("every extent must be at least 1");
  }
  return {extents[0], extents[1], extents[2]};
}

std::pair<std::string, std::string> parse_define(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const bool starts_well = !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front()));
  bool fits = starts_well;
  for (const char c : name) {
    fits = fits && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  }
  if (!fits) {
    throw usage_error("-D {}: expected NAME or NAME=VALUE, the name of letters, digits and _",
                      printable(text, 60));
  }
  return {std::string(name),
          equals == std::string_view::npos ? "1" : std::string(text.substr(equals + 1))};
}

}  // namespace tilescope
