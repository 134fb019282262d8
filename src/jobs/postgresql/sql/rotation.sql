-- The rotation: partitions take the new rows of their table in turn, and empty ones are truncated. So dead rows do not slow
-- searches for long, and take no disk space for long, also beside a transaction that stays open.
--
-- A partition that has grown leaves the new rows to an empty one. Its own rows go: ready jobs are reserved, delayed jobs,
-- which are due within a minute, become ready, reservations and jobs end, batches are deleted, and nodes send heartbeats.
-- When it has been empty for a while, it is truncated. Jobs that are due later are put into the lasting partition.
-- Rows that rest are moved there: ready jobs that no worker reserves, long reservations, and the rows of both in `job`. The
-- lasting partitions of `ready` and `delayed` are truncated, too, when they are empty; until then searches there begin at
-- floors (floors.sql, due_times.sql). Rows may come to any partition at any time, and all partitions are always searched.
--
-- To a snapshot that is older than the TRUNCATE, the partition looks empty, also of rows that were moved or ended later. So
--   - functions that look at jobs are VOLATILE: then each statement has its locks before its snapshot;
--   - a partition is kept for 2 s after its last row has gone, and as long as pg_dump runs, whose snapshot is older than its
--     locks by milliseconds or, with many tables or over a slow line, by minutes. It is recognised by its name;
--   - the transaction of an application that keeps a snapshot for longer gets an error if it would miss a job
--     (was_truncated()).
--
-- Tables: job, ready, delayed, reserved, batch and heard have partitions; pause and buried are truncated when they are
-- empty. Called by: nodes (rotate()), every half second at most, whichever comes first. Locks: lock_of_rotation(), until the
-- transaction ends; a partition that is truncated (ACCESS EXCLUSIVE), for which a turn waits 50 ms at most, because all
-- batches wait meanwhile; rows that are moved, with SKIP LOCKED.

-- Whether the partition has a row. Rows that came last mostly go last, so it looks at the end of the partition first.
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

-- Fails in a transaction that keeps one snapshot: after a wait for a lock a turn would not see the rows that have just come.
CREATE OR REPLACE FUNCTION foliot.demand_read_committed() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'foliot.rotate() needs a transaction that is READ COMMITTED';
  END IF;
END $$;

-- Truncates the partition if it has no row; returns whether it did. Returns null if the lock was not free, or while pg_dump
-- runs: the lock waits for all batches, and they wait for it, so it times out soon.
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

-- What a turn answers after clear_part().
CREATE OR REPLACE FUNCTION foliot.rotation_answer(cleared boolean) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE cleared WHEN true THEN foliot.rotation_more() WHEN false THEN foliot.rotation_done()
                      ELSE foliot.rotation_locked() END
$$;

-- For how long the current partition of a table has taken its new rows.
CREATE OR REPLACE FUNCTION foliot.age_of_part(of_table text) RETURNS interval LANGUAGE sql AS $$
  SELECT interval '1 ms' * (extract(epoch FROM clock_timestamp()) * 1000
                            - (pg_sequence_last_value(to_regclass('foliot.part_of_' || of_table)) >> 4))
$$;

-- Whether the partition has had no row for so long, as far as turns have seen. A sequence has the time since when, in ms; 0
-- if the last turn has seen a row.
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

