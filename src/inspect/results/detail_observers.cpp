#include "inspect/results/detail_observers.hpp"

namespace tilescope::inspect {

std::vector<emulator::Observer*> DetailObservers::wanted(bool pictures) {
  std::vector<emulator::Observer*> observers{&counter_, &sampler_, &pipelines_};
  if (pictures) observers.insert(observers.end(), {&rounds_, &code_, &course_});
  return observers;
}

ExplainDetails::OfLaunch DetailObservers::all() const {
  return {counted(), samples(), pipelines(), rounds_.result(), course_.result(), code_.result()};
}

}  // namespace tilescope::inspect
