-- The parts of tables take turns, so that what has gone is not in the way for long, and takes no space for long. Nothing
-- but that depends on it: all parts are always searched, and rows may come to any part at any time.
--
-- A part that has grown leaves the new rows to an empty one. Its own rows go: ready jobs are reserved, delayed ones, which
-- are due within a minute, become ready, reservations and jobs end, and batches are forgotten. When it has none left, it
-- is truncated. Jobs that are due later lie in the last part from the begin, and what rests is moved there: ready jobs
-- that nobody reserves, long reservations, and the texts of both.

-- Whether the part has a row.
CREATE OR REPLACE FUNCTION foliot.has_row(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  answer boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part) INTO answer;
  RETURN answer;
END $$;

-- Truncates the part if it has no row. The lock waits for all batches, and they for it: so it is soon given up, and then
-- the answer is null. Else it is whether the part was locked and truncated.
CREATE OR REPLACE FUNCTION foliot.clear_part(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF foliot.has_row(part) THEN RETURN false; END IF;
  EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part);
  -- A row that has just come ends the subtransaction, and with it the lock.
  IF foliot.has_row(part) THEN RAISE EXCEPTION 'not empty' USING ERRCODE = 'FL004'; END IF;
  EXECUTE format('TRUNCATE TABLE %s', part);
  RETURN true;
EXCEPTION
  WHEN SQLSTATE 'FL004' THEN RETURN false;
  WHEN lock_not_available THEN RETURN NULL;
END $$;

