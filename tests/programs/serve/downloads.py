"""Programs and libraries from the registries of other languages, for tests that are skipped where these cannot be had."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# The folder of what is downloaded, so that it is once.
DOWNLOADS = os.environ.get("FOLIOT_CLIENTS")
PATIENCE = 600  # seconds, for a program that must end, or a download


def need(command):
    """The path of a program; the test is skipped where it is not installed."""
    path = shutil.which(command)
    if path is None:
        raise unittest.SkipTest(f"{command} is not installed")
    return path


def try_to_run(*command, **options):
    """Skips the test if the command, which needs a package or the network, fails."""
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=PATIENCE, **options)
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "output", None) or b""
        raise unittest.SkipTest(f"{' '.join(map(str, command))}: {error}\n{output.decode(errors='replace')}") from error


def downloaded(name, fill):
    """The folder of what comes from a registry, filled by `fill(folder)` the first time."""
    parent = Path(DOWNLOADS or tempfile.mkdtemp())
    if not DOWNLOADS:
        unittest.addModuleCleanup(shutil.rmtree, parent, ignore_errors=True)
    parent.mkdir(parents=True, exist_ok=True)
    if not (parent / name).exists():
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            made = Path(folder) / name
            made.mkdir()
            fill(made)
            made.rename(parent / name)  # so that an interrupted download leaves no folder of this name
    return parent / name


def of_pip(name, *packages):
    """A folder for PYTHONPATH with these packages of PyPI, and with none that they depend on."""
    return downloaded(name, lambda to: try_to_run(
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20",
        "--no-deps", "--no-compile", "--only-binary", ":all:", "--target", to, *packages))


def of_npm(name, *packages):
    """A folder whose `node_modules` has these packages of npm."""
    npm = need("npm")
    return downloaded(name, lambda to: try_to_run(
        npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=20000",
        "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000", "--prefix", to, *packages, cwd=to))
