-- Floors: where searches begin in the lasting partition of `ready`.
--
-- That partition has the backlog: jobs that no worker has reserved for long. Workers that come to it take the first jobs.
-- As long as a transaction is open that began before, the index entries of these dead rows stay at the front of the index.
-- So a claim that has passed over many of them stores a floor: the first job that the tube has in this partition. The next
-- searches begin there.
--
-- Invariant: in each snapshot, no job that a tube has in the lasting partition comes before the floor of the tube. It holds
-- because
--   - rows come to that partition, and floors change, only in transactions that have lock_floors(), one at a time: turns of
--     the rotation, and claims;
--   - a claim that raises a floor takes its snapshot after the lock, so it sees all rows that have come;
--   - a turn that brings a row to before a floor lowers the floor in the same statement;
--   - a search reads the floor and the rows in one statement, and thus in one snapshot.
-- A floor may be deleted at any time: then searches pass over more dead rows. The sequence floor_raised says whether there
-- are floors; without any, claims of one tube search in a quicker way.
--
-- Tables: ready_floor, ready. Sequences: floor_raised, ready_gone_met.
-- Called by: claims (best_ready(), lock_ready(), raise_floors(), note_gone_met()), clear_tube(), and turns of the rotation.
-- Locks: lock_of_rotation(), only if it is free; rows of `ready`, with SKIP LOCKED. Both until the transaction ends.

-- Takes the lock of the rotation, if it is free; returns whether it has it.
CREATE OR REPLACE FUNCTION foliot.lock_floors() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT pg_try_advisory_xact_lock(foliot.lock_of_rotation())
$$;

-- The best ready jobs of a tube. The planner must inline this into the calling statement, which then locks the tables before
-- it takes its snapshot: so this is STABLE and one SELECT. (A truncated partition would look empty to an older snapshot.)
CREATE OR REPLACE FUNCTION foliot.best_ready(of_tube integer, most bigint) RETURNS TABLE (pri bigint, id bigint)
LANGUAGE sql STABLE AS $$
  SELECT b.pri, b.id FROM (
    (SELECT r.pri, r.id FROM foliot.ready r WHERE r.tube = of_tube AND r.part <> foliot.lasting_partition()
     ORDER BY r.pri, r.id LIMIT most)
    UNION ALL
    (SELECT r.pri, r.id FROM foliot.ready r
     WHERE r.tube = of_tube AND r.part = foliot.lasting_partition()
       AND (r.pri, r.id) >= (coalesce((SELECT f.pri FROM foliot.ready_floor f WHERE f.tube = of_tube), 0),
                             coalesce((SELECT f.id FROM foliot.ready_floor f WHERE f.tube = of_tube), 0))
     ORDER BY r.pri, r.id LIMIT most)) b
  ORDER BY b.pri, b.id LIMIT most
$$;

-- The same, locked, before this one: up to `most` in each half, except those that another transaction has locked. PL/pgSQL
-- keeps the plan; a function in SQL would be planned in each call, which takes ten times as long as the search.
CREATE OR REPLACE FUNCTION foliot.lock_ready(of_tube integer, most bigint, before_pri bigint DEFAULT foliot.greatest_bigint(),
                                             before_id bigint DEFAULT foliot.greatest_bigint())
