"""Memory and threads of a server that run out on demand: failing_memory.cpp in front of its allocations, seen from the
test."""
import dataclasses
import os
from pathlib import Path

import where_it_stands
from control_file import FOR_EVER, ControlFile

LIBRARY = os.environ.get("FOLIOT_FAILING_MEMORY_LIBRARY", "")

# The other numbers of the file, in the order of failing_memory.cpp.
KIND, FROM_START, CALLS = 2, 3, 4

ALLOCATIONS, THREADS = 1, 2


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


class Memory(ControlFile):
    """The memory of the servers that are started in its environment. `where` is the name of a new file."""

    def __init__(self, where):
        self.where = Path(where)
        self.places = Path(f"{where}.places")
        super().__init__(self.where, CALLS)

    def environment(self):
        return {**os.environ, "LD_PRELOAD": LIBRARY, "FOLIOT_FAILING_MEMORY": str(self.where)}

    def fail(self, shortage, from_start=False):
        """From now on, or from the start of the next server on."""
        self.restore()
        self.places.write_bytes(b"")
        super().fail(shortage.first, shortage.count, {KIND: shortage.kind, FROM_START: int(from_start)})

    def places_of_failures(self):
        """The calls in which the first ones failed since fail(), as text."""
        return where_it_stands.with_names(where_it_stands.text_of(self.places))
