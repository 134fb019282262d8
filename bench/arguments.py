"""What the commands in this folder take: each is a `type` of argparse, which refuses what is wrong."""
import argparse
import json
import os
from pathlib import Path

FIGURES = ("cpu", "wal", "node")


def costs(text):
    """The parameters in a file of bench/database_costs.py."""
    try:
        parameters = json.loads(Path(text).read_text())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read {text}: {error.strerror}; make it with"
                                         f" `bench/database_costs.py --json {text}`") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is not JSON: {error}") from error
    if not isinstance(parameters, dict) or any(figure not in parameters for figure in FIGURES):
        raise argparse.ArgumentTypeError(f"{text} is not a file that `bench/database_costs.py --json` has written")
    return parameters


def positive(text):
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value


def positives(text):
    """Several of them, with commas."""
    return [positive(each) for each in text.split(",")]


def built(text):
    """A program, or a folder of programs."""
    path = Path(text)
    if not (path.is_dir() or os.access(path, os.X_OK)):
        raise argparse.ArgumentTypeError(f"there is no {path}: build it, as with `scripts/test release`")
    return path


def folder_with(*programs):
    """A folder that has these programs."""
    def checked(text):
        for program in programs:
            path = Path(text) / program
            if not os.access(path, os.X_OK):
                raise argparse.ArgumentTypeError(
                    f"there is no {path}: build it with `cmake --preset release && cmake --build --preset release"
                    f" --target {' '.join(programs)}`")
        return Path(text)
    return checked
