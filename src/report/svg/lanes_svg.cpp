// One warp's access: 32 lanes above, and below them the banks or sectors that they reach.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"

namespace tilescope::report {
namespace {

constexpr int lanes = 32, banks = 32;
constexpr std::int64_t word_bytes = 4, sector_bytes = 32;
constexpr double lane_step = 20.0, lanes_x = 56.0, lane_y = 30.0, lane_size = 17.0;
constexpr double target_y = 150.0, picture_width = 56.0 + 32 * 20.0 + 8.0;

constexpr std::string_view together =
    "the 32 threads (lanes) of a warp run in step: none goes on until all are served";

bool takes_part(const WarpAccess::Frame& frame, int lane) {
  return (frame.mask >> static_cast<unsigned>(lane) & 1U) != 0;
}

std::int64_t floor_of(std::int64_t value, std::int64_t unit) {
  return value >= 0 ? value / unit : -((-value + unit - 1) / unit);
}

double lane_x(int lane) {
  return lanes_x + lane_step * lane + lane_size / 2;
}

Drawing::Reach lane_reach(int lane) {
  const double x = lanes_x + lane_step * lane;
  return {x, x + lane_size};
}

/// 32 numbered boxes; those that nothing reaches are dim.
template <typename Predicate>
void draw_row(Drawing& drawing, double y, Predicate&& is_used) {
  std::vector<Drawing::Reach> used, unused;
  for (int i = 0; i < lanes; ++i) (is_used(i) ? used : unused).push_back(lane_reach(i));
  if (unused.empty()) return drawing.stamp("lanes", y);
  drawing.row_of_boxes(used, y, lane_size, "lane");
  drawing.stamp("lane-numbers", y);
  drawing.row_of_boxes(unused, y, lane_size, "lane off");
}

void draw_lanes(Drawing& drawing, const WarpAccess::Frame& frame) {
  drawing.words(lanes_x - 8, lane_y + 13, "lane", "end faint");
  draw_row(drawing, lane_y, [&](int lane) { return takes_part(frame, lane); });
}

/// For each bank the words that lanes want of it.
std::map<int, std::set<std::int64_t>> words_by_bank(const WarpAccess& access,
                                                    const WarpAccess::Frame& frame) {
  std::map<int, std::set<std::int64_t>> result;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!takes_part(frame, lane)) continue;
    const std::int64_t begin = frame.bytes[static_cast<std::size_t>(lane)];
    for (std::int64_t word = begin / word_bytes;
         word <= (begin + std::int64_t{access.width} - 1) / word_bytes; ++word) {
      // Lanes of an atomic do not share a word.
      result[static_cast<int>(word % banks)].insert(access.each_lane ? word * lanes + lane : word);
    }
  }
  return result;
}

/// The banks of which most words are wanted: more than one a turn.
struct Crowd {
  int bank = 0;           ///< the first of them
  std::size_t banks = 0;  ///< how many they are; 0: nothing waits
  std::size_t words = 0;  ///< wanted of each
};

Crowd crowd_of(const std::map<int, std::set<std::int64_t>>& wanted, std::size_t fair) {
  Crowd crowd{.words = fair};
  for (const auto& [bank, words] : wanted) {
    if (words.size() > crowd.words) crowd = {bank, 0, words.size()};
    if (words.size() == crowd.words && words.size() > fair) ++crowd.banks;
  }
  return crowd;
}

