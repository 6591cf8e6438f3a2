#include "emulator/textures/addressing.hpp"

namespace tilescope::emulator {

std::int64_t addressed_outside(std::int64_t index, std::int64_t extent, AddressMode mode) {
  const auto wrapped = [&](std::int64_t period) {
    const std::int64_t rest = index % period;
    return rest < 0 ? rest + period : rest;
  };
  switch (mode) {
    case AddressMode::wrap:
      return wrapped(extent);
    case AddressMode::mirror: {
      const std::int64_t at = wrapped(2 * extent);
      return at < extent ? at : 2 * extent - 1 - at;
    }
    case AddressMode::clamp:
      return index < 0 ? 0 : extent - 1;
    case AddressMode::border:
      break;
  }
  return -1;
}

CornerWeights corner_weights(const std::array<Taps, 3>& taps) {
  const std::uint32_t x = taps[0].weight, y = taps[1].weight, z = taps[2].weight;
  const std::uint32_t both = (x * z + kWholeWeight / 2) >> kWeightBits;
  const std::uint32_t before[2][2] = {{kWholeWeight - x - z + both, x - both}, {z - both, both}};
  CornerWeights weights;
  for (unsigned corner = 0; corner < 4; ++corner) {
    const unsigned at_x = corner & 1, at_z = corner >> 1;
    const std::uint32_t whole = before[at_z][at_x];
    // A half goes to the second element in y beside the second in x, else to the first.
    const std::uint32_t part = (whole * y + kWholeWeight / 2 - 1 + at_x) >> kWeightBits;
    weights[at_x + 4 * at_z + 2] = part;
    weights[at_x + 4 * at_z] = whole - part;
  }
  return weights;
}

namespace {

double whole_part(double value) {
  constexpr double kAllWhole = 1LL << 52;
  if (!(std::fabs(value) < kAllWhole)) return value;
  return static_cast<double>(floor_to_integer(value));
}

}  // namespace

double normalized_in_texels(float coordinate, std::uint32_t extent, AddressMode mode) {
  constexpr double kOne = 1 << 21;
  double unit = coordinate;
  if (mode == AddressMode::wrap) unit -= whole_part(unit);
  if (mode == AddressMode::mirror) unit -= 2 * whole_part(unit / 2);
  return whole_part(unit * kOne) / kOne * extent;
}

AddressMode effective_mode(const Sampler& sampler, unsigned axis) {
  const AddressMode mode = sampler.address[axis];
  const bool whole = mode == AddressMode::wrap || mode == AddressMode::mirror;
  return whole && !sampler.normalized ? AddressMode::clamp : mode;
}

}  // namespace tilescope::emulator