RETURNS TABLE (pri bigint, id bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT y.* FROM (
    SELECT r.pri, r.id FROM foliot.ready r
    WHERE r.tube = of_tube AND r.part <> foliot.lasting_partition() AND (r.pri, r.id) < (before_pri, before_id)
    ORDER BY r.pri, r.id LIMIT most FOR UPDATE SKIP LOCKED) y
  UNION ALL
  SELECT o.* FROM (
    SELECT r.pri, r.id FROM foliot.ready r
    WHERE r.tube = of_tube AND r.part = foliot.lasting_partition() AND (r.pri, r.id) < (before_pri, before_id)
      AND (r.pri, r.id) >= (coalesce((SELECT f.pri FROM foliot.ready_floor f WHERE f.tube = of_tube), 0),
                            coalesce((SELECT f.id FROM foliot.ready_floor f WHERE f.tube = of_tube), 0))
    ORDER BY r.pri, r.id LIMIT most FOR UPDATE SKIP LOCKED) o;
END $$;

-- The same, behind (last_pri, last_id). One comparison has both begins: a scan of an index begins at the first of several.
CREATE OR REPLACE FUNCTION foliot.lock_ready_behind(of_tube integer, most bigint, last_pri bigint, last_id bigint)
RETURNS TABLE (pri bigint, id bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT y.* FROM (
    SELECT r.pri, r.id FROM foliot.ready r
    WHERE r.tube = of_tube AND r.part <> foliot.lasting_partition() AND (r.pri, r.id) > (last_pri, last_id)
    ORDER BY r.pri, r.id LIMIT most FOR UPDATE SKIP LOCKED) y
  UNION ALL
  SELECT o.* FROM (
    SELECT r.pri, r.id FROM foliot.ready r
    WHERE r.tube = of_tube AND r.part = foliot.lasting_partition() AND (r.pri, r.id) > (
        coalesce((SELECT f.pri FROM foliot.ready_floor f
                  WHERE f.tube = of_tube AND (f.pri, f.id - 1) > (last_pri, last_id)), last_pri),
        coalesce((SELECT f.id - 1 FROM foliot.ready_floor f
                  WHERE f.tube = of_tube AND (f.pri, f.id - 1) > (last_pri, last_id)), last_id))
    ORDER BY r.pri, r.id LIMIT most FOR UPDATE SKIP LOCKED) o;
END $$;

-- How many index entries of dead rows this transaction has met in the index of claims. Only differences of two calls mean
-- something. Without the server's setting track_counts the answer is always 0, and there are no floors. Callers give the
-- name of the index, and no parameter has it as a default: a default would keep the index's number, and REINDEX CONCURRENTLY
-- makes another index.
CREATE OR REPLACE FUNCTION foliot.gone_met_in(of_index regclass) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT pg_stat_get_xact_tuples_returned(of_index) - pg_stat_get_xact_tuples_fetched(of_index)
$$;
-- The same in the lasting partition.
CREATE OR REPLACE FUNCTION foliot.gone_met() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT foliot.gone_met_in('foliot.ready_9_tube_pri_id_part_idx')
$$;
-- The same in the partitions that take turns. Entries of rows that no transaction needs are not counted for long: PostgreSQL
-- marks them in the first search.
CREATE OR REPLACE FUNCTION foliot.gone_met_in_turns() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT foliot.gone_met_in('foliot.ready_0_tube_pri_id_part_idx') + foliot.gone_met_in('foliot.ready_1_tube_pri_id_part_idx')
$$;

-- Stores that a claim has met many dead entries there, so that turns move the jobs to the lasting partition soon
-- (move_ready()). For nodes, whose role has been granted this function: it runs with the rights of the schema's owner,
-- because a node may not set sequences.
CREATE OR REPLACE FUNCTION foliot.note_gone_met() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM setval('foliot.ready_gone_met', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
END $$;
REVOKE EXECUTE ON FUNCTION foliot.note_gone_met FROM PUBLIC;

-- Raises the floor of each of these tubes that has a hundred dead rows before its first job. For nodes, whose role has been
-- granted this function: it runs with the rights of the schema's owner, because a node may not set sequences.
CREATE OR REPLACE FUNCTION foliot.raise_floors(tubes integer[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  each_tube integer;
  met bigint;
  first record;
BEGIN
  -- A row of a floor takes room, but a reservation needs it more.
  IF foliot.refuses_puts() OR NOT foliot.lock_floors() THEN RETURN; END IF;
  FOREACH each_tube IN ARRAY tubes LOOP
    met := foliot.gone_met();
    SELECT r.pri, r.id INTO first FROM foliot.ready r
    WHERE r.tube = each_tube AND r.part = foliot.lasting_partition()
      AND (r.pri, r.id) >= (coalesce((SELECT f.pri FROM foliot.ready_floor f WHERE f.tube = each_tube), 0),
                            coalesce((SELECT f.id FROM foliot.ready_floor f WHERE f.tube = each_tube), 0))
    ORDER BY r.pri, r.id LIMIT 1;
    CONTINUE WHEN foliot.gone_met() - met < 100;
    INSERT INTO foliot.ready_floor
    VALUES (each_tube, coalesce(first.pri, foliot.greatest_bigint()), coalesce(first.id, foliot.greatest_bigint()))
    ON CONFLICT (tube) DO UPDATE SET pri = excluded.pri, id = excluded.id;
    PERFORM setval('foliot.floor_raised', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.raise_floors FROM PUBLIC;

-- Deletes the floors if the partition has hardly any dead rows, and no floor was raised in the last minute, because the
-- statistics come late. Precondition: lock_floors().
CREATE OR REPLACE FUNCTION foliot.forget_floors() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_sequence_last_value('foliot.floor_raised') BETWEEN 1 AND floor(extract(epoch FROM clock_timestamp()) * 1000) - 60000
     AND pg_stat_get_dead_tuples(to_regclass('foliot.ready_9')) < 1000 THEN
    DELETE FROM foliot.ready_floor;
    PERFORM setval('foliot.floor_raised', 0);
  END IF;
END $$;