-- From now on this partition takes the new rows of the table.
CREATE OR REPLACE FUNCTION foliot.set_current_part(of_table text, number smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM setval(to_regclass(format('foliot.%s_%s_empty_since', of_table, number)), 0);
  PERFORM setval(to_regclass('foliot.part_of_' || of_table),
                 (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint << 4) + number);
END $$;

-- The partitions of a table that do not take its new rows, and may be truncated: first the one that took them longest ago,
-- last the lasting one.
CREATE OR REPLACE FUNCTION foliot.idle_parts(of_table text) RETURNS SETOF smallint LANGUAGE sql VOLATILE AS $$
  SELECT n::smallint FROM foliot.current_part(of_table) present, generate_series(0, foliot.lasting_partition()) n
  WHERE n <> present AND to_regclass(format('foliot.%s_%s_empty_since', of_table, n)) IS NOT NULL
  ORDER BY n = foliot.lasting_partition(), (n - present + 3) % 3
$$;

-- Lets another partition of a table take the new rows if the current one has reached this size, in bytes, and this age.
-- Before that it truncates an empty partition, if `may_clear`. Returns rotation_more() if it has truncated one,
-- rotation_locked() if a lock was not free, else rotation_done(). If the transaction does not commit, the choice of the
-- partition stays, which does no harm.
CREATE OR REPLACE FUNCTION foliot.rotate_table(name text, size bigint, age interval, may_clear boolean DEFAULT true)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  present smallint := foliot.current_part(name);
  number smallint;
  part regclass;
  next_part smallint;
  cleared boolean;
  answer integer := foliot.rotation_done();
BEGIN
  FOR number IN SELECT p FROM foliot.idle_parts(name) p LOOP
    part := to_regclass(format('foliot.%s_%s', name, number));
    IF pg_relation_size(part) > 0 THEN
      CONTINUE WHEN NOT foliot.is_empty_since(part, least(age, interval '2 s')) OR answer <> foliot.rotation_done()
                    OR NOT may_clear;
      cleared := foliot.clear_part(part);
      IF cleared IS NULL THEN answer := foliot.rotation_locked(); END IF;
      IF cleared IS NOT TRUE THEN  -- it may have a row that is not committed yet
        PERFORM setval(to_regclass(part::text || '_empty_since'), 0);
        CONTINUE;
      END IF;
      answer := foliot.rotation_more();
    END IF;
    IF number <> foliot.lasting_partition() THEN next_part := coalesce(next_part, number); END IF;
  END LOOP;
  IF foliot.age_of_part(name) < interval '0' THEN  -- the clock was set back
    PERFORM foliot.set_current_part(name, present);
  ELSIF next_part IS NOT NULL AND foliot.age_of_part(name) > age
        AND pg_table_size(to_regclass(format('foliot.%s_%s', name, present))) >= size THEN
    PERFORM foliot.set_current_part(name, next_part);
  END IF;
  RETURN answer;
END $$;

-- A partition of the table that has taken no new rows for so long, and has pages; null if there is none.
CREATE OR REPLACE FUNCTION foliot.resting_part(of_table text, length interval DEFAULT '10 s') RETURNS smallint
LANGUAGE sql VOLATILE AS $$
  SELECT p FROM foliot.idle_parts(of_table) p
  WHERE p <> foliot.lasting_partition() AND foliot.age_of_part(of_table) > length
    AND pg_relation_size(to_regclass(format('foliot.%s_%s', of_table, p))) > 0
  ORDER BY p LIMIT 1
$$;

-- Moves a piece of the ready jobs in a resting partition to the lasting one. Returns whether the next piece should follow
-- soon: if claims meet many dead entries there (floors.sql), because a transaction stays open, while the lasting partition
-- has floors.
--
-- A piece begins with the youngest jobs, which claims mostly take last: so the dead entries that it leaves are behind those
-- that claims meet. A sequence has the job where the next piece begins. A piece is small, because claims pass over its jobs
-- meanwhile.
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
    PERFORM setval('foliot.ready_moved_from', foliot.greatest_bigint());  -- the next one begins with the last job again
  ELSE
    PERFORM setval('foliot.ready_moved_from', ids[1000]);
  END IF;
  ids := foliot.lock_some(ids);
  WITH gone AS (DELETE FROM foliot.ready r WHERE r.id = ANY (ids) RETURNING r.*),
    made AS (INSERT INTO foliot.ready
             SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, foliot.lasting_partition() FROM gone
             RETURNING tube, pri, id)
  UPDATE foliot.ready_floor f SET pri = m.pri, id = m.id
  FROM (SELECT DISTINCT ON (n.tube) n.tube, n.pri, n.id FROM made n ORDER BY n.tube, n.pri, n.id) m
  WHERE f.tube = m.tube AND (m.pri, m.id) < (f.pri, f.id);
  RETURN is_urgent AND cardinality(ids) > 0;
END $$;

-- Moves some rows of resting partitions to the lasting ones; returns whether many more ready jobs are to be moved. Rows of
-- `job` and `reserved` are moved by an UPDATE, so that a statement that meets such a row at that moment gets an error
-- (40001), and is repeated. If it missed the row, it would answer that there is no such job.
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
    UPDATE foliot.reserved r SET part = foliot.lasting_partition() WHERE r.part = from_part AND r.id = ANY (ids);
  END IF;
  from_part := foliot.resting_part('job');
  IF from_part IS NOT NULL THEN
    -- Bodies and fields are written again: at most 1 MB of them as they are stored, or those of one job.
    ids := foliot.lock_some(ARRAY(SELECT s.id FROM (
      SELECT j.id, sum(foliot.stored_bytes(j.body, j.fields)) OVER w AS size, row_number() OVER w AS n
      FROM (SELECT k.id, k.body, k.fields FROM foliot.job k WHERE k.part = from_part LIMIT 1000) j
      WINDOW w AS (ORDER BY j.id)) s WHERE s.n = 1 OR s.size <= 1048576));
    UPDATE foliot.job j SET part = foliot.lasting_partition() WHERE j.part = from_part AND j.id = ANY (ids);
  END IF;
  RETURN false;
END $$;

-- Deletes the numbers of batches of registrations that have ended: after an hour no node asks for them. Such a registration may
-- still have reservations that last.
CREATE OR REPLACE FUNCTION foliot.forget_old_batches() RETURNS void LANGUAGE sql AS $$
  DELETE FROM foliot.batch b
  WHERE b.part <> foliot.current_part('batch') AND b.made < 1000000000 * (extract(epoch FROM now())::bigint - 3600)
    AND NOT EXISTS (SELECT FROM foliot.node n WHERE n.session = b.session AND n.name IS NOT NULL)
$$;

-- Whether a partition of this table was truncated since the transaction's snapshot: to the snapshot the partition seems
-- empty, and has the number of its old file.
CREATE OR REPLACE FUNCTION foliot.was_truncated(of_table text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE i.inhparent = to_regclass('foliot.' || of_table) AND c.relfilenode <> pg_relation_filenode(c.oid))
$$;

-- A turn of the rotation. Any node may call it; one turn is executed at a time, and one in half a second. For nodes, whose
-- role has been granted this function: it runs with the rights of the schema's owner. A turn whose commit is lost loses
-- nothing, so the commit does not wait for a standby.
--
-- A turn truncates at most one partition, or deletes names of tubes, and gives up after one lock that it did not get,
-- because batches wait for it meanwhile. Returns
--   rotation_more()    it has truncated a partition, and moved no rows; or more rows are to be moved, or more names or
--                      records of operations that happen once (once.sql) to be deleted
--   rotation_locked()  a lock was not free, as while an application has put jobs in a transaction that is open. The next turn
--                      begins with another table
--   rotation_early()   another turn is under way, or the last one was less than half a second ago
--   rotation_done()    otherwise
CREATE OR REPLACE FUNCTION foliot.rotate() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = on SET quote_all_identifiers = off AS $$
DECLARE
  now_ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  turn bigint;
  each record;
  of_one integer;
  has_ended boolean;
  answer integer := foliot.rotation_done();
BEGIN
  IF NOT foliot.lock_floors() THEN RETURN foliot.rotation_early(); END IF;
  IF pg_sequence_last_value('foliot.last_turn') BETWEEN now_ms - 500 AND now_ms THEN
    RETURN foliot.rotation_early();
  END IF;
  PERFORM setval('foliot.last_turn', now_ms);
  PERFORM set_config('synchronous_commit', 'off', true);
  turn := nextval('foliot.turn');
  FOR each IN SELECT t.* FROM (VALUES (0, 'delayed', 524288, interval '10 s'), (1, 'ready', 524288, interval '2 s'),
                                      (2, 'reserved', 4194304, interval '10 s'), (3, 'job', 8388608, interval '10 s'),
                                      (4, 'batch', 524288, interval '10 s'), (5, 'heard', 131072, interval '10 s'))
                                t (n, of_table, size, age)
              ORDER BY (t.n + turn) % 6 LOOP
    of_one := foliot.rotate_table(each.of_table, each.size, each.age, answer = foliot.rotation_done());
    IF of_one <> foliot.rotation_done() THEN answer := of_one; END IF;
  END LOOP;
  -- Each batch looks for pauses, and walks over those that have gone: this table has no partitions, but is mostly empty.
  IF answer = foliot.rotation_done() AND pg_relation_size('foliot.pause') > 65536 THEN
    answer := foliot.rotation_answer(foliot.clear_part('foliot.pause'));
  END IF;
  -- Kicks walk over the jobs that were buried once, and so do others that look for buried jobs.
  IF answer = foliot.rotation_done() AND pg_relation_size('foliot.buried') > 65536
     AND foliot.is_empty_since('foliot.buried', interval '2 s') THEN
    answer := foliot.rotation_answer(foliot.clear_part('foliot.buried'));
    IF answer <> foliot.rotation_more() THEN PERFORM setval('foliot.buried_empty_since', 0); END IF;
  END IF;
  IF answer <> foliot.rotation_more() THEN
    PERFORM foliot.forget_old_batches();
    PERFORM foliot.raise_due_floor(now_ms);
    PERFORM foliot.refill_ballast(now_ms);
    PERFORM foliot.forget_floors();
    has_ended := foliot.forget_once(now_ms, turn % 4096 = 0);
    IF answer = foliot.rotation_done() AND foliot.are_tubes_due(now_ms) THEN  -- last, as batches wait from then on
      answer := foliot.forget_tubes();
    ELSIF NOT foliot.refuses_puts() AND foliot.move_resting()  -- to move rows needs room
          AND answer = foliot.rotation_done() THEN
      answer := foliot.rotation_more();
    END IF;
    IF has_ended AND answer = foliot.rotation_done() THEN answer := foliot.rotation_more(); END IF;
  END IF;
  IF answer = foliot.rotation_more() THEN PERFORM setval('foliot.last_turn', 1); END IF;
  RETURN answer;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.rotate FROM PUBLIC;
