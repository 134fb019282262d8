"""What a PostgreSQL server on this machine has used: processor time of its processes, bytes of WAL, and syncs."""
import contextlib
import os
from pathlib import Path

WAL = """SELECT (SELECT wal_lsn - '0/0' FROM pg_current_wal_lsn() wal_lsn), wal_sync, wal_sync_time, wal_fpi, wal_records,
(SELECT sum(n_tup_ins) FROM pg_stat_user_tables WHERE schemaname = 'foliot' AND relname ~ '^batch_') FROM pg_stat_wal"""
SIZE = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables WHERE schemaname = 'foliot'"


def seconds_of(process):
    """On a processor, of all threads of this process, those that have ended included."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads_of(process):
    """{thread: (its name, its seconds on a processor)}."""
    used = {}
    for each in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            nanoseconds = int((each / "schedstat").read_text(encoding="ascii").split()[0])
            used[each.name] = (each / "comm").read_text(encoding="ascii").strip(), nanoseconds / 1e9
    return used


def cpu_of(process):
    """Seconds on a processor, and ready to run without one."""
    try:
        return [int(each) / 1e9 for each in Path(f"/proc/{process}/schedstat").read_text().split()[:2]]
    except OSError:  # the process has ended
        return [0.0, 0.0]


def spent(before, after, backends_only=True):
    """Seconds on a processor, and ready to run without one, between two answers of ServerUsage.processes(). A process
    that has ended in between does not count."""
    nothing = (False, [0.0, 0.0])
    return [sum(seconds[i] - before.get(process, nothing)[1][i] for process, (is_backend, seconds) in after.items()
                if is_backend or not backends_only) for i in range(2)]


class ServerUsage:
    def __init__(self, server):
        self.server = server
        self.postmaster = int((Path(server.folder) / "data" / "postmaster.pid").read_text().split()[0])
        # Syncs are timed from now on.
        server.sql(server.folder, "ALTER SYSTEM SET track_wal_io_timing = on")
        server.sql(server.folder, "SELECT pg_reload_conf()")

    def processes(self):
        """{process: (whether it is the backend of a client, what cpu_of() says)}."""
        result = {}
        for process in Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split():
            try:
                result[process] = "[local]" in Path(f"/proc/{process}/cmdline").read_text(), cpu_of(process)
            except OSError:  # it has ended
                pass
        return result

    def backends_since(self, before):
        """us of CPU of the backends of clients."""
        return spent(before, self.processes())[0] * 1e6

    def wal(self):
        """The position in the WAL in bytes, syncs, their ms, full pages, records, and batches that have written: the last
        five as of the latest report of each backend, which follows up to a second later."""
        row = self.server.sql(self.server.folder, WAL).replace("|", " ").split()
        return [float(each) for each in row]

    def table_bytes(self):
        return int(self.server.sql(self.server.folder, SIZE))
