// Tables for a terminal: never beyond its width, never glued.
#include "report/text/table_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/text.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

Table table(std::vector<Record> rows) {
  return {.columns = {{"name", left, 8, "{name}"},
                      {"count", right, 7, "{count?-}"},
                      {"what", left, 0, "{what?}"}},
          .rows = std::move(rows)};
}

TEST(TableText, PadsToTheWidthsThatColumnsAskFor) {
  EXPECT_EQ(table_text(table({{{"name", "one"}, {"count", 1}, {"what", "first"}},
                              {{"name", "two"}, {"count", 22222}}}),
                       80),
            "name       count  what\n"
            "one            1  first\n"
            "two       22,222\n");
}

TEST(TableText, CellsThatTouchAreMovedApart) {
  EXPECT_EQ(table_text(table({{{"name", "12345678"}, {"count", 1234567}, {"what", "x"}}}), 80),
            "name          count  what\n"
            "12345678  1,234,567  x\n");
}

TEST(TableText, ANoteTakesThePlaceOfColumns) {
  Table noted = table({{{"name", "one"}, {"count", 1}, {"note", ""}},
                       {{"name", "two"}, {"note", "is too large for one block of this GPU"}}});
  noted.note = "{note}";
  noted.indent = 2;
  EXPECT_EQ(table_text(noted, 30),
            "  name       count what\n"
            "  one            1\n"
            "  two      is too large for\n"
            "           one block of this\n"
            "           GPU\n");
}

TEST(TableText, LosesItsPaddingBeforeItBreaksCells) {
  Table wide = table({{{"name", "one"}, {"count", 1}, {"what", "a few words more"}}});
  wide.columns[1].width = 40;
  EXPECT_EQ(table_text(wide, 36),
            "name         count  what\n"
            "one              1  a few words more\n");
  EXPECT_EQ(table_text(wide, 24),
            "name count  what\n"
            "one      1  a few\n"
            "              words more\n");
}

TEST(TableText, ManyColumnsBecomeALineEach) {
  Table many{.columns = {}, .rows = {Record{{"v", "somevalue"}}}};
  for (int i = 0; i < 12; ++i) many.columns.push_back({"c" + std::to_string(i), left, 0, "{v}"});
  const std::string text = table_text(many, 80);
  EXPECT_EQ(text.substr(0, 33), "c0: somevalue\n    c1: somevalue\n ");
}

// Whatever the values are: no line is too long, no two cells touch, and no cell is lost.
TEST(TableText, FitsWithAnyValues) {
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return static_cast<std::size_t>(random() % n); };
  for (int trial = 0; trial < 2000; ++trial) {
    Table any{.columns = {}, .rows = {}, .indent = below(5), .has_head = below(4) != 0};
    const std::size_t columns = 1 + below(9);
    for (std::size_t i = 0; i < columns; ++i) {
      any.columns.push_back({"t" + std::to_string(i), below(2) == 0 ? left : right, below(20),
                             "{v" + std::to_string(i) + "}"});
    }
    for (std::size_t r = 0; r < 1 + below(4); ++r) {
      Record& row = any.rows.emplace_back();
      for (std::size_t i = 0; i < columns; ++i) {
        // A letter for each cell, so that two that touch would show.
        const char letter = static_cast<char>((r + i) % 2 == 0 ? 'a' : 'b');
        std::string text(1 + below(trial % 3 == 0 ? 60 : 12), letter);
        if (below(3) == 0) text.insert(text.size() / 2, " ");
        row.set("v" + std::to_string(i), text);
      }
    }
    const std::string text = table_text(any, 80);
    std::size_t letters = 0, wanted = 0;
    for (const std::string_view line : split(text, '\n')) {
      EXPECT_LE(width_of(line), 80u) << text;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << text;
      EXPECT_EQ(line.find("ab"), line.npos) << text;
      EXPECT_EQ(line.find("ba"), line.npos) << text;
      letters += static_cast<std::size_t>(std::count(line.begin(), line.end(), 'a') +
                                          std::count(line.begin(), line.end(), 'b'));
    }
    for (const Record& row : any.rows) {
      for (const Field& field : row.fields()) {
        const auto& cell = std::get<std::string>(field.value.data);
        wanted += cell.size() - static_cast<std::size_t>(std::count(cell.begin(), cell.end(), ' '));
      }
    }
    EXPECT_EQ(letters, wanted) << text;
  }
}

TEST(TableText, CountsCharactersAndNotBytes) {
  EXPECT_EQ(table_text({.columns = {{"a", left, 3, "{a}"}, {"b", left, 0, "{b}"}},
                        .rows = {Record{{"a", "\u00fc\u00fc"}, {"b", "x"}}}},
                       80),
            "a   b\n\u00fc\u00fc  x\n");
}

}  // namespace
}  // namespace tilescope::report
