#include "base/terminal.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "base/file.hpp"

namespace tilescope {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A terminal that is not on anybody's desk.
class PseudoTerminal {
 public:
  PseudoTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0) return;
    slave_ = FileDescriptor(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY));
    ::fcntl(master_.get(), F_SETFL, O_NONBLOCK);
  }
  int file() const { return slave_.get(); }
  void set_width(unsigned short columns) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(slave_.get(), TIOCSWINSZ, &size);
  }
  std::string output() {
    char buffer[4096];
    const ssize_t got = ::read(master_.get(), buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
  }

 private:
  FileDescriptor master_, slave_;
};

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(terminal_.file(), 0) << "no pseudo-terminal";
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  void TearDown() override { ::unsetenv("NO_COLOR"); }

  PseudoTerminal terminal_;
  std::chrono::steady_clock::time_point now_{};
  ProgressLine::Clock clock_ = [this] { return now_; };
  FileDescriptor not_terminal_{::open("/dev/null", O_RDWR)};
};

TEST_F(TerminalTest, KnowsATerminal) {
  EXPECT_TRUE(is_terminal(terminal_.file()));
  EXPECT_FALSE(is_terminal(not_terminal_.get()));
  EXPECT_FALSE(is_terminal(-1));
}

TEST_F(TerminalTest, ColourNeedsAWillingTerminal) {
  EXPECT_TRUE(use_colour(terminal_.file()));
  EXPECT_FALSE(use_colour(not_terminal_.get()));
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(use_colour(terminal_.file()));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(use_colour(terminal_.file()));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(use_colour(terminal_.file()));
}

TEST_F(TerminalTest, WidthIsEightyUnlessKnown) {
  EXPECT_EQ(terminal_width(not_terminal_.get()), 80);
  EXPECT_EQ(terminal_width(terminal_.file()), 80);
  terminal_.set_width(132);
  EXPECT_EQ(terminal_width(terminal_.file()), 132);
}

TEST_F(TerminalTest, ProgressWaitsASecondThenErasesItself) {
  {
    ProgressLine line("verifying", 2000, terminal_.file(), clock_);
    now_ += 999ms;
    line.update(10);
    EXPECT_EQ(terminal_.output(), "");
    EXPECT_FALSE(ProgressLine::is_shown());
    now_ += 1ms;
    line.update(1999);
    EXPECT_EQ(terminal_.output(), "\r\x1b[Kverifying  99%  1,999 / 2,000");
    EXPECT_TRUE(ProgressLine::is_shown());
    now_ += 99ms;
    line.update(2000);
    EXPECT_EQ(terminal_.output(), "") << "rewritten too soon";
    now_ += 1ms;
    line.update(2000);
    EXPECT_THAT(terminal_.output(), EndsWith("100%  2,000 / 2,000"));
  }
  EXPECT_EQ(terminal_.output(), "\r\x1b[K");
  EXPECT_FALSE(ProgressLine::is_shown());
}

TEST_F(TerminalTest, ShortWorkShowsNothing) {
  { ProgressLine("fast", 10, terminal_.file(), clock_).update(10); }
  EXPECT_EQ(terminal_.output(), "");
}

TEST_F(TerminalTest, ProgressFitsTheWidth) {
  terminal_.set_width(20);
  ProgressLine line("a label of many words", 0, terminal_.file(), clock_);
  now_ += 2s;
  line.update(1);
  EXPECT_EQ(terminal_.output(), "\r\x1b[Ka label of many wor");
}

TEST_F(TerminalTest, ProgressEstimatesTheTimeLeft) {
  ProgressLine line("checking", 1000, terminal_.file(), clock_);
  now_ += 1900ms;
  line.update(100);
  EXPECT_THAT(terminal_.output(), EndsWith("10%  100 / 1,000")) << "too early to tell";
  now_ += 8100ms;
  line.update(250);
  EXPECT_THAT(terminal_.output(), EndsWith("25%  250 / 1,000  about 30 s left"));
  now_ += 20s;
  line.update(250);
  EXPECT_THAT(terminal_.output(), EndsWith("  about 1 min 30 s left"));
  now_ += 1s;
  line.update(0);
  EXPECT_THAT(terminal_.output(), EndsWith("0%  0 / 1,000"));
  now_ += 1s;
  line.update(1000);
  EXPECT_THAT(terminal_.output(), EndsWith("100%  1,000 / 1,000"));
}

TEST_F(TerminalTest, ProgressStaysOutOfFiles) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  FileDescriptor read_end(ends[0]), write_end(ends[1]);
  {
    ProgressLine line("verifying", 10, write_end.get(), clock_);
    now_ += 5s;
    line.update(5);
  }
  write_end.close();
  char byte;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace tilescope
