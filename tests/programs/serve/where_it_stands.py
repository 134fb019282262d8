"""Where the threads of a process stand that should have ended: for the message of a test that fails."""
import ctypes
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

# failing_memory.cpp answers it on the thread that gets it, with the calls that the thread is in.
TELL = signal.SIGRTMIN + 6
LONGEST_TELLING = 2  # seconds; a thread that is stuck in the kernel tells nothing
AWHILE = 0.2  # seconds, in which a thread that runs uses a processor
# A line of backtrace_symbols_fd() for a function that is not exported: the file, and the place in it.
FRAME = re.compile(r"(?P<file>\S+?)\((?P<place>\+0x[0-9a-f]+)\)\[0x[0-9a-f]+\]")


def text_of(path):
    try:
        return path.read_text(errors="replace").strip()
    except OSError as error:
        return f"({error.strerror})"


def ticks_of(task):
    """The time that a thread has used processors for, in ticks of the system."""
    words = text_of(task / "stat").rpartition(")")[2].split()
    return int(words[11]) + int(words[12]) if len(words) > 12 else 0


def threads_of(process):
    """A line for each thread: its name, what it waits for in the kernel, and whether it runs."""
    tasks = sorted(Path(f"/proc/{process}/task").iterdir(), key=lambda each: int(each.name))
    before = {task: ticks_of(task) for task in tasks}
    time.sleep(AWHILE)
    for task in tasks:
        state = re.search(r"^State:\s*(.*)$", text_of(task / "status"), re.M)
        yield (f"thread {task.name} {text_of(task / 'comm')}: {state[1] if state else 'has ended'}, used "
               f"{ticks_of(task)} ticks, {ticks_of(task) - before[task]} of them now, waits in {text_of(task / 'wchan')}, "
               f"system call {text_of(task / 'syscall')}")


def ask_for_calls(process, log):
    """Has each thread write to the log what calls it is in."""
    library = ctypes.CDLL(None, use_errno=True)
    for task in sorted(int(each.name) for each in Path(f"/proc/{process}/task").iterdir()):
        if library.tgkill(process, task, int(TELL)) != 0:
            continue
        until = time.monotonic() + LONGEST_TELLING
        while f"thread {task} ends here" not in text_of(log) and time.monotonic() < until:
            time.sleep(0.01)


def names_of(file, places):
    """The functions of a file at these places, by place, as far as they are known."""
    finder = shutil.which("addr2line")
    if finder is None:
        return {}
    found = subprocess.run([finder, "-Cfe", file, *places], capture_output=True, text=True, check=False)
    names = zip(places, found.stdout.splitlines()[::2])  # each has a second line, of the source
    return {place: name[:300] for place, name in names if name != "??"}


def with_names(text):
    """What backtrace_symbols_fd() has written, with the names of functions that only the file's table of symbols has."""
    lines = text.splitlines()
    places = {}  # of each file
    for frame in filter(None, map(FRAME.match, lines)):
        places.setdefault(frame["file"], set()).add(frame["place"])
    names = {file: names_of(file, sorted(each)) for file, each in places.items()}
    for index, line in enumerate(lines):
        frame = FRAME.match(line)
        if frame and frame["place"] in names[frame["file"]]:
            lines[index] = f"{names[frame['file']][frame['place']]} [{Path(frame['file']).name}{frame['place']}]"
    return "\n".join(lines)


def report(process, log, tells_calls):
    """`log`: of the process, its standard error. `tells_calls`: the library failing_memory is in front of it."""
    threads = "\n".join(threads_of(process))
    if tells_calls:
        ask_for_calls(process, log)
    return f"the process {process} stands here:\n{threads}\nits log:\n{with_names(text_of(log))}"
