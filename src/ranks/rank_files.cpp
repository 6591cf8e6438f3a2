#define XXH_INLINE_ALL  // header-only: nothing to find at run time
#include "ranks/rank_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/mapped_file.hpp"
#include "base/text.hpp"

namespace tilescope::ranks {

bool all_exist(std::initializer_list<std::string> paths) {
  std::error_code ignored;
  return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return path.empty() || std::filesystem::exists(path, ignored);
  });
}

std::uint64_t digest_of(const std::string& path) {
  const MappedFile file(path);
  return XXH3_64bits(file.bytes().data(), file.bytes().size());
}

std::string named_state_of(const std::string& path) {
  const FileStamp stamp = stamp_of(open_regular_file(path), path);
  return fmt::format("{} {} {}.{}", printable(path, 200), stamp.size, stamp.modified_s,
                     stamp.modified_ns);
}

void require_same(bool is_same, const std::string& path, const Session& session) {
  if (is_same) return;
  std::error_code ignored;
  throw input_error("{} in {} on {} is another than rank 0's; give all ranks the same file",
                    tilescope::quoted(path),
                    tilescope::quoted(std::filesystem::current_path(ignored).string()),
                    session.host());
}

int count_hosts(const Group& all, const Group& of_host) {
  const std::vector<char> leads = all.gather(static_cast<char>(of_host.rank() == 0));
  return static_cast<int>(std::count(leads.begin(), leads.end(), 1));
}

std::vector<char> comparing_ranks(const Group& all, const Group& of_host, int hosts,
                                  std::initializer_list<std::string> paths) {
  bool compares = hosts > 1 && of_host.rank() == 0;
  for (const std::string& path : paths) {
    struct stat state = {};
    const bool is_there = ::stat(path.c_str(), &state) == 0;
    const std::array<std::uint64_t, 2> mine{state.st_dev, state.st_ino};
    compares |= of_host.gather(mine).front() != mine && is_there;
  }
  return all.gather(static_cast<char>(compares));
}

RankFile::RankFile(const Group& all, RankOutput* own) : own_(own) {
  std::string names = own != nullptr ? own->temporary() + '\n' + own->token() : "";
  all.broadcast(names, 0);
  if (own != nullptr) front_bytes_ = own->front_bytes();
  all.broadcast(&front_bytes_, sizeof(front_bytes_), 0).wait();
  if (own == nullptr) {
    const std::size_t cut = names.find('\n');
    shared_.emplace(names.substr(0, cut), names.substr(cut + 1));
  }
  writes_ = all.gather(static_cast<char>(own != nullptr || shared_->is_open()));
  if (own != nullptr) own->drop_token();
}

std::byte* RankFile::elements() {
  if (own_ != nullptr) return own_->elements();
  return shared_->is_open() ? shared_->data(front_bytes_) : nullptr;
}

void RankFile::flush() {
  if (shared_) shared_->flush();
}

}  // namespace tilescope::ranks
