"""Places the nodes of a small undirected graph: a box a node, no two boxes overlap, and the same input gives the same picture.

Each connected component is laid out by stress majorization (Gansner, Koren, North: "Graph Drawing by Stress Majorization", 2004):
the distance of two nodes in the picture follows the number of edges between them. Then boxes that overlap are pushed apart, and the components are
packed into the width. All of it is quadratic in the nodes of a component, some hundred rounds.
"""

import math

EDGE = 74  # the length of an edge where there is room
GAP = 6  # between boxes
COMPONENT_GAP = 20
ROUNDS = 150


def arrange(boxes, edges, width):
    """@param boxes  name to (width, height) @param edges  pairs of names @return name to the box's center, and the height of all"""
    neighbours = {name: set() for name in sorted(boxes)}
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    placed = []
    for names in components(neighbours):
        points = stress_layout(names, neighbours)
        turn(points, upright=width < 600)
        sizes = {name: boxes[name] for name in names}
        fit(points, sizes, width)
        push_apart(points, sizes, width)
        placed.append((points, sizes))
    return pack(placed, width)


def components(neighbours):
    """Each in breadth-first order, the largest first."""
    seen, found = set(), []
    for start in neighbours:
        if start not in seen:
            found.append(list(distances(start, neighbours)))
            seen.update(found[-1])
    return sorted(found, key=len, reverse=True)


def distances(start, neighbours):
    """Edges on the shortest path to each node that can be reached."""
    far, queue = {start: 0}, [start]
    for name in queue:
        for other in sorted(neighbours[name]):
            if other not in far:
                far[other] = far[name] + 1
                queue.append(other)
    return far


def stress_layout(names, neighbours):
    """Starts on a circle, then moves each node to where its distances to all others want it, the near ones most."""
    ideal = {name: distances(name, neighbours) for name in names}
    circle = EDGE * math.sqrt(len(names)) / 2
    points = {name: [circle * math.cos(2 * math.pi * i / len(names)), circle * math.sin(2 * math.pi * i / len(names))]
              for i, name in enumerate(names)}
    for _ in range(ROUNDS):
        for name in names:
            x, y = points[name]
            total = to_x = to_y = 0.0
            for other in names:
                if other == name:
                    continue
                wanted = ideal[name][other]
                weight = 1.0 / wanted ** 2
                other_x, other_y = points[other]
                part = EDGE * wanted / (math.hypot(x - other_x, y - other_y) or 1.0)
                to_x += weight * (other_x + (x - other_x) * part)
                to_y += weight * (other_y + (y - other_y) * part)
                total += weight
            if total:
                points[name] = [to_x / total, to_y / total]
    return points


def turn(points, upright):
    """Turns the longest extent across, or up where the picture is narrow."""
    middle_x = sum(x for x, _ in points.values()) / len(points)
    middle_y = sum(y for _, y in points.values()) / len(points)
    centered = {name: (x - middle_x, y - middle_y) for name, (x, y) in points.items()}
    angle = 0.5 * math.atan2(2 * sum(x * y for x, y in centered.values()), sum(x * x - y * y for x, y in centered.values()))
    angle -= math.pi / 2 if upright else 0
    for name, (x, y) in centered.items():
        points[name] = [x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)]


def fit(points, sizes, width):
    """Draws a component together that is too wide."""
    extent = max(abs(points[name][0]) + sizes[name][0] / 2 for name in points)
    shrink = min(1.0, width / 2 / extent)
    for name, point in points.items():
        limit = (width - sizes[name][0]) / 2
        point[0] = min(max(point[0] * shrink, -limit), limit)


def overlap(a, b, points, sizes):
    """How far two boxes and the gap around them reach into each other, across and up; not positive where they do not."""
    return tuple((sizes[a][axis] + sizes[b][axis]) / 2 + GAP - abs(points[a][axis] - points[b][axis]) for axis in (0, 1))


def push_apart(points, sizes, width):
    """Moves pairs that overlap by the shorter way, and in the end down, which always works."""
    names = list(points)
    for _ in range(ROUNDS):
        moved = False
        for i, a in enumerate(names):
            for b in names[i + 1:]:
                by = overlap(a, b, points, sizes)
                if min(by) > 0:
                    axis = 0 if by[0] < by[1] else 1
                    half = by[axis] / 2 * (1 if points[a][axis] >= points[b][axis] else -1)
                    points[a][axis] += half
                    points[b][axis] -= half
                    moved = True
        for name in names:
            limit = (width - sizes[name][0]) / 2
            points[name][0] = min(max(points[name][0], -limit), limit)
        if not moved:
            return
    done = []
    for name in sorted(names, key=lambda name: points[name][1]):
        below = [points[other][1] + (sizes[name][1] + sizes[other][1]) / 2 + GAP for other in done if overlap(name, other, points, sizes)[0] > 0]
        points[name][1] = max([points[name][1], *below])
        done.append(name)


def pack(placed, width):
    """Puts the components where they come to lie highest, in their order, and centers the whole."""
    skyline = [0.0] * (math.ceil(width) + 1)
    centers = {}
    for points, sizes in placed:
        left, right, top, bottom = extent(points, sizes)
        room = math.ceil(right - left)
        x = min(range(0, max(1, math.floor(width) - room + 1), 2), key=lambda x: max(skyline[x:x + room + 1]))
        y = max(skyline[x:x + room + 1])
        for name, point in points.items():
            centers[name] = (point[0] - left + x, point[1] - top + y)
        for column in range(max(0, x - COMPONENT_GAP), min(len(skyline), x + room + COMPONENT_GAP)):
            skyline[column] = max(skyline[column], y + bottom - top + COMPONENT_GAP)
    sizes = {name: size for _, of_component in placed for name, size in of_component.items()}
    left, right, _, bottom = extent(centers, sizes)
    shift = (width - right - left) / 2
    return {name: (x + shift, y) for name, (x, y) in centers.items()}, bottom


def extent(points, sizes):
    """@return left, right, top, bottom of all boxes"""
    return (min(points[name][0] - sizes[name][0] / 2 for name in points), max(points[name][0] + sizes[name][0] / 2 for name in points),
            min(points[name][1] - sizes[name][1] / 2 for name in points), max(points[name][1] + sizes[name][1] / 2 for name in points))
