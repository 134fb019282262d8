-- Batches that name jobs by their keys.
--
-- Batch A has put key x and waits for key y, while batch B has put y and waits for x. This also happens with keys that no
-- job has, so no order of rows prevents it. As long as it does not happen, batches go side by side. A batch that has waited
-- for a lock in vain begins a minute of turns: one batch with keys at a time, of all nodes. Each locks the jobs that it
-- names, by id or by key, in the order of their ids, as batches without keys do. So in turns no batch with keys waits for
-- one that waits for it.
--
-- Turns are no help against a lock of an application, or against a node that was stopped in its turn. So a batch waits for
-- its turn no longer than for a job, and then goes without; and turns end when a batch in its turn has waited in vain.

-- From now on batches with keys take turns, or, if `how_long` is 0, no more. In ms. For nodes, to whose role it was
-- granted: it runs with the rights of the schema's owner, because a node may not set sequences.
CREATE OR REPLACE FUNCTION foliot.set_turns(how_long bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM setval('foliot.turns_until', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + how_long);
END $$;
REVOKE EXECUTE ON FUNCTION foliot.set_turns FROM PUBLIC;

-- A time that is further away than a turn may be is that of a clock which was wrong.
CREATE OR REPLACE FUNCTION foliot.are_turns_taken() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(pg_sequence_last_value('foliot.turns_until'::regclass)
                  - floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint BETWEEN 1 AND 60000, false)
$$;

-- Waits until no other batch with keys is under way. Sessions begin at 1, so none has this lock.
CREATE OR REPLACE FUNCTION foliot.wait_for_turn() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(foliot.lock_of(0));
EXCEPTION WHEN lock_not_available THEN
  RAISE EXCEPTION 'another batch with keys takes long' USING ERRCODE = 'FL005';
END $$;

-- These ids and those of the jobs with these keys, in their order.
CREATE OR REPLACE FUNCTION foliot.with_keyed(ids bigint[], tubes bytea[], keys bytea[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT unnest(ids) UNION
    SELECT j.id FROM unnest(tubes, keys) n (tube, key), foliot.tube_named(n.tube) t,
      LATERAL (SELECT k.id FROM foliot.job k WHERE k.tube = t.id AND k.key = n.key AND k.part = 9 LIMIT 1) j
    ORDER BY 1);
END $$;
