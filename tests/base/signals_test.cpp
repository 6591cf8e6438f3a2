#include "base/signals.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

#include "base/mapped_file.hpp"
#include "base/output_file.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;
using testing::write_file;

struct Ending {
  int status = 0;  // as waitpid gives it
  std::string errors;
  int exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

// Runs `work` in a child with the handlers installed. Once the child has written a byte to `ready`,
// `then` gets its process id. A child that returns from `work` exits with 99.
Ending in_child(const std::function<void(int ready)>& work,
                const std::function<void(pid_t)>& then) {
  int ready[2], errors[2];
  if (::pipe(ready) != 0 || ::pipe(errors) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(errors[1], STDERR_FILENO);
    ::close(errors[0]);
    ::close(errors[1]);
    ::alarm(20);  // a test that hangs is a failure, not a wait
    install_signal_handlers();
    work(ready[1]);
    ::_exit(99);
  }
  ::close(ready[1]);
  ::close(errors[1]);
  char byte = 0;
  if (::read(ready[0], &byte, 1) == 1) then(child);
  Ending ending;
  ::waitpid(child, &ending.status, 0);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(errors[0], buffer, sizeof buffer)) > 0;) {
    ending.errors.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ready[0]);
  ::close(errors[0]);
  return ending;
}

void say_ready(int file) {
  if (::write(file, "r", 1) != 1) ::_exit(98);
}

class SignalEndsTheProcess : public ::testing::TestWithParam<int> {};

TEST_P(SignalEndsTheProcess, AndLeavesNoTemporary) {
  const TemporaryFolder folder;
  const Ending ending = in_child(
      [&](int ready) {
        OutputFile first(folder / "a"), second(folder / "b"), done(folder / "done");
        first.reserve(1 << 20);
        second.append("half");
        done.commit();
        say_ready(ready);
        for (;;) first.map()[1] = std::byte{1};
      },
      [](pid_t child) { ::kill(child, GetParam()); });
  EXPECT_EQ(ending.exit_code(), 128 + GetParam());
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("done"));
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalEndsTheProcess, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(Signals, LeavesNoTemporaryAtAnyMoment) {
  const TemporaryFolder folder;
  for (int i = 0; i < 30; ++i) {
    const Ending ending = in_child(
        [&](int ready) {
          say_ready(ready);
          for (;;) {
            OutputFile file(folder / "a");
            file.reserve(4096);
            file.commit();
          }
        },
        [i](pid_t child) {
          ::usleep(static_cast<useconds_t>(i * 37));
          ::kill(child, SIGINT);
        });
    ASSERT_EQ(ending.exit_code(), 130);
    for (const std::string& name : folder.names()) ASSERT_EQ(name, "a");
  }
}

TEST(Signals, AnIgnoredSignalStaysIgnored) {
  struct sigaction old = {};
  ::sigaction(SIGHUP, nullptr, &old);
  std::signal(SIGHUP, SIG_IGN);
  const Ending ending = in_child(
      [](int ready) {
        std::raise(SIGHUP);
        say_ready(ready);
      },
      [](pid_t) {});
  ::sigaction(SIGHUP, &old, nullptr);
  EXPECT_EQ(ending.exit_code(), 99);
}

class SignalCancels : public ::testing::TestWithParam<int> {};

TEST_P(SignalCancels, ALongJobAndTheSecondEndsIt) {
  const TemporaryFolder folder;
  const Ending stopped = in_child(
      [](int ready) {
        const CancelScope scope;
        if (CancelScope::cancelled()) ::_exit(1);
        say_ready(ready);
        while (!CancelScope::cancelled()) ::usleep(100);
        ::_exit(CancelScope::exit_code() - 100);  // in order
      },
      [](pid_t child) { ::kill(child, GetParam()); });
  EXPECT_EQ(stopped.exit_code(), 28 + GetParam());

  const Ending ended = in_child(
      [&](int ready) {
        const CancelScope scope;
        const OutputFile file(folder / "a");
        std::raise(GetParam());  // noted, and not acted on
        say_ready(ready);
        for (;;) ::usleep(100);
      },
      [](pid_t child) { ::kill(child, GetParam()); });
  EXPECT_EQ(ended.exit_code(), 128 + GetParam());
  EXPECT_THAT(folder.names(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalCancels, ::testing::Values(SIGINT, SIGTERM));

TEST(Signals, OutsideAScopeCtrlCEndsAtOnce) {
  const Ending ending = in_child(
      [](int ready) {
        {
          const CancelScope outer;
          const CancelScope inner;
          std::raise(SIGINT);
        }
        {
          const CancelScope fresh;
          if (CancelScope::cancelled()) ::_exit(1);
        }
        say_ready(ready);
        std::raise(SIGINT);
      },
      [](pid_t) {});
  EXPECT_EQ(ending.exit_code(), 130);
}

TEST(Signals, SigtermIsNotHeldUpForLong) {
  const Ending ending = in_child(
      [](int ready) {
        const CancelScope scope;
        say_ready(ready);
        for (;;) ::usleep(100);
      },
      [](pid_t child) { ::kill(child, SIGTERM); });
  EXPECT_EQ(ending.exit_code(), 143);
}

TEST(Signals, AFileCutShortWhileMappedIsExplained) {
  const TemporaryFolder folder;
  write_file(folder / "input", std::string(100000, 'x'));
  const Ending ending = in_child(
      [&](int ready) {
        const OutputFile output(folder / "output");
        const MappedFile input(folder / "input");
        if (::truncate((folder / "input").c_str(), 10) != 0) ::_exit(1);
        say_ready(ready);
        volatile auto byte = input.bytes()[90000];
        static_cast<void>(byte);
      },
      [](pid_t) {});
  EXPECT_EQ(ending.exit_code(), 4);
  EXPECT_THAT(ending.errors, HasSubstr("input' was cut short while it was in use"));
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("input"));
}

TEST(Signals, ABusErrorElsewhereIsNotHidden) {
  const Ending ending = in_child(
      [](int ready) {
        say_ready(ready);
        std::raise(SIGBUS);
      },
      [](pid_t) {});
  EXPECT_TRUE(WIFSIGNALED(ending.status));
  EXPECT_EQ(WTERMSIG(ending.status), SIGBUS);
  EXPECT_EQ(ending.errors, "");
}

}  // namespace
}  // namespace tilescope
