// A picture in SVG. Colours come from the classes, which the page's style defines for light, dark
// and paper.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

/// "12", "12.5": at most one decimal, as sizes in a picture need it.
std::string size_text(double size);

/// "long_name_of_a_fi..:17": the place of a line, cut to `width` columns before its number.
std::string place_within(std::string_view place, std::size_t width);

class Drawing {
 public:
  /// Sizes in units of about a pixel. `description` is what a screen reader says. Where there is
  /// less room than `least_share` of the width, the picture scrolls.
  Drawing(double width, double height, std::string description, double least_share = 0.78)
      : width_(width),
        height_(height),
        least_share_(least_share),
        description_(std::move(description)) {}

  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void box(double x, double y, double width, double height, std::string_view classes,
           std::string_view tip = {});
  /// A run of boxes as one shape, each from `begin` to `end` of x.
  struct Reach {
    double begin = 0.0, end = 0.0;
  };
  void row_of_boxes(const std::vector<Reach>& boxes, double y, double height,
                    std::string_view classes);
  /// A picture that the page has once as a stamp, moved down by `y`.
  void stamp(std::string_view id, double y);
  void disc(double x, double y, double radius, std::string_view classes);
  /// `steps` as an SVG path.
  void path(std::string_view steps, std::string_view classes);
  /// Words that begin at (x, y), the foot of the letters; "middle" or "end" among the classes
  /// moves them.
  void words(double x, double y, std::string_view text, std::string_view classes = "");

  std::string svg() const;
  /// The picture for stamp(); by itself it shows nothing.
  std::string as_stamp(std::string_view id) const;

 private:
  double width_, height_, least_share_;
  std::string description_, body_;
};

}  // namespace tilescope::report
