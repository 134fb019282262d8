-- Turns of the batches that name jobs by their keys.
--
-- Batch A has put key x and waits for key y, while batch B has put y and waits for x. This also happens with keys that no
-- job has, so no order of rows prevents the deadlock. As long as it does not happen, batches execute side by side. A batch
-- that has timed out on a lock begins a minute of turns: one batch with keys at a time, of all nodes. In its turn a batch
-- locks the jobs that it names, by id or by key, in the order of their ids, as batches without keys do. So no batch with
-- keys waits for one that waits for it.
--
-- Turns do not help against a lock of an application, or against a node that was stopped in its turn. So a batch waits for
-- its turn no longer than for a job (lock_timeout), and is then executed without a turn; and turns end when a batch in its
-- turn has timed out on a lock.
--
-- Sequence: turns_until. Functions: set_turns(), are_turns_taken(), wait_for_turn(), with_keyed().
-- Called by: begin_batch().
-- Locks: lock_of(0), exclusive, until the batch ends. No registration has the number 0.

-- Batches with keys take turns for `how_long` ms from now on; 0 ends that time. For nodes, whose role has been granted this
-- function: it runs with the rights of the schema's owner, because a node may not set sequences.
CREATE OR REPLACE FUNCTION foliot.set_turns(how_long bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM setval('foliot.turns_until', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + how_long);
END $$;
REVOKE EXECUTE ON FUNCTION foliot.set_turns FROM PUBLIC;

-- Whether batches with keys take turns now. A time further ahead than turns_ms() comes from a clock that was wrong.
CREATE OR REPLACE FUNCTION foliot.are_turns_taken() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(pg_sequence_last_value('foliot.turns_until'::regclass)
                  - floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint BETWEEN 1 AND foliot.turns_ms(), false)
$$;

-- Waits until no other batch with keys is in its turn; fails with FL005 after lock_timeout.
CREATE OR REPLACE FUNCTION foliot.wait_for_turn() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(foliot.lock_of(0));
EXCEPTION WHEN lock_not_available THEN
  RAISE EXCEPTION 'another batch with keys takes long' USING ERRCODE = 'FL005';
END $$;

-- These ids and the ids of the jobs with these keys, in ascending order.
CREATE OR REPLACE FUNCTION foliot.with_keyed(ids bigint[], tubes bytea[], keys bytea[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT unnest(ids) UNION
    SELECT j.id FROM unnest(tubes, keys) n (tube, key), foliot.tube_named(n.tube) t,
      LATERAL (SELECT k.id FROM foliot.job k WHERE k.tube = t.id AND k.key = n.key
               AND k.part = foliot.lasting_partition() LIMIT 1) j
    ORDER BY 1);
END $$;
