"""A disk for a server that fails on demand and forgets at a crash what was not synced: faulty_disk.cpp in front of the
server's system calls, seen from the test."""
import dataclasses
import errno
import os
import random
from pathlib import Path

from control_file import FOR_EVER, ControlFile

LIBRARY = os.environ.get("FOLIOT_FAULTY_DISK_LIBRARY", "")

# The other numbers of the file `control`, in the order of faulty_disk.cpp.
ERROR, KINDS, FREE, DELAY, CALLS, FAILED_AT = 2, 3, 4, 5, 6, 8

KINDS_OF = {"open": 1, "write file": 2, "write log": 4, "sync file": 8, "sync log": 16, "name": 32, "size": 64,
            "sync folder": 128, "write manifest": 256, "sync manifest": 512, "write mark": 1024, "write zeros": 2048}
ALL_KINDS = tuple(KINDS_OF)
MUCH = 1 << 40  # bytes
SECTOR = 512  # what a disk writes as a whole


@dataclasses.dataclass
class Fault:
    """Calls of these kinds fail: those with the numbers `first` to `first + count - 1`. The error 0 is a short write."""
    first: int
    error: int = errno.EIO
    count: int = 1
    kinds: tuple = ALL_KINDS

    def __str__(self):
        name = errno.errorcode.get(self.error, "short writes")
        return f"{name} of call {self.first}, {'all' if self.count > 1 else 'once'}, of: {', '.join(self.kinds)}"


class Disk(ControlFile):
    """The disk of one folder `files`, in which the server keeps its jobs. `where` is an empty folder for the disk's own
    files, on the same file system."""

    def __init__(self, where, files):
        self.where = Path(where)
        self.files = Path(files)
        (self.where / "saved").mkdir(parents=True)
        super().__init__(self.where / "control", CALLS)
        self.synced = {}  # inode: length that is durable
        self.restart()

    def environment(self):
        return {**os.environ, "LD_PRELOAD": LIBRARY, "FOLIOT_FAULTY_DISK": str(self.where),
                "FOLIOT_FAULTY_FILES": str(self.files)}

    def restart(self):
        """Nothing fails any more, and all that is there is durable."""
        self.restore()
        self.numbers[FREE] = MUCH
        self.numbers[DELAY] = 0
        (self.where / "journal").write_bytes(b"")
        for saved in (self.where / "saved").iterdir():
            saved.unlink()
        self.synced = {path.stat().st_ino: path.stat().st_size for path in self._present()}

    def fail(self, fault):
        """From now on. The calls are counted from here."""
        kinds = sum(KINDS_OF[kind] for kind in fault.kinds)
        super().fail(fault.first, fault.count, {FAILED_AT: 0, ERROR: fault.error, KINDS: kinds})

    @property
    def failed_at(self):
        """The time of the first failure, as time.monotonic() counts."""
        return self.numbers[FAILED_AT] / 1e9

    def set_free(self, size):
        """The free bytes that the file system reports; much unless this is called."""
        self.numbers[FREE] = size

    def set_delay_of_syncs(self, milliseconds):
        self.numbers[DELAY] = milliseconds

    def _present(self):
        return [path for path in self.files.iterdir() if path.is_file()] if self.files.exists() else []

    def lose_power(self, draw: random.Random, keep_unsynced=True):
        """After the server was killed: takes back what was not synced. The last changes of names are undone, any number
        of them, and each file keeps its synced length and any part of the rest, a log also any sectors of it; without
        `keep_unsynced` all of it is lost."""
        names = []
        for line in (self.where / "journal").read_text().splitlines():
            what, *words = line.split("\t")
            if what == "synced":
                self.synced[int(words[0])] = int(words[1])
            elif what == "names":
                names = []
            else:
                names.append((what, words))
        kept = draw.randrange(len(names) + 1) if keep_unsynced else 0
        for what, words in reversed(names[kept:]):
            self._undo(what, words)
        for path in self._present():
            about = path.stat()
            synced = min(self.synced.get(about.st_ino, 0), about.st_size)
            rest = about.st_size - synced
            if path.suffix == ".log" and keep_unsynced and draw.randrange(2):
                self._lose_sectors(path, synced, about.st_size, draw)
                continue
            os.truncate(path, synced + (draw.randrange(rest + 1) if keep_unsynced else 0))
        self.restart()

    @staticmethod
    def _lose_sectors(path, synced, end, draw):
        """What was written over zeros is in each sector, or is not."""
        with path.open("r+b") as file:
            while synced < end:
                sector_end = min((synced // SECTOR + 1) * SECTOR, end)
                if draw.randrange(2):
                    file.seek(synced)
                    file.write(bytes(sector_end - synced))
                synced = sector_end

    @staticmethod
    def _undo(what, words):
        """The last change may have been noted and not done."""
        if what == "made":
            Path(words[0]).unlink(missing_ok=True)
        elif what == "renamed" and not os.path.exists(words[0]):
            os.rename(words[1], words[0])
            if words[2] != "-":
                os.rename(words[2], words[1])
        elif what == "removed" and words[1] != "-" and not os.path.exists(words[0]):
            os.rename(words[1], words[0])
