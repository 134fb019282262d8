"""The numbers of a file that a test shares with a library in front of a program: which calls fail, and how many were
counted. The first number is that of the first call that fails, 0: none is counted; the second is how many fail from there
on."""
import mmap

FIRST, COUNT = range(2)
FOR_EVER = 1 << 62


class ControlFile:
    """`calls` and the number behind it are counted by the library. All are zero at first."""

    def __init__(self, path, calls):
        path.write_bytes(bytes(8 * 16))
        with open(path, "r+b") as file:
            self.numbers = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        self._calls, self._failed = calls, calls + 1

    def restore(self):
        """Nothing fails any more."""
        self.numbers[FIRST] = 0

    def fail(self, first, count, others):
        """From now on, where the numbers `others` say what: a dictionary. The calls are counted from here."""
        self.restore()
        for which, value in {self._calls: 0, self._failed: 0, COUNT: count, **others}.items():
            self.numbers[which] = value
        self.numbers[FIRST] = first

    @property
    def calls(self):
        """How many calls were counted since fail()."""
        return self.numbers[self._calls]

    @property
    def failures(self):
        return self.numbers[self._failed]
