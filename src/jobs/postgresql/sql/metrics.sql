-- Figures for monitoring: docs/serve/monitoring.md describes them. They are stable: names and meanings stay as they are in
-- later versions, which may add some.
--
-- Functions: metrics() for users; job_metrics(), which it calls.
-- Called by: monitoring. Reads each job's row of its state once, so it costs as much as a count of all jobs.
-- Locks: those of reading tables (ACCESS SHARE).

-- The figures of jobs and nodes. Runs with the rights of the schema's owner, for roles that have been granted it.
CREATE OR REPLACE FUNCTION foliot.job_metrics() RETURNS TABLE (name text, label text, value double precision)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH
    clock AS (SELECT extract(epoch FROM now()) * 1000 AS ms),
    counted AS (
      SELECT 'ready' AS state, r.tube, count(*) AS jobs, min(r.due) AS first FROM foliot.ready r GROUP BY r.tube
      UNION ALL SELECT 'delayed', d.tube, count(*), min(d.due) FROM foliot.delayed d GROUP BY d.tube
      UNION ALL SELECT 'reserved', r.tube, count(*), min(r.expires) / 1000000 FROM foliot.reserved r GROUP BY r.tube
      UNION ALL SELECT 'buried', b.tube, count(*), NULL FROM foliot.buried b GROUP BY b.tube),
    named AS (SELECT c.*, encode(t.name, 'escape') AS in_tube FROM counted c JOIN foliot.tube t ON t.id = c.tube)
  SELECT 'jobs_' || n.state, n.in_tube, n.jobs FROM named n
  UNION ALL
  SELECT n.state || '_overdue_seconds', n.in_tube, greatest(0, c.ms - n.first) / 1000
  FROM named n, clock c WHERE n.state <> 'buried'
  UNION ALL
  SELECT 'paused_seconds_left', encode(t.name, 'escape'), greatest(0, p.until / 1000000 - c.ms) / 1000
  FROM foliot.pause p JOIN foliot.tube t ON t.id = p.tube, clock c
  UNION ALL
  SELECT 'node_silent_seconds', encode(n.name, 'escape'), greatest(0, c.ms - h.seen / 1000000) / 1000
  FROM foliot.node n JOIN foliot.heard h ON h.session = n.session, clock c WHERE n.name IS NOT NULL
  UNION ALL
  SELECT f.name, '', f.value FROM (
    SELECT count(*) AS sessions,
           count(DISTINCT regexp_replace(encode(n.name, 'escape'), ' [(]session [0-9]+[)]$', '')) AS nodes
    FROM foliot.node n WHERE n.name IS NOT NULL) c,
    LATERAL (VALUES ('nodes', c.nodes), ('sessions', c.sessions),
                    ('refuses_puts', foliot.refuses_puts()::integer)) f (name, value)
$$;
REVOKE EXECUTE ON FUNCTION foliot.job_metrics() FROM PUBLIC;

-- All figures.
CREATE OR REPLACE FUNCTION foliot.metrics() RETURNS TABLE (name text, label text, value double precision)
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM foliot.job_metrics()
  UNION ALL
  SELECT f.name, f.label, f.value FROM (
    SELECT regexp_replace(s.relname, '_[0-9]$', '') AS of_table, sum(s.n_dead_tup) AS dead,
           sum(pg_total_relation_size(s.relid)) AS bytes
    FROM pg_stat_user_tables s WHERE s.schemaname = 'foliot' GROUP BY 1) t,
    LATERAL (VALUES ('table_dead_rows', t.of_table, t.dead), ('table_bytes', t.of_table, t.bytes)) f (name, label, value)
  UNION ALL
  SELECT 'oldest_transaction_seconds', '', coalesce(max(extract(epoch FROM clock_timestamp() - t.begin)), 0)
  FROM (SELECT a.xact_start FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
        UNION ALL SELECT p.prepared FROM pg_prepared_xacts p WHERE p.database = current_database()) t (begin)
  UNION ALL
  -- What keeps dead rows from being removed: transactions of this database; and of the whole server the standbys that report
  -- theirs (hot_standby_feedback), over a connection or by a slot. The catalog_xmin of a slot keeps catalogs only.
  SELECT 'oldest_snapshot_transactions', '', coalesce(max(age(k.kept)), 0)
  FROM (SELECT a.backend_xid FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
        UNION ALL SELECT a.backend_xmin FROM pg_stat_activity a
        WHERE (a.datname = current_database() OR a.backend_type = 'walsender') AND a.pid <> pg_backend_pid()
          AND a.backend_type <> 'autovacuum worker'
        UNION ALL SELECT s.xmin FROM pg_replication_slots s
        UNION ALL SELECT p.transaction FROM pg_prepared_xacts p WHERE p.database = current_database()) k (kept)
  WHERE k.kept IS NOT NULL
$$;
