// MpiFunctions by one MPI. Compiled once for each MPI that is installed: plugins/CMakeLists.txt.
#define OMPI_SKIP_MPICXX  // the C interface alone
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ranks/mpi_functions.hpp"

namespace tilescope::ranks {
namespace {

// MPI counts in int.
constexpr std::size_t most_bytes = std::size_t{1} << 30U;

struct Group {
  MPI_Comm handle = MPI_COMM_NULL;
};

using Transfer = std::vector<MPI_Request>;

MPI_Comm handle_of(void* group) {
  return group == nullptr ? MPI_COMM_WORLD : static_cast<Group*>(group)->handle;
}

/// Calls `move(data, count)` for pieces that MPI can count.
template <typename Byte, typename Move>
void in_pieces(Byte* data, std::size_t bytes, const Move& move) {
  for (std::size_t at = 0; at < bytes; at += most_bytes) {
    move(data + at, static_cast<int>(std::min(most_bytes, bytes - at)));
  }
}

const char* start() {
  int is_started = 0;
  MPI_Initialized(&is_started);
  if (is_started != 0) return nullptr;
  int level = 0;
  // Computing threads do not call MPI.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
    return "MPI_Init_thread failed";
  }
  return level >= MPI_THREAD_FUNNELED ? nullptr : "this MPI does not allow threads";
}

void finish() {
  MPI_Finalize();
}

void abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

const char* library() {
  static const std::string name = [] {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    return text.substr(0, text.find_first_of(",\n"));
  }();
  return name.c_str();
}

const char* host() {
  static const std::string name = [] {
    std::string text(MPI_MAX_PROCESSOR_NAME, '\0');
    int length = 0;
    MPI_Get_processor_name(text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    return text;
  }();
  return name.c_str();
}

int rank(void* group) {
  int result = 0;
  MPI_Comm_rank(handle_of(group), &result);
  return result;
}

int size(void* group) {
  int result = 0;
  MPI_Comm_size(handle_of(group), &result);
  return result;
}

void* split(void* group, int colour) {
  auto part = std::make_unique<Group>();
  MPI_Comm_split(handle_of(group), colour, 0, &part->handle);
  return part.release();
}

void* split_by_host(void* group) {
  auto part = std::make_unique<Group>();
  MPI_Comm_split_type(handle_of(group), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part->handle);
  return part.release();
}

void release(void* group) {
  const std::unique_ptr<Group> owned(static_cast<Group*>(group));
  if (owned) MPI_Comm_free(&owned->handle);
}

void* broadcast(void* group, void* data, std::size_t bytes, int root) {
  auto transfer = std::make_unique<Transfer>();
  in_pieces(static_cast<char*>(data), bytes, [&](char* at, int count) {
    MPI_Ibcast(at, count, MPI_BYTE, root, handle_of(group), &transfer->emplace_back());
  });
  return transfer.release();
}

bool test(void* transfer) {
  auto* const requests = static_cast<Transfer*>(transfer);
  int has_ended = 0;
  MPI_Testall(static_cast<int>(requests->size()), requests->data(), &has_ended,
              MPI_STATUSES_IGNORE);
  if (has_ended != 0) delete requests;
  return has_ended != 0;
}

void wait(void* transfer) {
  const std::unique_ptr<Transfer> requests(static_cast<Transfer*>(transfer));
  MPI_Waitall(static_cast<int>(requests->size()), requests->data(), MPI_STATUSES_IGNORE);
}

void gather_everywhere(void* group, const void* mine, std::size_t bytes, void* all) {
  const int count = static_cast<int>(bytes);
  MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, handle_of(group));
}

void* begin_send(void* group, const void* data, std::size_t bytes, int to, int tag) {
  auto transfer = std::make_unique<Transfer>();
  in_pieces(static_cast<const char*>(data), bytes, [&](const char* at, int count) {
    MPI_Isend(at, count, MPI_BYTE, to, tag, handle_of(group), &transfer->emplace_back());
  });
  return transfer.release();
}

void* begin_receive(void* group, void* data, std::size_t bytes, int from, int tag) {
  auto transfer = std::make_unique<Transfer>();
  in_pieces(static_cast<char*>(data), bytes, [&](char* at, int count) {
    MPI_Irecv(at, count, MPI_BYTE, from, tag, handle_of(group), &transfer->emplace_back());
  });
  return transfer.release();
}

void send(void* group, const void* data, std::size_t bytes, int to) {
  in_pieces(static_cast<const char*>(data), bytes, [&](const char* at, int count) {
    MPI_Send(at, count, MPI_BYTE, to, 0, handle_of(group));
  });
}

void receive(void* group, void* data, std::size_t bytes, int from) {
  in_pieces(static_cast<char*>(data), bytes, [&](char* at, int count) {
    MPI_Recv(at, count, MPI_BYTE, from, 0, handle_of(group), MPI_STATUS_IGNORE);
  });
}

}  // namespace
}  // namespace tilescope::ranks

extern "C" __attribute__((visibility("default"))) const tilescope::ranks::MpiFunctions*
tilescope_mpi_functions() {
  using namespace tilescope::ranks;
  static constexpr MpiFunctions functions{.version = MpiFunctions::current_version,
                                          .start = start,
                                          .finish = finish,
                                          .abort = abort,
                                          .library = library,
                                          .host = host,
                                          .rank = rank,
                                          .size = size,
                                          .split = split,
                                          .split_by_host = split_by_host,
                                          .release = release,
                                          .broadcast = broadcast,
                                          .test = test,
                                          .wait = wait,
                                          .gather_everywhere = gather_everywhere,
                                          .begin_send = begin_send,
                                          .begin_receive = begin_receive,
                                          .send = send,
                                          .receive = receive};
  return &functions;
}
