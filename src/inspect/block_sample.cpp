#include <optional>
#include <tilescope/block_sample.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/parse_number.hpp"

namespace tilescope {
namespace {

std::optional<BlockSample> read_range(std::string_view text, std::size_t dash) {
  const auto first = parse_number<std::uint64_t>(text.substr(0, dash));
  const auto last = parse_number<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return BlockSample{.first = *first, .last = *last};
}

std::optional<BlockSample> read_sample(std::string_view text) {
  BlockSample sample;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto seed = parse_number<std::uint64_t>(text.substr(colon + 1));
    if (!seed) return std::nullopt;
    sample.seed = *seed;
  }
  std::string_view amount = text.substr(0, colon);
  if (amount.ends_with('%')) {
    const auto percent = parse_number<double>(amount.substr(0, amount.size() - 1));
    if (!percent || !(*percent > 0.0 && *percent <= 100.0)) return std::nullopt;
    sample.percent = *percent;
    return sample;
  }
  const auto blocks = parse_number<std::uint64_t>(amount);
  if (!blocks || *blocks == 0) return std::nullopt;
  sample.blocks = *blocks;
  return sample;
}

}  // namespace

BlockSample parse_block_sample(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto sample = dash == std::string_view::npos ? read_sample(text) : read_range(text, dash);
  if (sample) return *sample;
  throw usage_error(
      "blocks {}: expected a number, a share or a range of blocks, such as 64, 5%, 64:SEED, 0-63",
      quoted(std::string(text)));
}

}  // namespace tilescope
