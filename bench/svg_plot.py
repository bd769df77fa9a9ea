"""Shared by the plots: text, logarithmic axes, the frame of a panel, curves, and the colours of the methods."""

import html
import math

COLORS = {"horizontal": "#b24c28", "positional": "#c79a1b", "bitmap": "#3b8f5c", "batmap": "#18547c", "merge": "#7d6a9e"}


def text(x, y, content, size=12, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{html.escape(content, quote=False)}</text>'


def opening(width, height, title, left):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="Helvetica, Arial, sans-serif" fill="#1c1c1c">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            text(left, 26, title, 17, "start", 'font-weight="bold"')]


class Axis:
    """A logarithmic axis from pixel `low` to pixel `high`."""

    def __init__(self, values, low, high):
        self.first, self.last = math.log10(min(values)), math.log10(max(values))
        margin = max(0.05 * (self.last - self.first), 0.05)
        self.first, self.last, self.low, self.high = self.first - margin, self.last + margin, low, high

    def at(self, value):
        return self.low + (math.log10(value) - self.first) / (self.last - self.first) * (self.high - self.low)

    def ticks(self):
        """The ticks: powers of ten; if these are few, also twice and five times these."""
        steps = (1, 2, 5) if self.last - self.first < 2 else (1,)
        ticks = [step * 10.0 ** exponent for exponent in range(math.floor(self.first), math.ceil(self.last)) for step in steps]
        return [tick for tick in ticks if self.first <= math.log10(tick) <= self.last]


def legend(pens, top, left, step=118):
    """One line for each method. @param pens  color by name @return where the next line would begin, and the lines"""
    out = []
    for name, pen in pens.items():
        out.append(f'<line x1="{left}" x2="{left + 22}" y1="{top}" y2="{top}" stroke="{pen}" stroke-width="2"/>')
        out.append(text(left + 28, top + 4, name, 12, "start"))
        left += step
    return left, out


def frame(across, up, names_of_x, x_name, y_name):
    """@param names_of_x  the label under each x"""
    left, right, bottom, top = across.low, across.high, up.low, up.high
    out = [f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" stroke="#b8b8b8"/>']
    for y in up.ticks():
        out.append(f'<line x1="{left}" x2="{right}" y1="{up.at(y):.1f}" y2="{up.at(y):.1f}" stroke="#e4e4e4"/>')
        out.append(text(left - 8, up.at(y) + 4, f"{y:,g}", 11, "end"))
    for x, name in names_of_x.items():
        out.append(text(across.at(x), bottom + 17, name, 11))
    out.append(text((left + right) / 2, bottom + 36, x_name))
    out.append(text(0, 0, y_name, 12, "middle", f'transform="translate({left - 56} {(top + bottom) / 2}) rotate(-90)"'))
    return out


def curve(points, across, up, pen):
    path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in points)
    return [f'<polyline points="{path}" fill="none" stroke="{pen}" stroke-width="2"/>',
            *(f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{pen}"/>' for x, y in points)]
