-- Where searches begin in the last part of `ready`.
--
-- That part has the backlog: jobs that nobody has reserved for long. When workers come to it, they take the first ones, and
-- as long as a transaction is open that began before, the entries of these stay at the begin of the index. So a claim that
-- has walked over many of them leaves a floor: the first job that the tube has in this part. The next searches begin there.
--
-- In each snapshot no job that a tube has in the last part is before the floor of the tube, because
--   - rows come to that part, and floors change, only in transactions that have lock_floors(), one at a time: turns of the
--     rotation, and claims;
--   - a claim that raises a floor takes its snapshot when it has the lock: so it sees all rows that have come;
--   - a turn that brings a row to before a floor lowers the floor in the same statement;
--   - a search reads the floor and the rows in one statement, and thus in one snapshot.
-- A floor may be deleted at any time: then searches walk over more. A sequence says whether there are any: if not, claims of one
-- tube search in a quicker way.

CREATE OR REPLACE FUNCTION foliot.lock_floors() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT pg_try_advisory_xact_lock(1718578282::bigint << 32)
$$;

-- The best ready jobs of a tube. A statement that calls this must have it for a part of itself (inlined), so that it has the
-- locks of the tables before its snapshot: so this is STABLE, and one SELECT.
CREATE OR REPLACE FUNCTION foliot.best_ready(of_tube integer, most bigint) RETURNS TABLE (pri bigint, id bigint)
LANGUAGE sql STABLE AS $$
  SELECT b.pri, b.id FROM (
    (SELECT r.pri, r.id FROM foliot.ready r WHERE r.tube = of_tube AND r.part <> 9 ORDER BY r.pri, r.id LIMIT most)
    UNION ALL
    (SELECT r.pri, r.id FROM foliot.ready r
     WHERE r.tube = of_tube AND r.part = 9
       AND (r.pri, r.id) >= (coalesce((SELECT f.pri FROM foliot.ready_floor f WHERE f.tube = of_tube), 0),
                             coalesce((SELECT f.id FROM foliot.ready_floor f WHERE f.tube = of_tube), 0))
     ORDER BY r.pri, r.id LIMIT most)) b
  ORDER BY b.pri, b.id LIMIT most
$$;

-- The same, locked, before this one: up to `most` in each half, but for those that another transaction has locked.
CREATE OR REPLACE FUNCTION foliot.lock_ready(of_tube integer, most bigint, before_pri bigint DEFAULT 9223372036854775807,
                                             before_id bigint DEFAULT 9223372036854775807)
RETURNS TABLE (pri bigint, id bigint) LANGUAGE sql VOLATILE AS $$
  SELECT y.* FROM (
    SELECT r.pri, r.id FROM foliot.ready r
    WHERE r.tube = of_tube AND r.part <> 9 AND (r.pri, r.id) < (before_pri, before_id)
    ORDER BY r.pri, r.id LIMIT most FOR UPDATE SKIP LOCKED) y
  UNION ALL
  SELECT o.* FROM (
    SELECT r.pri, r.id FROM foliot.ready r
    WHERE r.tube = of_tube AND r.part = 9 AND (r.pri, r.id) < (before_pri, before_id)
      AND (r.pri, r.id) >= (coalesce((SELECT f.pri FROM foliot.ready_floor f WHERE f.tube = of_tube), 0),
                            coalesce((SELECT f.id FROM foliot.ready_floor f WHERE f.tube = of_tube), 0))
    ORDER BY r.pri, r.id LIMIT most FOR UPDATE SKIP LOCKED) o
$$;

-- How many entries of gone rows this connection has met in the index of claims since some time: only differences mean
-- something. Without the server's setting track_counts it is always 0, and there are no floors. The index has its name here,
-- not in the default of a parameter: that would keep its number, and REINDEX CONCURRENTLY makes another index.
CREATE OR REPLACE FUNCTION foliot.gone_met_in(of_index regclass) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT pg_stat_get_xact_tuples_returned(of_index) - pg_stat_get_xact_tuples_fetched(of_index)
$$;
-- In the last part.
CREATE OR REPLACE FUNCTION foliot.gone_met() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT foliot.gone_met_in('foliot.ready_9_tube_pri_id_part_idx')
$$;
-- In the parts that take turns. What need not stay there, PostgreSQL marks in the first search, and passes over in the next
-- ones.
CREATE OR REPLACE FUNCTION foliot.gone_met_in_turns() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT foliot.gone_met_in('foliot.ready_0_tube_pri_id_part_idx') + foliot.gone_met_in('foliot.ready_1_tube_pri_id_part_idx')
$$;

-- A claim has walked over many there: so turns move the jobs to the last part soon (move_ready()). For nodes, to whose role
-- it was granted: it runs with the rights of the schema's owner, because a node may not set sequences.
CREATE OR REPLACE FUNCTION foliot.note_gone_met() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM setval('foliot.ready_gone_met', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
END $$;
REVOKE EXECUTE ON FUNCTION foliot.note_gone_met FROM PUBLIC;

-- Raises the floors of those of these tubes that have a hundred gone rows before their first job. For nodes, to whose role
-- it was granted: it runs with the rights of the schema's owner, because a node may not set sequences.
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
    WHERE r.tube = each_tube AND r.part = 9
      AND (r.pri, r.id) >= (coalesce((SELECT f.pri FROM foliot.ready_floor f WHERE f.tube = each_tube), 0),
                            coalesce((SELECT f.id FROM foliot.ready_floor f WHERE f.tube = each_tube), 0))
    ORDER BY r.pri, r.id LIMIT 1;
    CONTINUE WHEN foliot.gone_met() - met < 100;
    INSERT INTO foliot.ready_floor
    VALUES (each_tube, coalesce(first.pri, 9223372036854775807), coalesce(first.id, 9223372036854775807))
    ON CONFLICT (tube) DO UPDATE SET pri = excluded.pri, id = excluded.id;
    PERFORM setval('foliot.floor_raised', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.raise_floors FROM PUBLIC;

-- Deletes the floors if there is hardly anything before them, and none was raised in the last minute: the statistics come
-- late. Precondition: lock_floors().
CREATE OR REPLACE FUNCTION foliot.forget_floors() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_sequence_last_value('foliot.floor_raised') BETWEEN 1 AND floor(extract(epoch FROM clock_timestamp()) * 1000) - 60000
     AND pg_stat_get_dead_tuples(to_regclass('foliot.ready_9')) < 1000 THEN
    DELETE FROM foliot.ready_floor;
    PERFORM setval('foliot.floor_raised', 0);
  END IF;
END $$;
