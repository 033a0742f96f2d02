"""Draws one chart as SVG: medians as points with bars from the least to the largest value. Series
are labelled at their last points. Categories have no lines between their points."""
import math
from html import escape

WIDTH, HEIGHT = 600, 390
LEFT, RIGHT, TOP, BOTTOM = 66, 136, 84, 58  # margins of the plotted area
LABEL_CHARACTERS = 15                      # of a series' label, in one line
TITLE_CHARACTERS = 62
LINE_HEIGHT = 16
COLORS = ["#0060ad", "#c8400f", "#2e7d4f", "#8b5a9b", "#8a6d00", "#444444"]


def text(x, y, words, **style):
    attributes = "".join(' %s="%s"' % (name.replace("_", "-"), value)
                         for name, value in style.items())
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (x, y, attributes, escape(words))


def line(x1, y1, x2, y2, **style):
    attributes = "".join(' %s="%s"' % (name.replace("_", "-"), value)
                         for name, value in style.items())
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"%s/>' % (x1, y1, x2, y2, attributes)


def number(value):
    return "{:,.10g}".format(value) if value < 1e6 else "%g M" % (value / 1e6)


def linear_ticks(most):
    """Returns about five round values from 0 up."""
    step = 10.0 ** math.floor(math.log10(most / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if most / (step * factor) <= 6)
    return [step * n for n in range(math.ceil(most / step - 1e-9) + 1)]


def logarithmic_ticks(least, most):
    steps = (1,) if most / least > 300 else (1, 2, 5)
    powers = range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 1)
    return [step * 10.0 ** n for n in powers for step in steps
            if least * 0.999 <= step * 10.0 ** n <= most * 1.001]


class Axis:
    """Maps values to pixels, and has ticks."""

    def __init__(self, values, is_log, first, last, starts_at_zero=True):
        self.is_log, self.first, self.last = is_log, first, last
        if is_log:
            values = [value for value in values if value > 0]
            self.least, self.most = min(values) / 1.25, max(values) * 1.25
            self.ticks = logarithmic_ticks(self.least, self.most)
        elif starts_at_zero:
            self.ticks = linear_ticks(max(values))
            self.least, self.most = 0, self.ticks[-1]
        else:
            room = 0.04 * (max(values) - min(values)) or 1
            self.least, self.most = min(values) - room, max(values) + room
            self.ticks = sorted(set(values))

    def pixel(self, value):
        scale = math.log if self.is_log else float
        value = max(value, self.least) if self.is_log else value
        share = (scale(value) - scale(self.least)) / (scale(self.most) - scale(self.least))
        return self.first + share * (self.last - self.first)


def wrapped(words, most):
    """Breaks a text into lines of at most so many characters."""
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return lines


def spread(labels):
    """Moves labels apart: each has its wanted place and its lines. Returns their places, from the
    top. Neighbours that would overlap become one block around the mean of their wanted places."""
    found = []
    for wanted, lines in sorted(labels, key=lambda label: label[0]):
        found.append([wanted, LINE_HEIGHT * len(lines) + 6, [lines]])
        while len(found) > 1 and found[-1][0] - found[-1][1] / 2 < found[-2][0] + found[-2][1] / 2:
            place, height, members = found.pop()
            above, height_above, members_above = found.pop()
            total = height + height_above
            found.append([(place * height + above * height_above) / total, total,
                          members_above + members])
    places = []
    for place, height, members in found:
        top = min(max(place - height / 2, 18), HEIGHT - 18 - height)
        for lines in members:
            places.append(top)
            top += LINE_HEIGHT * len(lines) + 6
    return places


def chart(plot, series, rounds):
    """Returns the SVG of a curve. `series` maps a name to its points, ascending in x."""
    points = [point for of_series in series.values() for point in of_series]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    ys = Axis([point[part] for point in points for part in ("least", "median", "most")],
              "y" in plot.log, bottom, TOP)
    title = wrapped(plot.title, TITLE_CHARACTERS)
    drawn = [text(8, 22 + 19 * n, words, font_size="16", font_weight="bold")
             for n, words in enumerate(title)]
    drawn.append(text(8, 24 + 19 * len(title), "In %s; %s is better (median and range of %d rounds)"
                      % (plot.y_label, plot.better, rounds), font_size="13", fill="#444"))
    for tick in ys.ticks:
        y = ys.pixel(tick)
        drawn += [line(LEFT, y, right, y, stroke="#ddd"),
                  text(LEFT - 8, y + 4.5, number(tick), text_anchor="end")]
    if plot.categories:
        names = [x for x in plot.categories if any(point["x"] == x for point in points)]
        width = (right - LEFT) / len(names)
        gap = min(26, 0.6 * width / len(series))

        def place(point, nth):
            return LEFT + (names.index(point["x"]) + 0.5) * width + (
                nth - (len(series) - 1) / 2) * gap
        for n, x in enumerate(names):
            drawn.append(text(LEFT + (n + 0.5) * width, bottom + 20, plot.categories[x],
                              text_anchor="middle"))
            if n:
                drawn.append(line(LEFT + n * width, TOP, LEFT + n * width, bottom, stroke="#eee"))
    else:
        xs = Axis([point["x"] for point in points], "x" in plot.log, LEFT, right, False)
        if xs.is_log:
            xs.ticks = sorted({point["x"] for point in points})

        def place(point, nth):  # a little beside one another, so that no bar hides another
            return xs.pixel(point["x"]) + 4 * (nth - (len(series) - 1) / 2)
        for tick in xs.ticks:
            drawn += [line(xs.pixel(tick), bottom, xs.pixel(tick), bottom + 5, stroke="#444"),
                      text(xs.pixel(tick), bottom + 20, number(tick), text_anchor="middle")]
    drawn += [line(LEFT, bottom, right, bottom, stroke="#444"),
              text((LEFT + right) / 2, HEIGHT - 18, plot.x_label, text_anchor="middle")]
    ends = []
    for nth, (name, of_series) in enumerate(series.items()):
        color = COLORS[nth % len(COLORS)]
        placed = [(place(point, nth), ys.pixel(point["median"]), point) for point in of_series]
        if not plot.categories:
            drawn.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (
                " ".join("%.1f,%.1f" % (x, y) for x, y, _ in placed), color))
        for x, y, point in placed:
            drawn += [line(x, ys.pixel(point["least"]), x, ys.pixel(point["most"]), stroke=color,
                           stroke_width="1.5"),
                      '<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>' % (x, y, color)]
        ends.append((placed[-1][1], wrapped(name, LABEL_CHARACTERS), placed[-1][0], color))
    ends.sort(key=lambda end: end[0])
    for (y, lines, x, color), top in zip(ends, spread([end[:2] for end in ends])):
        middle = top + (LINE_HEIGHT * len(lines) + 6) / 2
        drawn.append('<polyline points="%.1f,%.1f %.1f,%.1f %.1f,%.1f" fill="none" stroke="%s" '
                     'stroke-width="1" stroke-dasharray="2 2"/>' % (
                         x + 5, y, right + 6, y, right + 18, middle, color))
        drawn += [text(right + 22, top + 3 + LINE_HEIGHT * (n + 0.8), words, fill=color)
                  for n, words in enumerate(lines)]
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
        'font-family="sans-serif" font-size="13">' % (WIDTH, HEIGHT, WIDTH, HEIGHT),
        "<title>%s</title>" % escape(plot.title),
        '<rect width="%d" height="%d" fill="#fff"/>' % (WIDTH, HEIGHT), *drawn, "</svg>", ""])
