#!/usr/bin/env python3
"""Writes layers.svg, the picture of README.md: what a program uses, and what that stands on. The test docs/pictures
compares the file with what this prints.

    docs/pictures/layers.py > docs/pictures/layers.svg
"""
from html import escape

WIDTH, MARGIN, GAP = 880, 20, 16
COLUMNS = 4
BOX = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS

# Each column: who uses it, its name, and what it has.
USES = [
    ("threads", "service", ["timer, ticker, sleep", "from any thread;", "callbacks"]),
    ("coroutines", "runtime", ["tasks, channels, select,", "sockets, deadlines, TLS;", "work stealing"]),
    ("event loops", "adapters", ["epoll, Asio, libuv,", "or a loop of your own;", "no thread is added"]),
    ("any language", "server", ["jobs with due times,", "by HTTP or beanstalk;", "on disk or PostgreSQL"]),
]
QUEUE = ("queue", "exact order to the nanosecond; its cost does not grow; the historic designs by name")
CORE = ("core", "instants that saturate; the monotonic clock, or virtual time")

# The panel has a background of its own, so that the picture can be read on a page of either colour scheme.
STYLE = """
  .panel { fill: #f6f8fa; stroke: #d0d7de; }
  .box { fill: #ffffff; stroke: #57606a; }
  .base { fill: #ddf4ff; stroke: #0969da; }
  .line { stroke: #57606a; stroke-width: 1.5; }
  text { font-family: system-ui, sans-serif; fill: #1f2328; text-anchor: middle; }
  .user { font-size: 14px; fill: #57606a; }
  .name { font-size: 18px; font-weight: 600; }
  .what { font-size: 14px; }
  @media (prefers-color-scheme: dark) {
    .panel { fill: #161b22; stroke: #3d444d; }
    .box { fill: #0d1117; stroke: #9198a1; }
    .base { fill: #0c2d6b; stroke: #58a6ff; }
    .line { stroke: #9198a1; }
    text { fill: #f0f6fc; }
    .user { fill: #9198a1; }
  }
"""


def text(kind, x, y, words):
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


def box(kind, x, y, width, height):
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"/>'


def column(index, user, name, words):
    left = MARGIN + index * (BOX + GAP)
    middle = left + BOX / 2
    yield text("user", middle, 42, user)
    yield f'<line class="line" x1="{middle:g}" y1="50" x2="{middle:g}" y2="66"/>'
    yield box("box", left, 66, BOX, 112)
    yield text("name", middle, 94, name)
    for at, line in enumerate(words):
        yield text("what", middle, 120 + 20 * at, line)
    yield f'<line class="line" x1="{middle:g}" y1="178" x2="{middle:g}" y2="198"/>'


def base(top, name, words):
    yield box("base", MARGIN, top, WIDTH - 2 * MARGIN, 58)
    yield text("name", WIDTH / 2, top + 24, name)
    yield text("what", WIDTH / 2, top + 46, words)


def picture():
    height = 342
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'role="img" aria-labelledby="title">')
    yield ('<title id="title">Threads use the service, coroutines the runtime, event loops the adapters, and programs in '
           "any language the server. All of them stand on one timer queue, and that on the core.</title>")
    yield f"<style>{STYLE}</style>"
    yield box("panel", 0.5, 0.5, WIDTH - 1, height - 1)
    for index, each in enumerate(USES):
        yield from column(index, *each)
    yield from base(198, *QUEUE)
    yield f'<line class="line" x1="{WIDTH / 2:g}" y1="256" x2="{WIDTH / 2:g}" y2="268"/>'
    yield from base(268, *CORE)
    yield "</svg>"


if __name__ == "__main__":
    print("\n".join(picture()))
