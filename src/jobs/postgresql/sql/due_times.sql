-- Delayed jobs that become due.
--
-- The partitions 0, 1 and 2 of `delayed` (turning_partitions()) have the jobs that were due within a minute when they were
-- put, and take new rows in turn (rotation.sql). Jobs that are due later lie in the lasting partition. Each batch looks for
-- the first row of that partition. Dead rows stay in front of it as long as any transaction is open that began before they
-- died. So that no search walks over them, it begins at the floor: a time before which no row of the partition is due.
--
-- Invariant: no row of the lasting partition that is committed is due before the floor, except for a few seconds after the
-- end of a transaction that was open for longer than a minute. Reason: the floor is at most the present time, and each put
-- into that partition is due more than a minute after its transaction has begun. Every few seconds a turn of the rotation
-- looks for rows before the floor, and lowers it to them.
--
-- Table: delayed; and ready, into which due jobs go. Sequences: due_floor, due_floor_checked. Called by: begin_batch() and
-- end_batch(), kick(), show_first(), and turns of the rotation (raise_due_floor()). Locks: rows of `delayed`, with SKIP
-- LOCKED, until the batch ends. A job that becomes due goes without the lock of its row in `job` (tables.sql says why it
-- may).

-- The floor; or 0 if it lies more than 10 s ahead of the present time, because the clock was set back, or because a test
-- has another clock. For a batch that began before the last turn of the rotation it may lie a little ahead, and is right
-- nevertheless: the rows that were put since are due a minute later.
CREATE OR REPLACE FUNCTION foliot.due_floor(now_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  known bigint := pg_sequence_last_value('foliot.due_floor');
BEGIN
  RETURN CASE WHEN known <= now_ms + 10000 THEN known ELSE 0 END;
END $$;

-- When the first delayed job is due; null if there is none.
CREATE OR REPLACE FUNCTION foliot.first_due(now_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  due_floor bigint := foliot.due_floor(now_ms);
BEGIN
  RETURN least((SELECT d.due FROM foliot.delayed d WHERE d.part = ANY (foliot.turning_partitions())
                ORDER BY d.due, d.id LIMIT 1),
               (SELECT d.due FROM foliot.delayed d WHERE d.part = foliot.lasting_partition() AND d.due >= due_floor
                ORDER BY d.due, d.id LIMIT 1));
END $$;

-- Locks the delayed jobs of a tube that are due at `until` or before, the soonest first: up to `most` of the lasting
-- partition, and up to `most` of the others. Passes over jobs that another transaction has locked.
-- PL/pgSQL keeps the plan: see lock_ready().
CREATE OR REPLACE FUNCTION foliot.lock_delayed(of_tube integer, until bigint, most bigint, due_floor bigint)
RETURNS TABLE (due bigint, id bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT n.* FROM (
    SELECT d.due, d.id FROM foliot.delayed d
    WHERE d.tube = of_tube AND d.part = ANY (foliot.turning_partitions()) AND d.due <= until
    ORDER BY d.due, d.id LIMIT most FOR UPDATE SKIP LOCKED) n
  UNION ALL
  SELECT f.* FROM (
    SELECT d.due, d.id FROM foliot.delayed d
    WHERE d.tube = of_tube AND d.part = foliot.lasting_partition() AND d.due BETWEEN due_floor AND until
    ORDER BY d.due, d.id LIMIT most FOR UPDATE SKIP LOCKED) f;
END $$;

-- Raises the floor to the first row, but not beyond the present time. Now and then it also looks for rows below the floor,
-- and lowers the floor to the first of them: 5 s after the last such look, or after twenty times as long as that look took.
CREATE OR REPLACE FUNCTION foliot.raise_due_floor(now_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  next_check bigint := pg_sequence_last_value('foliot.due_floor_checked');
  due_floor bigint := foliot.due_floor(now_ms);
  checks boolean := coalesce(next_check NOT BETWEEN now_ms AND now_ms + 3600000, true);
  first bigint;
BEGIN
  IF checks THEN due_floor := 0; END IF;
  SELECT d.due INTO first FROM foliot.delayed d WHERE d.part = foliot.lasting_partition() AND d.due >= due_floor
  ORDER BY d.due, d.id LIMIT 1;
  PERFORM setval('foliot.due_floor', least(first, now_ms));
  IF checks THEN
    PERFORM setval('foliot.due_floor_checked',
                   now_ms + greatest(5000, 20 * (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - now_ms)));
  END IF;
END $$;

-- Locks about `most` jobs that are due, the soonest first: from the turning partitions up to three quarters of `most`, and
-- from the lasting partition what is missing to three quarters, but at least half of that, so that neither delays the other.
-- If there are more due jobs (`are_more`), it adds the soonest 8 jobs of each of the next most / 32 tubes, so that a burst
-- in one tube does not delay the others. A setting of the connection keeps the last of these tubes, behind which the next
-- call goes on. `ids` may have a job twice.
CREATE OR REPLACE FUNCTION foliot.lock_due(now_ms bigint, most bigint, OUT ids bigint[], OUT are_more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  soonest bigint := most - most / 4;
  near bigint;
  far bigint;
  due_floor bigint := foliot.due_floor(now_ms);
  last_tube integer := coalesce(nullif(current_setting('foliot.last_due_tube', true), '')::integer, 0);
BEGIN
  ids := ARRAY(SELECT d.id FROM foliot.delayed d WHERE d.part = ANY (foliot.turning_partitions()) AND d.due <= now_ms
               ORDER BY d.due, d.id LIMIT soonest FOR UPDATE SKIP LOCKED);
  near := cardinality(ids);
  far := greatest(soonest - near, soonest - soonest / 2);
  ids := ids || ARRAY(SELECT d.id FROM foliot.delayed d
                      WHERE d.part = foliot.lasting_partition() AND d.due >= due_floor AND d.due <= now_ms
                      ORDER BY d.due, d.id LIMIT far FOR UPDATE SKIP LOCKED);
  are_more := near = soonest OR cardinality(ids) - near = far;
  IF NOT are_more THEN RETURN; END IF;
  FOR i IN 1 .. most / 32 LOOP
    last_tube := least(
      (SELECT d.tube FROM foliot.delayed d WHERE d.tube > last_tube AND d.part = ANY (foliot.turning_partitions())
       ORDER BY d.tube, d.due, d.id LIMIT 1),
      (SELECT d.tube FROM foliot.delayed d
       WHERE d.tube > last_tube AND d.part = foliot.lasting_partition() AND d.due >= due_floor
       ORDER BY d.tube, d.due, d.id LIMIT 1));
    EXIT WHEN last_tube IS NULL;
    ids := ids || ARRAY(
      SELECT l.id FROM foliot.lock_delayed(last_tube, now_ms, 8, due_floor) l ORDER BY l.due, l.id LIMIT 8);
  END LOOP;
  PERFORM set_config('foliot.last_due_tube', coalesce(last_tube, 0)::text, false);
END $$;

-- Makes the jobs `due_ids` ready, which the caller has locked; null: about `most` due jobs, see lock_due(). Then the setting
-- foliot.is_behind tells end_batch() whether more are due.
CREATE OR REPLACE FUNCTION foliot.make_due_ready(now_ms bigint, most bigint, due_ids bigint[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  are_more boolean;
  tubes integer[];
  ignored text;
BEGIN
  IF due_ids IS NULL THEN SELECT * INTO due_ids, are_more FROM foliot.lock_due(now_ms, most); END IF;
  WITH gone AS (DELETE FROM foliot.delayed d WHERE d.id = ANY (due_ids) RETURNING d.*),
    made AS (
      INSERT INTO foliot.ready
      SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks FROM gone RETURNING tube)
  SELECT array_agg(DISTINCT made.tube) INTO tubes FROM made;
  PERFORM foliot.note_ready(tubes);
  IF are_more IS NOT NULL THEN ignored := set_config('foliot.is_behind', are_more::text, true); END IF;
  PERFORM foliot.note_delayed();
END $$;