/// Words beside the only bank that is wanted. `cell` is the height of a turn.
void say_beside(Drawing& drawing, const Crowd& crowd, bool one_each, double cell) {
  const bool is_right = crowd.bank > banks / 2;
  const double x = lanes_x + lane_step * crowd.bank + (is_right ? -6 : lane_size + 6);
  const double first = target_y + 20, last = first + cell * static_cast<double>(crowd.words);
  const auto say = [&](double y, const std::string& text, std::string_view classes) {
    drawing.words(x, y, text, std::string(is_right ? "end " : "").append(classes));
  };
  say((first + last) / 2 + 4,
      fmt::format("{} {} this one bank:", crowd.words,
                  one_each ? "threads want" : "words wanted of"),
      "strong badtext");
  say((first + last) / 2 + 20, fmt::format("one a turn, so all wait {} turns", crowd.words),
      "strong badtext");
  constexpr std::size_t least_with_numbers = 8;  // fewer turns leave no room
  if (crowd.words < least_with_numbers) return;
  say(first + 10, "turn 1", "faint");
  say(last, fmt::format("turn {}", crowd.words), "faint");
  drawing.words(is_right ? lanes_x : lane_reach(lanes - 1).end, first + 14,
                "the other 31 banks have nothing to do", is_right ? "faint" : "end faint");
}

std::string draw_banks(const WarpAccess& access, const WarpAccess::Frame& frame) {
  const auto wanted = words_by_bank(access, frame);
  std::size_t most = 1;
  for (const auto& [bank, words] : wanted) most = std::max(most, words.size());
  // A vector needs several turns in any case; what goes beyond is a conflict.
  const std::size_t fair = std::max<std::size_t>(1, frame.ideal);
  const double cell = std::clamp(220.0 / static_cast<double>(most), 6.0, 14.0);
  const Crowd crowd = crowd_of(wanted, fair);
  const bool is_alone = wanted.size() == 1;
  const double below = crowd.banks > 0 && !is_alone ? 64.0 : 46.0;  // two or three lines
  const double height = target_y + 20.0 + cell * static_cast<double>(most) + below;
  Drawing drawing(picture_width, height, frame.caption);
  drawing.words(lanes_x, 18, together, "faint");
  std::string calm, crowded;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!takes_part(frame, lane)) continue;
    const std::int64_t word = frame.bytes[static_cast<std::size_t>(lane)] / word_bytes;
    const int bank = static_cast<int>(word % banks);
    std::string& lines = wanted.at(bank).size() > fair ? crowded : calm;
    lines += fmt::format("M{} {}L{} {}", size_text(lane_x(lane)), size_text(lane_y + lane_size),
                         size_text(lane_x(bank)), size_text(target_y));
  }
  drawing.path(calm, "wire");
  drawing.path(crowded, "wire bad");
  draw_lanes(drawing, frame);
  drawing.words(lanes_x - 8, target_y + 13, "bank", "end faint");
  draw_row(drawing, target_y, [&](int bank) { return wanted.contains(bank); });
  for (std::size_t turn = 0; turn < most; ++turn) {
    std::vector<Drawing::Reach> busy;
    for (const auto& [bank, words] : wanted) {
      if (turn < words.size()) busy.push_back(lane_reach(bank));
    }
    drawing.row_of_boxes(busy, target_y + 20 + cell * static_cast<double>(turn), cell - 1,
                         turn < fair ? "turn" : "turn bad");
  }
  if (crowd.banks > 0 && is_alone) {
    const auto threads = static_cast<std::size_t>(std::popcount(frame.mask));
    say_beside(drawing, crowd, access.width <= word_bytes && most == threads, cell);
  } else if (crowd.banks > 0) {
    drawing.words(lanes_x, height - 42,
                  fmt::format("{} words wanted of {}: one a turn, so all wait {} turns", most,
                              crowd.banks == 1 ? fmt::format("bank {}", crowd.bank)
                                               : fmt::format("each of {} banks", crowd.banks),
                              most),
                  "strong badtext");
  }
  drawing.words(lanes_x, height - 24,
                "shared memory is 32 banks that work side by side; each serves one word a turn",
                "faint");
  drawing.words(lanes_x, height - 8,
                "each box below a bank is a word that threads want of it, and a turn that it takes",
                "faint");
  return drawing.svg();
}

