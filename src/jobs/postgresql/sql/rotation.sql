-- The parts of tables take turns, so that what has gone is not in the way for long, and takes no space for long. Rows may
-- come to any part at any time, and all parts are always searched.
--
-- A part that has grown leaves the new rows to an empty one. Its own rows go: ready jobs are reserved, delayed ones, which
-- are due within a minute, become ready, reservations and jobs end, batches are forgotten, and nodes are heard of again.
-- When it has been empty for a while, it is truncated. Jobs that are due later lie in the last part from the begin, and
-- what rests is moved there: ready jobs that nobody reserves, long reservations, and the texts of both. The last parts of
-- `ready` and of `delayed` are truncated, too, when they are empty. Until then searches there begin at floors (floors.sql,
-- due_times.sql).
--
-- To a snapshot that is older than the TRUNCATE, the part is empty, also of what was moved or ended later. So
--   - functions that look at jobs are VOLATILE: then each statement has its locks before its snapshot;
--   - a part stays for 2 s after its last row has gone, and as long as pg_dump runs: its snapshot is older than its locks,
--     by milliseconds or, with many tables or over a slow line, by minutes. It is known by its name;
--   - an application's transaction that keeps its snapshot for longer gets an error where it would miss a job
--     (was_truncated()).

-- Whether the part has a row. The last ones that came are mostly the last ones to go: so it looks at the end first.
CREATE OR REPLACE FUNCTION foliot.has_row(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  near_end bigint := greatest(pg_relation_size(part) / current_setting('block_size')::bigint - 16, 0);
  answer boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE ctid >= %L)', part, format('(%s,0)', near_end)) INTO answer;
  IF answer OR near_end = 0 THEN RETURN answer; END IF;
  EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part) INTO answer;
  RETURN answer;
END $$;

-- With one snapshot, a turn that has waited for a lock would not see what has just come.
CREATE OR REPLACE FUNCTION foliot.demand_read_committed() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'foliot.rotate() needs a transaction that is READ COMMITTED';
  END IF;
END $$;

-- Truncates the part if it has no row. The lock waits for all batches, and they for it: so it is soon given up, and then
-- the answer is null. So it is while pg_dump runs. Else it is whether the part was truncated.
CREATE OR REPLACE FUNCTION foliot.clear_part(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM foliot.demand_read_committed();
  IF foliot.has_row(part) THEN RETURN false; END IF;
  IF EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = current_database() AND a.application_name = 'pg_dump') THEN
    RETURN NULL;
  END IF;
  EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part);
  -- A row that has just come ends the subtransaction, and with it the lock.
  IF foliot.has_row(part) THEN RAISE EXCEPTION 'not empty' USING ERRCODE = 'FL004'; END IF;
  EXECUTE format('TRUNCATE TABLE %s', part);
  RETURN true;
EXCEPTION
  WHEN SQLSTATE 'FL004' THEN RETURN false;
  WHEN lock_not_available THEN RETURN NULL;
END $$;

-- For how long the current part of a table has taken its new rows, and the others have not.
CREATE OR REPLACE FUNCTION foliot.age_of_part(of_table text) RETURNS interval LANGUAGE sql AS $$
  SELECT interval '1 ms' * (extract(epoch FROM clock_timestamp()) * 1000
                            - (pg_sequence_last_value(to_regclass('foliot.part_of_' || of_table)) >> 4))
$$;

