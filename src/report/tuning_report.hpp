// What tuning found, as a table and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/tuning.hpp>
#include <vector>

namespace tilescope::report {

/// The candidates of one product in the order in which they were measured, and what is taken.
std::string tuning_table(const TuneReport& report);
nlohmann::json tuning_json(const TuneReport& report);

/// What is on file, device after device.
std::string tuned_list(const std::vector<TunedMatmul>& products);
nlohmann::json tuned_json(const std::vector<TunedMatmul>& products);

}  // namespace tilescope::report