-- Since when the current part of a table takes its new rows, and the others do not, in milliseconds.
CREATE OR REPLACE FUNCTION foliot.part_since(of_table text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT pg_sequence_last_value(to_regclass('foliot.part_of_' || of_table)) >> 4
$$;
CREATE OR REPLACE FUNCTION foliot.age_of_part(of_table text) RETURNS interval LANGUAGE sql VOLATILE AS $$
  SELECT interval '1 ms' * (extract(epoch FROM clock_timestamp()) * 1000 - foliot.part_since(of_table))
$$;

-- Lets another part of a table take the new rows if the present one has reached this size, in bytes, and this age. Before
-- that it clears one part, if it may. Returns 2 if it has, 0 if a lock was not free, else 1. If the transaction does not
-- commit, the choice of the part stays, and does no harm.
CREATE OR REPLACE FUNCTION foliot.rotate_table(name text, size bigint, age interval, may_clear boolean DEFAULT true)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  present smallint := foliot.current_part(name);
  number smallint;
  part regclass;
  next_part smallint;
  cleared boolean := false;
  answer integer := 1;
BEGIN
  FOR i IN 1 .. 2 LOOP  -- the part that took new rows longest ago is first
    number := (present + i) % 3;
    part := to_regclass(format('foliot.%s_%s', name, number));
    CONTINUE WHEN part IS NULL OR number = present;
    IF pg_relation_size(part) > 0 THEN
      CONTINUE WHEN answer <> 1 OR NOT may_clear;
      cleared := foliot.clear_part(part);
      IF cleared IS NULL THEN answer := 0; END IF;
      CONTINUE WHEN cleared IS NOT TRUE;
      answer := 2;
    END IF;
    next_part := coalesce(next_part, number);
  END LOOP;
  IF next_part IS NOT NULL AND foliot.age_of_part(name) > age
     AND pg_relation_size(to_regclass(format('foliot.%s_%s', name, present))) >= size THEN
    PERFORM setval(to_regclass('foliot.part_of_' || name),
                   (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint << 4) + next_part);
  END IF;
  RETURN answer;
END $$;

-- A part of the table that has taken no new rows for 10 s, and has pages; null: there is none.
CREATE OR REPLACE FUNCTION foliot.resting_part(of_table text) RETURNS smallint LANGUAGE sql VOLATILE AS $$
  SELECT n::smallint FROM generate_series(0, 2) n
  WHERE n <> foliot.current_part(of_table) AND foliot.age_of_part(of_table) > interval '10 s'
    AND pg_relation_size(to_regclass(format('foliot.%s_%s', of_table, n))) > 0
  ORDER BY n LIMIT 1
$$;

-- Moves some rows of such parts to the last part. An UPDATE moves a row of `job` or `reserved`, so that a statement that
-- meets it at that moment gets an error (40001), and tries again: to miss it would be to say that there is no such job.
CREATE OR REPLACE FUNCTION foliot.move_resting() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  from_part smallint := foliot.resting_part('ready');
  ids bigint[];
BEGIN
  IF from_part IS NOT NULL THEN
    ids := foliot.lock_some(ARRAY(SELECT r.id FROM foliot.ready r WHERE r.part = from_part LIMIT 1000
                                  FOR UPDATE SKIP LOCKED));
    WITH gone AS (DELETE FROM foliot.ready r WHERE r.part = from_part AND r.id = ANY (ids) RETURNING r.*)
    INSERT INTO foliot.ready
    SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, 9 FROM gone;
  END IF;
  from_part := foliot.resting_part('reserved');
  IF from_part IS NOT NULL THEN
    ids := foliot.lock_some(ARRAY(SELECT r.id FROM foliot.reserved r WHERE r.part = from_part LIMIT 1000
                                  FOR UPDATE SKIP LOCKED));
    UPDATE foliot.reserved r SET part = 9 WHERE r.part = from_part AND r.id = ANY (ids);
  END IF;
  from_part := foliot.resting_part('job');
  IF from_part IS NOT NULL THEN
    ids := ARRAY(SELECT j.id FROM foliot.job j WHERE j.part = from_part LIMIT 1000 FOR UPDATE SKIP LOCKED);
    -- Bodies are written again: at most 1 MB of them, or one.
    ids := ARRAY(SELECT s.id FROM (
      SELECT j.id, sum(octet_length(j.body)) OVER (ORDER BY j.id) AS size, row_number() OVER (ORDER BY j.id) AS n
      FROM foliot.job j WHERE j.part = from_part AND j.id = ANY (ids)) s WHERE s.n = 1 OR s.size <= 1048576);
    UPDATE foliot.job j SET part = 9 WHERE j.part = from_part AND j.id = ANY (ids);
  END IF;
END $$;

-- No node asks so late for a batch of a session that is over.
CREATE OR REPLACE FUNCTION foliot.forget_old_batches() RETURNS void LANGUAGE sql AS $$
  DELETE FROM foliot.batch b
  WHERE b.part <> foliot.current_part('batch') AND b.made < 1000000000 * (extract(epoch FROM now())::bigint - 3600)
    AND NOT EXISTS (SELECT FROM foliot.node n WHERE n.session = b.session)
$$;

-- A turn of this, which any node may take; one at a time. It runs with the rights of the schema's owner. If its commit is
-- lost, nothing is: so that does not wait for disk or standby. It clears at most one part, because batches wait for its
-- locks until its end. Returns 2 if it has: then the next turn may follow at once. Returns 0 if a lock was not free, as
-- while an application has put jobs and its transaction is open: then the next turn may wait longer. Else 1.
CREATE OR REPLACE FUNCTION foliot.rotate() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = on AS $$
DECLARE
  each record;
  answer integer;
  is_locked boolean := false;
  has_cleared boolean := false;
BEGIN
  IF NOT has_table_privilege(session_user, 'foliot.ready', 'DELETE') THEN
    RAISE EXCEPTION 'foliot.rotate() is for nodes' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NOT pg_try_advisory_xact_lock(1718578282::bigint << 32) THEN RETURN 1; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM foliot.forget_old_batches();
  PERFORM foliot.move_resting();
  FOR each IN SELECT * FROM (VALUES ('delayed', 524288, interval '10 s'), ('ready', 524288, interval '2 s'),
                                    ('reserved', 4194304, interval '10 s'), ('job', 8388608, interval '10 s'),
                                    ('batch', 524288, interval '10 s')) t (of_table, size, age) LOOP
    answer := foliot.rotate_table(each.of_table, each.size, each.age, NOT has_cleared);
    is_locked := is_locked OR answer = 0;
    has_cleared := has_cleared OR answer = 2;
  END LOOP;
  RETURN CASE WHEN is_locked THEN 0 WHEN has_cleared THEN 2 ELSE 1 END;
END $$;
