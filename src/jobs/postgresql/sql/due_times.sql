-- Delayed jobs that become due.
--
-- The parts 0, 1 and 2 of `delayed` have the jobs that were due within a minute when they were put, and take turns
-- (rotation.sql). Those that were due later are in the last part. There the rows that have gone stay as long as any
-- transaction is open that began before, all of them where each batch looks for the first row. So a search begins at the
-- floor: a time before which no row of that part is due. It is at most the present time, and each put into that part is due
-- a minute after its transaction has begun. So only a transaction that lasts longer can commit a row below the floor; every
-- few seconds a turn of the rotation looks for those.

-- The floor, or 0: it lies far ahead, because the clock was set back, or a test has another one. It lies a little ahead for
-- a batch that began before the last turn: what comes is due a minute later than that.
CREATE OR REPLACE FUNCTION foliot.due_floor(now_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  known bigint := pg_sequence_last_value('foliot.due_floor');
BEGIN
  RETURN CASE WHEN known <= now_ms + 10000 THEN known ELSE 0 END;
END $$;

-- When the first job is due; null: there is none.
CREATE OR REPLACE FUNCTION foliot.first_due(now_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  due_floor bigint := foliot.due_floor(now_ms);
BEGIN
  RETURN least((SELECT d.due FROM foliot.delayed d WHERE d.part IN (0, 1, 2) ORDER BY d.due, d.id LIMIT 1),
               (SELECT d.due FROM foliot.delayed d WHERE d.part = 9 AND d.due >= due_floor ORDER BY d.due, d.id LIMIT 1));
END $$;

-- Locks the delayed jobs of a tube that are due at `until` or before, the soonest first: up to `most` of the last part, and
-- of the others. Passes over those that another transaction has locked.
CREATE OR REPLACE FUNCTION foliot.lock_delayed(of_tube integer, until bigint, most bigint, due_floor bigint)
RETURNS TABLE (due bigint, id bigint) LANGUAGE sql VOLATILE AS $$
  SELECT n.* FROM (
    SELECT d.due, d.id FROM foliot.delayed d WHERE d.tube = of_tube AND d.part IN (0, 1, 2) AND d.due <= until
    ORDER BY d.due, d.id LIMIT most FOR UPDATE SKIP LOCKED) n
  UNION ALL
  SELECT f.* FROM (
    SELECT d.due, d.id FROM foliot.delayed d WHERE d.tube = of_tube AND d.part = 9 AND d.due BETWEEN due_floor AND until
    ORDER BY d.due, d.id LIMIT most FOR UPDATE SKIP LOCKED) f
$$;

-- Raises the floor to the first row, or to the present time. Looks for rows below it, too, if the last time was 5 s ago
-- and twenty times as long as that took: then the floor sinks to the first of them.
CREATE OR REPLACE FUNCTION foliot.raise_due_floor(now_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  next_check bigint := pg_sequence_last_value('foliot.due_floor_checked');
  due_floor bigint := foliot.due_floor(now_ms);
  checks boolean := coalesce(next_check NOT BETWEEN now_ms AND now_ms + 3600000, true);
  first bigint;
BEGIN
  IF checks THEN due_floor := 0; END IF;
  SELECT d.due INTO first FROM foliot.delayed d WHERE d.part = 9 AND d.due >= due_floor ORDER BY d.due, d.id LIMIT 1;
  PERFORM setval('foliot.due_floor', least(first, now_ms));
  IF checks THEN
    PERFORM setval('foliot.due_floor_checked',
                   now_ms + greatest(5000, 20 * (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - now_ms)));
  END IF;
END $$;

-- Locks about `most` jobs that are due: three quarters of them are the soonest, and half as many more where both the last
-- part and the others have so many. If there are as many, the others are the soonest 8 of each of the next tubes that have
-- delayed jobs, so that a burst in one tube does not delay the others. A job may be named twice. The session keeps the
-- tube that was the last.
CREATE OR REPLACE FUNCTION foliot.lock_due(now_ms bigint, most bigint, OUT ids bigint[], OUT are_more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  soonest bigint := most - most / 4;
  near bigint;
  far bigint;
  due_floor bigint := foliot.due_floor(now_ms);
  last_tube integer := coalesce(nullif(current_setting('foliot.last_due_tube', true), '')::integer, 0);
BEGIN
  ids := ARRAY(SELECT d.id FROM foliot.delayed d WHERE d.part IN (0, 1, 2) AND d.due <= now_ms
               ORDER BY d.due, d.id LIMIT soonest FOR UPDATE SKIP LOCKED);
  near := cardinality(ids);
  far := greatest(soonest - near, soonest - soonest / 2);
  ids := ids || ARRAY(SELECT d.id FROM foliot.delayed d WHERE d.part = 9 AND d.due >= due_floor AND d.due <= now_ms
                      ORDER BY d.due, d.id LIMIT far FOR UPDATE SKIP LOCKED);
  are_more := near = soonest OR cardinality(ids) - near = far;
  IF NOT are_more THEN RETURN; END IF;
  FOR i IN 1 .. most / 32 LOOP
    last_tube := least(
      (SELECT d.tube FROM foliot.delayed d WHERE d.tube > last_tube AND d.part IN (0, 1, 2)
       ORDER BY d.tube, d.due, d.id LIMIT 1),
      (SELECT d.tube FROM foliot.delayed d WHERE d.tube > last_tube AND d.part = 9 AND d.due >= due_floor
       ORDER BY d.tube, d.due, d.id LIMIT 1));
    EXIT WHEN last_tube IS NULL;
    ids := ids || ARRAY(
      SELECT l.id FROM foliot.lock_delayed(last_tube, now_ms, 8, due_floor) l ORDER BY l.due, l.id LIMIT 8);
  END LOOP;
  PERFORM set_config('foliot.last_due_tube', coalesce(last_tube, 0)::text, false);
END $$;

-- Makes up to `most` due jobs ready, or these, which are locked.
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
