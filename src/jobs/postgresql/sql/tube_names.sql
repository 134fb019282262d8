-- The names of tubes without jobs are deleted, by turns of the rotation.
--
-- Each transaction that looks up a name has a lock of foliot.tube until it ends (ACCESS SHARE at least). So when a turn has
-- the lock that excludes all others, no transaction is under way that knows the id of a tube. A tube that has no job and no
-- pause then gets none any more: the next transaction does not find the name, and makes it again, with another id. Batches
-- pay nothing for that, except the time in which they wait for the turn. It holds because
--   - a statement that looks up a tube to put something there has foliot.tube in itself, in a VOLATILE function: it has its lock
--     before its snapshot;
--   - the snapshot of an application may be older than that: then foliot.put() locks the row, and fails if the row has gone;
--   - a row that goes from table to table without a look at foliot.tube, as that of a job that is released, is in one of the
--     tables in any snapshot;
--   - ids are never given again.
--
-- Up to a thousand names stay, and each stays for some minutes, so that names which are used again and again are not made
-- again and again.
--
-- Tables: tube, ready_floor. Sequences: tubes_examined, tubes_due.
-- Called by: rotate().
-- Locks: foliot.tube (ACCESS EXCLUSIVE), for which it waits 50 ms at most, and which it has for about 20 ms.

-- Of these tubes, those that have no job and no pause, in one snapshot. With OFFSET 0 each tube is looked up in the indexes;
-- a join could read all rows, also dead ones.
CREATE OR REPLACE FUNCTION foliot.empty_tubes(ids integer[]) RETURNS integer[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  RETURN ARRAY(
    SELECT i.id FROM unnest(ids) i (id)
    WHERE NOT EXISTS (SELECT FROM foliot.best_ready(i.id, 1))
      AND NOT EXISTS (SELECT FROM foliot.delayed d WHERE d.tube = i.id OFFSET 0)
      AND NOT EXISTS (SELECT FROM foliot.buried b WHERE b.tube = i.id OFFSET 0)
      AND NOT EXISTS (SELECT FROM foliot.reserved r WHERE r.tube = i.id OFFSET 0)
      AND NOT EXISTS (SELECT FROM foliot.pause p WHERE p.tube = i.id OFFSET 0)
      AND i.id <> ALL (ARRAY(SELECT l.tube FROM foliot.leaving l)));
END $$;

-- For how long a turn examines names before it takes the lock, and so for about as long under it.
CREATE OR REPLACE FUNCTION foliot.patience_of_names() RETURNS interval LANGUAGE sql STABLE AS $$
  SELECT interval '20 ms'
$$;

-- Examines the next names, up to `few`, and deletes those of empty tubes that were made so long ago. Returns rotation_more()
-- if the next ones should follow soon, rotation_locked() if the lock was not free, else rotation_done(). Precondition:
-- lock_floors().
CREATE OR REPLACE FUNCTION foliot.forget_tubes(few bigint DEFAULT 1000, age interval DEFAULT '10 min') RETURNS integer
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  before bigint := pg_sequence_last_value('foliot.tubes_examined');
  ids integer[];
  piece integer[];
  empty integer[] := '{}';
  is_old boolean[];
  last bigint := before;
  is_end boolean;
  began timestamptz := clock_timestamp();
  piece_began timestamptz;
  deleted bigint := 0;
  answer integer := foliot.rotation_done();
BEGIN
  PERFORM foliot.demand_read_committed();
  SELECT array_agg(t.id), array_agg(t.made < now() - age) INTO ids, is_old
  FROM (SELECT s.id, s.made FROM foliot.tube s WHERE s.id > before ORDER BY s.id LIMIT few) t;
  IF before = 0 AND coalesce(cardinality(ids), 0) < few THEN
    PERFORM foliot.next_tubes(0, 10000);
    RETURN foliot.rotation_done();
  END IF;
  -- The search is repeated under the lock, while batches wait. So it ends early, and leaves out tubes whose search takes long
  -- because they have many dead rows.
  FOR i IN 1 .. coalesce(cardinality(ids), 0) BY 100 LOOP
    piece_began := clock_timestamp();
    EXIT WHEN piece_began > began + foliot.patience_of_names();
    piece := foliot.empty_tubes(ARRAY(SELECT o.id FROM unnest(ids[i : i + 99], is_old[i : i + 99]) o (id, is_old)
                                      WHERE o.is_old));
    IF clock_timestamp() < piece_began + foliot.patience_of_names() THEN empty := empty || piece; END IF;
    last := ids[least(i + 99, cardinality(ids))];
  END LOOP;
  IF cardinality(empty) > 0 THEN
    BEGIN
      LOCK TABLE foliot.tube IN ACCESS EXCLUSIVE MODE;
      empty := foliot.empty_tubes(empty);  -- now it is certain
      DELETE FROM foliot.ready_floor f WHERE f.tube = ANY (empty);
      DELETE FROM foliot.tube t WHERE t.id = ANY (empty);
      GET DIAGNOSTICS deleted = ROW_COUNT;
    EXCEPTION WHEN lock_not_available THEN
      answer := foliot.rotation_locked();
    END;
  END IF;
  IF answer = foliot.rotation_locked() THEN
    PERFORM foliot.next_tubes(before, 10000);
    RETURN answer;
  END IF;
  is_end := coalesce(cardinality(ids) < few AND last = ids[cardinality(ids)], true);
  IF deleted > few / 10 THEN
    PERFORM foliot.next_tubes(CASE WHEN is_end THEN 0 ELSE last END, 0);
    RETURN foliot.rotation_more();
  END IF;
  PERFORM foliot.next_tubes(CASE WHEN is_end THEN 0 ELSE last END, CASE WHEN is_end THEN 10000 ELSE 1000 END);
  RETURN foliot.rotation_done();
END $$;

-- The next turn that examines names begins behind this id, in so many milliseconds.
CREATE OR REPLACE FUNCTION foliot.next_tubes(behind bigint, next_in bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM setval('foliot.tubes_examined', behind);
  PERFORM setval('foliot.tubes_due', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + next_in);
END $$;

-- Whether it is time to examine names. A time further ahead than a minute comes from a clock that was wrong.
CREATE OR REPLACE FUNCTION foliot.are_tubes_due(now_ms bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT pg_sequence_last_value('foliot.tubes_due') NOT BETWEEN now_ms + 1 AND now_ms + 60000
$$;
