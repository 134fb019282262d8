"""Memory and threads of a server that run out on demand: failing_memory.cpp in front of its allocations, seen from the
test."""
import dataclasses
import mmap
import os
from pathlib import Path

LIBRARY = os.environ.get("FOLIOT_FAILING_MEMORY_LIBRARY", "")

# The numbers of the file, in the order of failing_memory.cpp.
FIRST, COUNT, KIND, FROM_START, CALLS, FAILED = range(6)

ALLOCATIONS, THREADS = 1, 2
FOR_EVER = 1 << 62


@dataclasses.dataclass
class Shortage:
    """The calls with the numbers `first` to `first + count - 1` fail."""
    first: int
    count: int = 1
    kind: int = ALLOCATIONS

    def __str__(self):
        what = "allocation" if self.kind == ALLOCATIONS else "thread"
        if self.count == 1:
            return f"{what} {self.first}"
        return f"{'all' if self.count == FOR_EVER else self.count} {what}s from {self.first} on"


class Memory:
    """The memory of the servers that are started in its environment. `where` is the name of a new file."""

    def __init__(self, where):
        self.where = Path(where)
        self.where.write_bytes(bytes(8 * 16))
        with open(self.where, "r+b") as file:
            self.control = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")

    def environment(self):
        return {**os.environ, "LD_PRELOAD": LIBRARY, "FOLIOT_FAILING_MEMORY": str(self.where)}

    def restore(self):
        """Nothing fails any more."""
        self.control[FIRST] = 0

    def fail(self, shortage, from_start=False):
        """From now on, or from the start of the next server on."""
        self.control[FIRST] = 0
        self.control[CALLS] = self.control[FAILED] = 0
        self.control[COUNT] = shortage.count
        self.control[KIND] = shortage.kind
        self.control[FROM_START] = int(from_start)
        self.control[FIRST] = shortage.first

    @property
    def calls(self):
        """How many calls were counted since fail()."""
        return self.control[CALLS]

    @property
    def failures(self):
        return self.control[FAILED]
