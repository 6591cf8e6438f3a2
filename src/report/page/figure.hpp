// Figures as data, for renderers with graphics: a source with its counts, one warp's access, a
// race, bars, a time line, lines. A terminal has tables and listings in their place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/page/value.hpp"

namespace tilescope::report {

/// A source file with the counts and remarks of its lines, and the instructions that the compiler
/// made of them.
struct SourceView {
  struct Remark {
    std::string severity;  ///< "error", "warning", "note" or "advice"
    std::string kind;
    std::string message, cure;
    std::size_t scene = 0;  ///< number of its RaceScene on the page, from 1; 0: it has none
  };
  struct Line {
    std::uint32_t number = 0;  ///< 0: a gap between lines
    Record counts;             ///< by counter; empty: nothing is counted here
    std::string source;
    std::vector<Remark> remarks = {};
  };
  /// A run of instructions that came from one line.
  struct Code {
    std::uint32_t line = 0;  ///< of the source; 0: of none, or of another file
    std::string text;        ///< one instruction a line
  };
  std::string file;
  Record totals;                    ///< of the launch, all counters that are not zero
  std::vector<std::string> chosen;  ///< the counters that are shown at first
  std::string heat;                 ///< the counter that colours the lines at first
  std::vector<Line> lines;
  std::vector<Code> code;
};

/// The addresses of one warp's lanes in one access, and what memory makes of them.
struct WarpAccess {
  struct Frame {
    std::string caption;
    std::uint32_t mask = 0;                ///< the lanes that take part
    std::array<std::int64_t, 32> bytes{};  ///< offset of each lane's first byte
    std::uint32_t cost = 0, ideal = 0;     ///< wavefronts, or sectors
  };
  std::string place, source;      ///< "k.cu:12" and the line
  std::string what;               ///< "shared load of 4 bytes in tile"
  bool shared = false;            ///< banks of shared memory; else sectors
  bool each_lane = false;         ///< lanes at one word take turns, as atomics do
  std::uint32_t width = 0;        ///< bytes of a lane
  std::vector<Frame> frames;      ///< the most wasteful first, then the rounds in order
  std::string cure = {};          ///< in words; empty: none is known, or none is needed
  std::vector<Frame> cured = {};  ///< the first frame after the cure; empty or one
};

/// Two threads that access the same memory, and nothing that orders them.
struct RaceScene {
  struct Side {
    std::string who;     ///< "block (0,0,0), thread (1,0,0)"
    std::string action;  ///< "write of 4 bytes"
    std::string place, source;
    bool writes = false;
  };
  std::array<Side, 2> sides;
  std::string memory;         ///< "tile[17]"
  std::string message, cure;  ///< as the finding has them
  std::string missing;        ///< "barrier": what would order them; empty: nothing of that kind
  std::string meaning = {};   ///< of `missing`, in plain words; may be empty
};

/// Threads, engines that carry on behind them, and mbarriers, each in a column; time in rows. It
/// shows the order that is missing between the first row and the second, or the phase that is
/// wrong.
struct AsyncScene {
  struct Track {
    std::string name, below;
  };
  enum class Look : std::uint8_t {
    reads,  ///< a thread acts
    writes,
    works,  ///< an engine, or a phase of a barrier
    may,    ///< it may happen here as well
    wrong,
  };
  struct Step {
    std::size_t track = 0;
    std::size_t row = 0;
    Look look = Look::reads;
    std::string title;
    std::string place = {}, source = {};
  };
  std::string title;
  std::vector<Track> tracks;
  std::vector<Step> steps;
  std::string missing;  ///< between the rows; empty: nothing
  std::string message, cure;
};

/// A bar for each row, longest for the largest value.
struct BarChart {
  struct Bar {
    std::string name;
    double value = 0.0;
    double wasted = 0.0;        ///< the part of the value that a better kernel would save
    std::string label;          ///< the value in words, behind the bar
    std::string verdict;        ///< "ok", "wrong", "skipped"; empty: none
    std::string remark;         ///< below the name
    bool is_reference = false;  ///< what the others are compared with
  };
  std::string title;
  std::string axis;   ///< what a bar is, in a sentence
  std::string use;    ///< what the rest of each bar is, where parts are wasted
  std::string waste;  ///< what the wasted parts are; empty: there are none
  std::vector<Bar> bars;
  std::string summary = {};  ///< what stands out, in a sentence; may be empty
};

/// A tile of a product on its way: the matrices in memory, the tiles of A and B in shared memory,
/// the elements of C in a thread's registers.
struct TilePicture {
  std::string title;
  int rows = 0, columns = 0, depth = 0, thread_rows = 1, thread_columns = 1;
  std::string global, shared, registers;  ///< in words, below each of the three
  std::string loads, operations;          ///< at the arrows between them
};

/// The memories of a GPU, the nearest to a thread first.
struct MemoryLevels {
  struct Level {
    std::string name;
    std::string size, bandwidth;  ///< in words; may be empty
    std::string latency;
    double cycles = 0.0;  ///< 0: not known
  };
  std::string title;
  std::vector<Level> levels;
};

/// The threads of a block in rows, by the warps that they form.
struct BlockWarps {
  std::string title, across, below;
  std::uint64_t threads = 0, warps = 0;
  std::uint32_t columns = 32, warp_size = 32;
};

/// Spans of time on parallel tracks.
struct TimeLine {
  enum class Kind : std::uint8_t {
    busy,
    waiting,
    diverged,
    stuck,
    copy_in,
    copy_out,
    array,
    burst
  };
  struct Span {
    double begin = 0.0, end = 0.0;
    Kind kind = Kind::busy;
    std::string label;  ///< inside the span, if there is room
    std::string words;  ///< what it is, in a sentence
  };
  struct Track {
    std::string name;
    std::vector<Span> spans;
  };
  std::string title;
  std::string unit;  ///< "ms", "warp instructions"
  double end = 0.0;
  std::vector<Track> tracks;
};

/// Shares from 0 to 1 over a logarithmic axis, a line for each series.
struct LineChart {
  struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< x ascending, above 0
  };
  std::string title;
  std::string x_name, y_name;
  std::vector<Series> series;  ///< at most five have looks of their own
};

using Figure = std::variant<SourceView, WarpAccess, RaceScene, AsyncScene, BarChart, TimeLine,
                            TilePicture, MemoryLevels, BlockWarps, LineChart>;

}  // namespace tilescope::report
