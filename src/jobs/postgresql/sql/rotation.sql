-- The parts of the tables `ready` and `delayed` take turns, so that what has gone is not in the way for long. Nothing but
-- speed depends on it: all parts are always searched, and rows may come to any part at any time.
--
-- A part that has grown leaves the new rows to an empty one. Its own rows go: ready jobs are reserved, and delayed ones,
-- which are due within a minute, become ready. When it has none left, it is truncated. Jobs that are due later lie in
-- the last part from the begin, and ready jobs that nobody reserves are moved there.

-- Whether the part has a row.
CREATE OR REPLACE FUNCTION foliot.has_row(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  answer boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part) INTO answer;
  RETURN answer;
END $$;

-- Truncates the part if it has no row. The lock waits for all batches, and they for it: so the caller gives it up soon.
-- Returns whether the part is empty.
CREATE OR REPLACE FUNCTION foliot.clear_part(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF foliot.has_row(part) THEN RETURN false; END IF;
  EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part);
  IF foliot.has_row(part) THEN RETURN false; END IF;
  EXECUTE format('TRUNCATE TABLE %s', part);
  RETURN true;
END $$;

-- Clears one part of a table, and lets another part take the new rows if the present one has reached this size, in
-- bytes, and this age.
CREATE OR REPLACE FUNCTION foliot.rotate_table(name text, size bigint, age interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one record;
  present foliot.part;
  next_part smallint;
  cleared boolean := false;
BEGIN
  FOR one IN SELECT p.number, to_regclass(format('foliot.%s_%s', name, p.number)) AS part
             FROM foliot.part p WHERE p.of_table = name AND NOT p.is_current AND p.number <> 9 ORDER BY p.since LOOP
    IF pg_relation_size(one.part) = 0 THEN
      next_part := one.number;
    ELSIF NOT cleared AND foliot.clear_part(one.part) THEN
      next_part := one.number;
      cleared := true;
    END IF;
  END LOOP;
  SELECT p.* INTO present FROM foliot.part p WHERE p.of_table = name AND p.is_current;
  IF next_part IS NOT NULL AND present.since + age < clock_timestamp()
     AND pg_relation_size(to_regclass(format('foliot.%s_%s', name, present.number))) >= size THEN
    UPDATE foliot.part p SET is_current = (p.number = next_part), since = clock_timestamp()
    WHERE p.of_table = name AND p.number IN (present.number, next_part);
  END IF;
END $$;

-- Moves some ready jobs that nobody has reserved for 10 s since their part takes no new rows to the last part.
CREATE OR REPLACE FUNCTION foliot.move_resting() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  from_part smallint := (
    SELECT p.number FROM foliot.part p
    WHERE p.of_table = 'ready' AND NOT p.is_current AND p.number <> 9 AND p.since < clock_timestamp() - interval '10 s'
      AND pg_relation_size(to_regclass(format('foliot.ready_%s', p.number))) > 0
    ORDER BY p.since LIMIT 1);
  ids bigint[];
BEGIN
  IF from_part IS NULL THEN RETURN; END IF;
  ids := foliot.lock_some(ARRAY(SELECT r.id FROM foliot.ready r WHERE r.part = from_part LIMIT 1000
                                FOR UPDATE SKIP LOCKED));
  WITH gone AS (DELETE FROM foliot.ready r WHERE r.part = from_part AND r.id = ANY (ids) RETURNING r.*)
  INSERT INTO foliot.ready
  SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, 9 FROM gone;
END $$;

-- A turn of this, which any node may take; one at a time. It runs with the rights of the schema's owner. If its commit is
-- lost, nothing is: so that does not wait for disk or standby. Returns false if it did not get a lock, as while an
-- application has put jobs and its transaction is open: then the turn is over, and the next one may wait longer.
CREATE OR REPLACE FUNCTION foliot.rotate() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $$
BEGIN
  IF NOT has_table_privilege(session_user, 'foliot.ready', 'DELETE') THEN
    RAISE EXCEPTION 'foliot.rotate() is for nodes' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NOT pg_try_advisory_xact_lock(1718578282::bigint << 32) THEN RETURN true; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM foliot.move_resting();
  BEGIN
    PERFORM foliot.rotate_table('delayed', 524288, interval '10 s');
    PERFORM foliot.rotate_table('ready', 524288, interval '2 s');
  EXCEPTION WHEN lock_not_available THEN
    RETURN false;
  END;
  RETURN true;
END $$;
