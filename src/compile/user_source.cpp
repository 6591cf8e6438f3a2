#include "compile/user_source.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "compile/host_code.hpp"
#include "compile/host_headers.hpp"
#include "compile/includes.hpp"

namespace tilescope::compile {
namespace {

namespace fs = std::filesystem;

/// A file that the source includes, under the name in its #include.
struct Included {
  std::string name, text;
  fs::path folder;
  bool is_shortened = false;  ///< by its byte order mark, which NVRTC does not take
};

class Preparation {
 public:
  explicit Preparation(KernelRequest& request) : request_(request) {}

  UserSource run() {
    const std::string folder = fs::path(request_.source_name).parent_path().string();
    collect(request_.source, folder.empty() ? "." : folder);
    for (const auto& [name, value] : request_.defines) {
      find_device_macros("#define " + name + " " + value, macros_);
    }
    for (const Included& header : included_) find_device_macros(header.text, macros_);
    find_device_macros(request_.source, macros_);

    cut(request_.source);
    for (Included& header : included_) {
      std::string original = header.text;
      if (!cut(header.text) && !header.is_shortened) continue;
      result_.headers.emplace_back(header.name, std::move(original));
      // A header that is passed as text no longer finds its neighbours by itself.
      const std::string beside = header.folder.string();
      auto& folders = request_.include_directories;
      if (std::find(folders.begin(), folders.end(), beside) == folders.end()) {
        folders.push_back(beside);
      }
      request_.headers.emplace_back(header.name, header.text);
    }
    for (const std::string& name : missing_) {
      if (auto text = host_header(name)) request_.headers.emplace_back(name, *std::move(text));
    }
    if (unannotated_) request_.extra_options.emplace_back("-default-device");
    request_.headers.emplace_back(prelude_name, prelude());
    // CUDA's libraries define INFINITY and NAN themselves.
    request_.extra_options.emplace_back("--diag-suppress=47");
    request_.extra_options.push_back("--pre-include=" + std::string(prelude_name));
    return std::move(result_);
  }

 private:
  void collect(const std::string& text, const fs::path& folder) {
    for (const std::string& name : included_names(text)) {
      if (!seen_.insert(name).second) continue;
      std::vector<fs::path> folders{folder};
      folders.insert(folders.end(), request_.include_directories.begin(),
                     request_.include_directories.end());
      bool found = false;
      for (const fs::path& place : folders) {
        std::error_code failed;
        if (!fs::is_regular_file(place / name, failed)) continue;
        const fs::path path = place / name;
        std::string header = read_text_file(path.string());
        const bool is_shortened = header.size() < fs::file_size(path, failed);
        included_.push_back({name, std::move(header), path.parent_path(), is_shortened});
        collect(std::string(included_.back().text), path.parent_path());
        found = true;
        break;
      }
      if (!found) missing_.push_back(name);
    }
  }

  bool cut(std::string& text) {
    DeviceCode code = without_host_code(text, macros_);
    unannotated_ = unannotated_ || code.unannotated || code.cut_anything;
    if (!code.cut_anything) return false;
    text = std::move(code.text);
    result_.left_out.insert(result_.left_out.end(), code.left_out.begin(), code.left_out.end());
    return true;
  }

  KernelRequest& request_;
  std::vector<Included> included_;
  std::vector<std::string> missing_;
  std::set<std::string> seen_, macros_;
  bool unannotated_ = false;
  UserSource result_;
};

}  // namespace

UserSource prepare_user_source(KernelRequest& request) {
  return Preparation(request).run();
}

}  // namespace tilescope::compile
