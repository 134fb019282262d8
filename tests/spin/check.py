#!/usr/bin/env python3
"""Has Spin verify a model, and says whether it found what it should.

usage: check.py --spin SPIN --cc COMPILER MODEL [-D NAME[=VALUE]]... [--finds WORDS]

Without --finds there must be no error, and the search must be complete; with it an error that says those words.
Exit status: 0 if so, 1 if not.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def fail(text: str) -> None:
    print(text)
    sys.exit(1)


def run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--spin", required=True)
    arguments.add_argument("--cc", required=True)
    arguments.add_argument("-D", dest="defines", action="append", default=[])
    arguments.add_argument("--finds")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        defines = ["-D" + each for each in given.defines]
        run([given.spin, "-a", *defines, str(given.model.resolve())], folder)
        # What stops at the first error has few states: a compiler that optimises would take longer than the search.
        optimised = "-O2" if given.finds is None else "-O0"
        run([given.cc, "-w", optimised, "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], folder)
        text = run(["./pan", "-m1000000"], folder)
    print(text)
    errors = re.search(r"errors: (\d+)", text)
    if errors is None:
        fail("Spin has not come to an end")
    if given.finds is None:
        if errors[1] != "0" or "Search not completed" in text or "max search depth too small" in text:
            fail("the model does not hold, or not all of it was searched")
    elif errors[1] == "0" or given.finds not in text:
        fail(f"Spin should have found: {given.finds}")


main()
