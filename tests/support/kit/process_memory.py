"""What is in the memory of another process, as a core dump would have it."""
import itertools
import resource
import struct


def can_read_memory(pid):
    try:
        open(f"/proc/{pid}/mem", "rb").close()
        return True
    except PermissionError:
        return False


def times_in_memory(pid, what):
    """How often the memory of the process has these bytes, in the pages that are there."""
    page = resource.getpagesize()
    found = 0
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/pagemap", "rb", 0) as pages, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(each, 16) for each in line.split()[0].split("-"))
            if "rw" not in line.split()[1] or end - begin > 1 << 30:  # as the shadow of sanitizers
                continue
            pages.seek(begin // page * 8)
            entries = pages.read((end - begin) // page * 8)
            is_there = [entry >> 63 for (entry,) in struct.iter_unpack("<Q", entries)]
            for there, group in itertools.groupby(enumerate(is_there), lambda each: each[1]):
                numbers = [number for number, _ in group]
                if not there:
                    continue
                try:
                    memory.seek(begin + numbers[0] * page)
                    found += memory.read(len(numbers) * page).count(what)
                except OSError:
                    pass  # it is gone
    return found