-- Whether the part has had no row for so long, as far as the turns have seen. A sequence says since when; 0: it had one.
CREATE OR REPLACE FUNCTION foliot.is_empty_since(part regclass, length interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  since regclass := to_regclass(part::text || '_empty_since');
  now_ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
  IF foliot.has_row(part) THEN
    PERFORM setval(since, 0);
    RETURN false;
  END IF;
  IF pg_sequence_last_value(since) BETWEEN 1 AND now_ms THEN
    RETURN interval '1 ms' * (now_ms - pg_sequence_last_value(since)) >= length;
  END IF;
  PERFORM setval(since, now_ms);
  RETURN length <= interval '0';
END $$;

-- From now on this part takes the new rows of the table.
CREATE OR REPLACE FUNCTION foliot.set_current_part(of_table text, number smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM setval(to_regclass(format('foliot.%s_%s_empty_since', of_table, number)), 0);
  PERFORM setval(to_regclass('foliot.part_of_' || of_table),
                 (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint << 4) + number);
END $$;

-- The parts of a table that do not take its new rows, and may be truncated: the one first that took them longest ago, and
-- last the one that never does.
CREATE OR REPLACE FUNCTION foliot.idle_parts(of_table text) RETURNS SETOF smallint LANGUAGE sql VOLATILE AS $$
  SELECT n::smallint FROM foliot.current_part(of_table) present, generate_series(0, 9) n
  WHERE n <> present AND to_regclass(format('foliot.%s_%s_empty_since', of_table, n)) IS NOT NULL
  ORDER BY n = 9, (n - present + 3) % 3
$$;

-- Lets another part of a table take the new rows if the present one has reached this size, in bytes, and this age. Before
-- that it clears a part that is empty, if it may. Returns 2 if it has, 0 if a lock was not free, else 1. If the transaction
-- does not commit, the choice of the part stays, and does no harm.
CREATE OR REPLACE FUNCTION foliot.rotate_table(name text, size bigint, age interval, may_clear boolean DEFAULT true)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  present smallint := foliot.current_part(name);
  number smallint;
  part regclass;
  next_part smallint;
  cleared boolean;
  answer integer := 1;
BEGIN
  FOR number IN SELECT p FROM foliot.idle_parts(name) p LOOP
    part := to_regclass(format('foliot.%s_%s', name, number));
    IF pg_relation_size(part) > 0 THEN
      CONTINUE WHEN NOT foliot.is_empty_since(part, least(age, interval '2 s')) OR answer <> 1 OR NOT may_clear;
      cleared := foliot.clear_part(part);
      IF cleared IS NULL THEN answer := 0; END IF;
      IF cleared IS NOT TRUE THEN  -- it may have a row that is not committed yet
        PERFORM setval(to_regclass(part::text || '_empty_since'), 0);
        CONTINUE;
      END IF;
      answer := 2;
    END IF;
    IF number <> 9 THEN next_part := coalesce(next_part, number); END IF;
  END LOOP;
  IF foliot.age_of_part(name) < interval '0' THEN  -- the clock was set back
    PERFORM foliot.set_current_part(name, present);
  ELSIF next_part IS NOT NULL AND foliot.age_of_part(name) > age
        AND pg_table_size(to_regclass(format('foliot.%s_%s', name, present))) >= size THEN
    PERFORM foliot.set_current_part(name, next_part);
  END IF;
  RETURN answer;
END $$;

-- A part of the table that has taken no new rows for so long, and has pages; null: there is none.
CREATE OR REPLACE FUNCTION foliot.resting_part(of_table text, length interval DEFAULT '10 s') RETURNS smallint
LANGUAGE sql VOLATILE AS $$
  SELECT p FROM foliot.idle_parts(of_table) p
  WHERE p <> 9 AND foliot.age_of_part(of_table) > length
    AND pg_relation_size(to_regclass(format('foliot.%s_%s', of_table, p))) > 0
  ORDER BY p LIMIT 1
$$;

-- Moves a piece of the ready jobs in a resting part to the last one; returns whether the next piece is to follow soon: if
-- claims walk over many entries of gone jobs there (floors.sql), because a transaction stays open, and the last part has
-- floors.
--
-- A piece begins with the youngest jobs, which claims mostly come to last: so the entries that it leaves are behind what
-- claims walk over. It ends where the next one begins, which a sequence says. Claims pass over its jobs meanwhile, so it is
-- small.
CREATE OR REPLACE FUNCTION foliot.move_ready() RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  from_part smallint := foliot.resting_part('ready', interval '2 s');
  before bigint := pg_sequence_last_value('foliot.ready_moved_from');
  now_ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  is_urgent boolean := pg_sequence_last_value('foliot.ready_gone_met') BETWEEN now_ms - 5000 AND now_ms;
  ids bigint[];
BEGIN
  IF from_part IS NULL OR NOT foliot.lock_floors() THEN RETURN false; END IF;
  IF NOT is_urgent AND foliot.resting_part('ready') IS NULL THEN RETURN false; END IF;
  ids := ARRAY(SELECT r.id FROM foliot.ready r WHERE r.part = from_part AND r.id < before ORDER BY r.id DESC LIMIT 1000
               FOR UPDATE SKIP LOCKED);
  IF cardinality(ids) < 1000 THEN
    PERFORM setval('foliot.ready_moved_from', 9223372036854775807);  -- the next one begins with the last job again
  ELSE
    PERFORM setval('foliot.ready_moved_from', ids[1000]);
  END IF;
  ids := foliot.lock_some(ids);
  WITH gone AS (DELETE FROM foliot.ready r WHERE r.id = ANY (ids) RETURNING r.*),
    made AS (INSERT INTO foliot.ready
             SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, 9 FROM gone
             RETURNING tube, pri, id)
  UPDATE foliot.ready_floor f SET pri = m.pri, id = m.id
  FROM (SELECT DISTINCT ON (n.tube) n.tube, n.pri, n.id FROM made n ORDER BY n.tube, n.pri, n.id) m
  WHERE f.tube = m.tube AND (m.pri, m.id) < (f.pri, f.id);
  RETURN is_urgent AND cardinality(ids) > 0;
END $$;

-- Moves some rows of resting parts to the last part; returns whether many more ready jobs are to be moved. An UPDATE moves
-- a row of `job` or `reserved`, so that a statement that meets it at that moment gets an error (40001), and tries again: to
-- miss it would be to say that there is no such job.
CREATE OR REPLACE FUNCTION foliot.move_resting() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  from_part smallint;
  ids bigint[];
BEGIN
  IF foliot.move_ready() THEN RETURN true; END IF;
  from_part := foliot.resting_part('reserved');
  IF from_part IS NOT NULL THEN
    ids := foliot.lock_some(ARRAY(SELECT r.id FROM foliot.reserved r WHERE r.part = from_part LIMIT 1000
                                  FOR UPDATE SKIP LOCKED));
    UPDATE foliot.reserved r SET part = 9 WHERE r.part = from_part AND r.id = ANY (ids);
  END IF;
  from_part := foliot.resting_part('job');
  IF from_part IS NOT NULL THEN
    -- Bodies are written again: at most 1 MB of them, or one.
    ids := foliot.lock_some(ARRAY(SELECT s.id FROM (
      SELECT j.id, sum(octet_length(j.body)) OVER w AS size, row_number() OVER w AS n
      FROM (SELECT k.id, k.body FROM foliot.job k WHERE k.part = from_part LIMIT 1000) j
      WINDOW w AS (ORDER BY j.id)) s WHERE s.n = 1 OR s.size <= 1048576));
    UPDATE foliot.job j SET part = 9 WHERE j.part = from_part AND j.id = ANY (ids);
  END IF;
  RETURN false;
END $$;

-- No node asks so late for a batch of a session that is over.
CREATE OR REPLACE FUNCTION foliot.forget_old_batches() RETURNS void LANGUAGE sql AS $$
  DELETE FROM foliot.batch b
  WHERE b.part <> foliot.current_part('batch') AND b.made < 1000000000 * (extract(epoch FROM now())::bigint - 3600)
    AND NOT EXISTS (SELECT FROM foliot.node n WHERE n.session = b.session)
$$;

-- Whether a part of this table was truncated since the transaction's snapshot, to which the part seems empty: the snapshot
-- has the number of the file that it had.
CREATE OR REPLACE FUNCTION foliot.was_truncated(of_table text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE i.inhparent = to_regclass('foliot.' || of_table) AND c.relfilenode <> pg_relation_filenode(c.oid))
$$;

-- A turn of this, which any node may take; one at a time, and one in half a second. For nodes, to whose role it was
-- granted: it runs with the rights of the schema's owner. If its commit is lost, nothing is: so that does not wait for a
-- standby. It clears at most one part, or deletes names of tubes, and waits for one lock that it does not get, because batches
-- wait for it meanwhile. Returns 2 if the next turn may follow soon: it has cleared a part, and moved no rows, or more rows are
-- to be moved, or more names to be deleted. Returns 0 if the lock was not free, as while an application has put jobs and its
-- transaction is open: then the next turn, which begins with another table, may wait longer. Returns 3 if it was not the time
-- for a turn; else 1.
CREATE OR REPLACE FUNCTION foliot.rotate() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = on SET quote_all_identifiers = off AS $$
DECLARE
  now_ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  turn bigint;
  each record;
  of_one integer;
  answer integer := 1;
BEGIN
  IF NOT foliot.lock_floors() THEN RETURN 3; END IF;
  IF pg_sequence_last_value('foliot.last_turn') BETWEEN now_ms - 500 AND now_ms THEN RETURN 3; END IF;
  PERFORM setval('foliot.last_turn', now_ms);
  PERFORM set_config('synchronous_commit', 'off', true);
  turn := nextval('foliot.turn');
  FOR each IN SELECT t.* FROM (VALUES (0, 'delayed', 524288, interval '10 s'), (1, 'ready', 524288, interval '2 s'),
                                      (2, 'reserved', 4194304, interval '10 s'), (3, 'job', 8388608, interval '10 s'),
                                      (4, 'batch', 524288, interval '10 s'), (5, 'heard', 131072, interval '10 s'))
                                t (n, of_table, size, age)
              ORDER BY (t.n + turn) % 6 LOOP
    of_one := foliot.rotate_table(each.of_table, each.size, each.age, answer = 1);
    IF of_one <> 1 THEN answer := of_one; END IF;
  END LOOP;
  -- Each batch looks for pauses, and walks over those that have gone: this table has no parts, but is mostly empty.
  IF answer = 1 AND pg_relation_size('foliot.pause') > 65536 THEN
    answer := coalesce(foliot.clear_part('foliot.pause')::integer + 1, 0);
  END IF;
  -- Kicks walk over the jobs that were buried once, and so do others that look for buried jobs.
  IF answer = 1 AND pg_relation_size('foliot.buried') > 65536
     AND foliot.is_empty_since('foliot.buried', interval '2 s') THEN
    answer := coalesce(foliot.clear_part('foliot.buried')::integer + 1, 0);
    IF answer <> 2 THEN PERFORM setval('foliot.buried_empty_since', 0); END IF;
  END IF;
  IF answer <> 2 THEN
    PERFORM foliot.forget_old_batches();
    PERFORM foliot.raise_due_floor(now_ms);
    PERFORM foliot.refill_ballast(now_ms);
    PERFORM foliot.forget_floors();
    IF answer = 1 AND foliot.are_tubes_due(now_ms) THEN  -- last, as batches wait from then on
      answer := foliot.forget_tubes();
    ELSIF NOT foliot.refuses_puts() AND foliot.move_resting() AND answer = 1 THEN  -- to move rows needs room
      answer := 2;
    END IF;
  END IF;
  IF answer = 2 THEN PERFORM setval('foliot.last_turn', 1); END IF;
  RETURN answer;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.rotate FROM PUBLIC;