std::string draw_sectors(const WarpAccess& access, const WarpAccess::Frame& frame) {
  constexpr double sector_height = 30.0;
  std::set<std::int64_t> sectors;
  std::map<std::int64_t, std::set<std::int64_t>> used;  // sector -> its bytes that are wanted
  for (int lane = 0; lane < lanes; ++lane) {
    if (!takes_part(frame, lane)) continue;
    const std::int64_t begin = frame.bytes[static_cast<std::size_t>(lane)];
    for (std::int64_t byte = begin; byte < begin + std::int64_t{access.width}; ++byte) {
      const std::int64_t sector = floor_of(byte, sector_bytes);
      used[sector].insert(byte - sector * sector_bytes);
    }
  }
  const double step = std::min(
      80.0, lanes * lane_step / static_cast<double>(std::max<std::size_t>(1, used.size())));
  std::map<std::int64_t, double> place;
  std::size_t wanted = 0;
  for (const auto& [sector, bytes] : used) {
    place[sector] = lanes_x + step * static_cast<double>(place.size());
    wanted += bytes.size();
  }
  Drawing drawing(picture_width, target_y + sector_height + 50.0, frame.caption);
  drawing.words(lanes_x, 18, together, "faint");
  std::string wires;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!takes_part(frame, lane)) continue;
    const std::int64_t begin = frame.bytes[static_cast<std::size_t>(lane)];
    const std::int64_t sector = floor_of(begin, sector_bytes);
    const double within = static_cast<double>(begin - sector * sector_bytes) +
                          static_cast<double>(std::min<std::int64_t>(access.width, 32)) / 2;
    wires += fmt::format("M{} {}L{} {}", size_text(lane_x(lane)), size_text(lane_y + lane_size),
                         size_text(place[sector] + (step - 2) * std::min(within / 32.0, 1.0)),
                         size_text(target_y));
  }
  drawing.path(wires, frame.cost > frame.ideal ? "wire bad" : "wire");
  draw_lanes(drawing, frame);
  drawing.words(lanes_x - 8, target_y + 19, "sector", "end faint");
  std::vector<Drawing::Reach> runs;  // of wanted bytes
  for (const auto& [sector, bytes] : used) {
    const double x = place[sector];
    drawing.box(x, target_y, step - 2, sector_height, "sector",
                fmt::format("bytes {} to {}: {} of 32 wanted", sector * sector_bytes,
                            sector * sector_bytes + sector_bytes - 1, bytes.size()));
    for (auto byte = bytes.begin(); byte != bytes.end();) {
      const std::int64_t from = *byte;
      std::int64_t to = from;
      while (byte != bytes.end() && *byte == to) ++to, ++byte;
      runs.push_back({x + (step - 2) * double(from) / 32.0, x + (step - 2) * double(to) / 32.0});
    }
  }
  drawing.row_of_boxes(runs, target_y, sector_height, "wanted");
  const std::size_t fetched = used.size() * static_cast<std::size_t>(sector_bytes);
  drawing.words(lanes_x, target_y + sector_height + 20,
                fmt::format("{} sector{} of 32 bytes fetched; {:.0f}% of the bytes are wanted{}",
                            used.size(), used.size() == 1 ? "" : "s",
                            100.0 * double(wanted) / double(std::max<std::size_t>(1, fetched)),
                            wanted < fetched ? " (filled), the rest is thrown away" : ""),
                frame.cost > frame.ideal ? "strong badtext" : "faint");
  return drawing.svg();
}

}  // namespace

std::string lane_stamps_svg() {
  Drawing boxes(picture_width, lane_size, {}), numbers(picture_width, lane_size, {});
  std::vector<Drawing::Reach> all;
  for (int i = 0; i < lanes; ++i) {
    all.push_back(lane_reach(i));
    numbers.words(lane_x(i), 13, std::to_string(i), "lane-number");
  }
  boxes.row_of_boxes(all, 0, lane_size, "lane");
  boxes.stamp("lane-numbers", 0);
  return numbers.as_stamp("lane-numbers") + boxes.as_stamp("lanes");
}

std::string draw_svg(const WarpAccess& access, const WarpAccess::Frame& frame) {
  return access.shared ? draw_banks(access, frame) : draw_sectors(access, frame);
}

}  // namespace tilescope::report
