"""What a PostgreSQL server on this machine has used: processor time of its processes, bytes of WAL, and syncs."""
from pathlib import Path

WAL = """SELECT (SELECT wal_lsn - '0/0' FROM pg_current_wal_lsn() wal_lsn), wal_sync, wal_sync_time, wal_fpi, wal_records,
(SELECT n_tup_ins FROM pg_stat_user_tables WHERE schemaname = 'foliot' AND relname = 'batch') FROM pg_stat_wal"""
SIZE = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables WHERE schemaname = 'foliot'"


def cpu_of(process, waiting=False):
    """Seconds on a processor; or ready to run, and waiting for one."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[waiting]) / 1e9
    except (OSError, IndexError):  # the process has ended
        return 0.0


class ServerUsage:
    def __init__(self, server):
        self.server = server
        self.postmaster = int((Path(server.folder) / "data" / "postmaster.pid").read_text().split()[0])
        # Syncs are timed from now on.
        server.sql(server.folder, "ALTER SYSTEM SET track_wal_io_timing = on")
        server.sql(server.folder, "SELECT pg_reload_conf()")

    def cpu(self, waiting=False):
        """Seconds of the client backends, and of the server's other processes: see cpu_of()."""
        backends = others = 0.0
        for process in Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split():
            try:
                title = Path(f"/proc/{process}/cmdline").read_text()
            except OSError:
                continue
            if "[local]" in title:
                backends += cpu_of(process, waiting)
            else:
                others += cpu_of(process, waiting)
        return backends, others

    def wal(self):
        """The position in the WAL in bytes, syncs, their ms, full pages, records, and batches that have written: the last
        five as of the latest report of each backend, which follows up to a second later."""
        row = self.server.sql(self.server.folder, WAL).replace("|", " ").split()
        return [float(each) for each in row]

    def table_bytes(self):
        return int(self.server.sql(self.server.folder, SIZE))
