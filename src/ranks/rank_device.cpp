#include "ranks/rank_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ranks/agreement.hpp"

namespace tilescope::ranks {

std::shared_ptr<Device> open_rank_device(const Session& session, const Group& of_host,
                                         const std::string& name) {
  std::string why_none;
  const bool looks_for_gpus = name == "auto" || name == "cuda";
  const int gpus = looks_for_gpus ? static_cast<int>(cuda_devices(&why_none).size()) : 0;
  const std::vector<int> all_gpus = session.all().gather(gpus);
  const bool all_have =
      std::all_of(all_gpus.begin(), all_gpus.end(), [](int count) { return count > 0; });
  std::shared_ptr<Device> device;
  together(session, [&] {
    if (name == "cuda" && gpus == 0) {
      throw Error(ErrorKind::no_device, fmt::format("--device cuda: there is no GPU on {}: {}",
                                                    session.host(), why_none));
    }
    if (name == "cuda" || (name == "auto" && all_have)) {
      device = Device::open(fmt::format("cuda:{}", of_host.rank() % gpus));
    } else {
      device = Device::open(name == "auto" ? "cpu" : name);
    }
  });
  return device;
}

}  // namespace tilescope::ranks
