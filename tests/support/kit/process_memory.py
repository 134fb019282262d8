"""What is in the memory of another process, as a core dump would have it."""
import itertools
import resource
import struct
from pathlib import Path

# From elf.h.
PT_DYNAMIC = 2
DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 24, 30, 0x6ffffffb
DF_BIND_NOW, DF_1_NOW = 8, 1


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


def binds_at_start(program):
    """Whether the loader looks up all functions that this ELF file calls when it starts, not at their first calls."""
    text = Path(program).read_bytes()
    if text[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{program} is no ELF file of 64 bits, little end first")
    (table,) = struct.unpack_from("<Q", text, 32)
    size, count = struct.unpack_from("<HH", text, 54)
    for header in range(table, table + size * count, size):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", text, header)
        if kind != PT_DYNAMIC:
            continue
        for tag, value in struct.iter_unpack("<QQ", text[at:at + length]):
            if tag == DT_BIND_NOW or (tag == DT_FLAGS and value & DF_BIND_NOW) or (tag == DT_FLAGS_1 and value & DF_1_NOW):
                return True
    return False
