-- Counts of jobs, and the list of tubes.
--
-- A count reads all rows that it counts, and the next batches of its node wait for it. So it goes on for a limited time, and
-- then returns what it has counted so far, with a mark that there are more.
--
-- Functions: count_jobs(), list_tubes(), and their steps.
-- Called by: batches of nodes.
-- Locks: buried, delayed, reserved and ready (ACCESS SHARE) before the snapshot of the count: a partition that was truncated
-- after the snapshot would look empty.

-- For how long the counts and lists of one batch go on together. Each goes on for at least one step of each table.
CREATE OR REPLACE FUNCTION foliot.patience_of_counts() RETURNS interval LANGUAGE sql STABLE AS $$
  SELECT interval '250 ms'
$$;

-- How many rows of a table are counted in any case.
CREATE OR REPLACE FUNCTION foliot.step_of_counts() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 10000::bigint $$;

-- Until when the count or list that begins now goes on.
CREATE OR REPLACE FUNCTION foliot.count_until() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT clock_timestamp() + foliot.patience_of_counts()
         - coalesce(nullif(current_setting('foliot.has_counted', true), '')::interval, interval '0')
$$;

-- The count or list has ended: its time is taken from that of the next ones of the batch.
CREATE OR REPLACE FUNCTION foliot.end_count(until timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('foliot.has_counted', (clock_timestamp() - until + foliot.patience_of_counts())::text, true);
END $$;

-- Whether a count or list that goes on until then must not begin with this table, because it has so many dead rows that to
-- pass over them may take longer. PostgreSQL passes over about four million dead rows in a second, without a chance for this
-- function to stop it. As many as a step counts do not matter.
CREATE OR REPLACE FUNCTION foliot.has_too_many_gone(of_table text, until timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
  SELECT (SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0) FROM pg_class c
          WHERE c.oid = to_regclass('foliot.' || of_table)
             OR c.oid IN (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = to_regclass('foliot.' || of_table)))
         > greatest(foliot.step_of_counts(), 4000000 * extract(epoch FROM until - clock_timestamp()))
$$;

-- How many rows this cursor has; after the time `until` it stops at the end of a step. Closes the cursor. The query of the
-- cursor must not filter rows: to pass over them would take time in which nothing looks at the clock.
CREATE OR REPLACE FUNCTION foliot.count_rows(brought refcursor, until timestamptz, OUT rows bigint, OUT is_cut boolean)
LANGUAGE plpgsql AS $$
DECLARE
  length bigint := foliot.step_of_counts();
  moved bigint;
BEGIN
  rows := 0;
  LOOP
    MOVE FORWARD length IN brought;
    GET DIAGNOSTICS moved = ROW_COUNT;
    rows := rows + moved;
    is_cut := moved = length AND clock_timestamp() >= until;
    EXIT WHEN is_cut OR moved < length;
  END LOOP;
  CLOSE brought;
END $$;

-- The numbers of count_jobs() except the pause, in the snapshot of the statement that calls this. Buried jobs are counted
-- first, because a count that is cut short must still say whether there are any: kicks depend on that.
CREATE OR REPLACE FUNCTION foliot.count_states(of_tube integer, of_all boolean, until timestamptz,
  OUT urgent bigint, OUT ready bigint, OUT reserved bigint, OUT delayed bigint, OUT buried bigint, OUT is_cut boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  brought refcursor;
  length bigint := foliot.step_of_counts();
  step record;
  last_id bigint := 0;
BEGIN
  urgent := 0;
  ready := 0;
  reserved := 0;
  delayed := 0;
  buried := 0;
  is_cut := foliot.has_too_many_gone('buried', until);
  IF is_cut THEN RETURN; END IF;
  IF of_all THEN
    OPEN brought FOR SELECT FROM foliot.buried b;
  ELSE
    OPEN brought FOR SELECT FROM foliot.buried b WHERE b.tube = of_tube;
  END IF;
  SELECT * INTO buried, is_cut FROM foliot.count_rows(brought, until);
  is_cut := is_cut OR foliot.has_too_many_gone('delayed', until);
  IF is_cut THEN RETURN; END IF;
  IF of_all THEN
    OPEN brought FOR SELECT FROM foliot.delayed d;
  ELSE
    OPEN brought FOR SELECT FROM foliot.delayed d WHERE d.tube = of_tube;
  END IF;
  SELECT * INTO delayed, is_cut FROM foliot.count_rows(brought, until);
  is_cut := is_cut OR foliot.has_too_many_gone('reserved', until);
  IF is_cut THEN RETURN; END IF;
  IF of_all THEN
    OPEN brought FOR SELECT FROM foliot.reserved r;
  ELSE
    OPEN brought FOR SELECT FROM foliot.reserved r WHERE r.tube = of_tube;
  END IF;
  SELECT * INTO reserved, is_cut FROM foliot.count_rows(brought, until);
  is_cut := is_cut OR foliot.has_too_many_gone('ready', until);
  IF is_cut THEN RETURN; END IF;
  IF of_all THEN
    LOOP
      SELECT count(*) AS rows, count(*) FILTER (WHERE r.pri < 1024) AS meant, max(r.id) AS last INTO step
      FROM (SELECT s.id, s.pri FROM foliot.ready s WHERE s.id > last_id ORDER BY s.id LIMIT length) r;
      urgent := urgent + step.meant;
      ready := ready + step.rows;
      last_id := step.last;
      is_cut := step.rows = length AND clock_timestamp() >= until;
      EXIT WHEN is_cut OR step.rows < length;
    END LOOP;
  ELSE
    OPEN brought FOR SELECT FROM foliot.ready r WHERE r.tube = of_tube AND r.pri < 1024;
    SELECT * INTO urgent, is_cut FROM foliot.count_rows(brought, until);
    ready := urgent;
    IF is_cut THEN RETURN; END IF;
    OPEN brought FOR SELECT FROM foliot.ready r WHERE r.tube = of_tube AND r.pri >= 1024;
    SELECT ready + c.rows, c.is_cut INTO ready, is_cut FROM foliot.count_rows(brought, until) c;
  END IF;
END $$;

-- Counts the jobs of a tube, or of all tubes if `of_name` is null. Returns the numbers of urgent, ready, reserved, delayed
-- and buried jobs; the end of the tube's pause in ns; and 1 if the time was over, so that there are at least so many, else
-- 0.
CREATE OR REPLACE FUNCTION foliot.count_jobs(of_name bytea) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  of_tube integer := foliot.tube_id(of_name);
  until timestamptz := foliot.count_until();
  c record;
BEGIN
  LOCK TABLE foliot.buried, foliot.delayed, foliot.reserved, foliot.ready IN ACCESS SHARE MODE;  -- before the snapshot
  SELECT * INTO c FROM foliot.count_states(of_tube, of_name IS NULL, until);
  PERFORM foliot.end_count(until);
  RETURN ARRAY[c.urgent, c.ready, c.reserved, c.delayed, c.buried,
               (SELECT p.until FROM foliot.pause p WHERE p.tube = of_tube), c.is_cut::integer];
END $$;

-- The tubes that have a job, in the snapshot of the statement that calls this; null if the time was over.
CREATE OR REPLACE FUNCTION foliot.find_tubes(until timestamptz) RETURNS bytea[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  length bigint := foliot.step_of_counts() / 5;
  with_reserved integer[];
  names bytea[] := '{}';
  step record;
  last_id integer := 0;
BEGIN
  IF (SELECT bool_or(foliot.has_too_many_gone(t.name, until))
      FROM unnest('{buried, delayed, reserved, ready}'::text[]) t (name)) THEN
    RETURN NULL;
  END IF;
  with_reserved := ARRAY(SELECT DISTINCT r.tube FROM foliot.reserved r);
  LOOP
    SELECT count(*) AS rows, max(t.id) AS last, array_agg(t.name) FILTER (
             WHERE t.id = ANY (with_reserved) OR EXISTS (SELECT FROM foliot.ready r WHERE r.tube = t.id)
               OR EXISTS (SELECT FROM foliot.delayed d WHERE d.tube = t.id)
               OR EXISTS (SELECT FROM foliot.buried b WHERE b.tube = t.id)) AS found INTO step
    FROM (SELECT s.id, s.name FROM foliot.tube s WHERE s.id > last_id ORDER BY s.id LIMIT length) t;
    names := names || step.found;
    IF step.rows < length THEN RETURN names; END IF;
    IF clock_timestamp() >= until THEN RETURN NULL; END IF;
    last_id := step.last;
  END LOOP;
END $$;

-- The names of the tubes that have a job, in their order; null if the time was over.
CREATE OR REPLACE FUNCTION foliot.list_tubes() RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := foliot.count_until();
  names bytea[];
BEGIN
  LOCK TABLE foliot.buried, foliot.delayed, foliot.reserved, foliot.ready IN ACCESS SHARE MODE;  -- before the snapshot
  names := foliot.find_tubes(until);
  PERFORM foliot.end_count(until);
  RETURN CASE WHEN names IS NOT NULL THEN ARRAY(SELECT n.name FROM unnest(names) n (name) ORDER BY n.name) END;
END $$;
