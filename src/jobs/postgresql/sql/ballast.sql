-- Room for a full disk.
--
-- Without free space on the disk no job could be reserved, because a reservation is a row: so no job would end, and the disk
-- would stay full. The table `ballast` keeps 16 MB for that case. The first node that meets a full disk truncates it. From
-- then on new jobs are refused, until the table has its pages again.
--
-- Table: ballast. Sequences: refusing_puts, ballast_tried. Functions: refuses_puts(), demand_room(), give_up_ballast(),
-- refill_ballast(). Called by: puts of nodes and of applications; a node whose batch met a full disk; turns of the rotation
-- (refill_ballast()). Locks: give_up_ballast() and refill_ballast() lock `ballast` (ACCESS EXCLUSIVE) until their
-- transaction ends. Nothing else reads that table.

-- Whether new jobs are refused. A sequence has the answer, because to set it takes no room, and each put reads it.
CREATE OR REPLACE FUNCTION foliot.refuses_puts() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(pg_sequence_last_value('foliot.refusing_puts') = 1, false)
$$;

-- For an application: fails if new jobs are refused.
CREATE OR REPLACE FUNCTION foliot.demand_room() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF foliot.refuses_puts() THEN
    RAISE EXCEPTION 'foliot: the database has no room for new jobs' USING ERRCODE = 'disk_full',
      HINT = 'It takes some again within two minutes after there is room on its disk.';
  END IF;
END $$;

-- Truncates the table, unless it is empty; returns whether it did. For nodes, whose role has been granted this function: it
-- runs with the rights of the schema's owner. If a failover loses the commit, the next node that meets the full disk repeats
-- the call: so the commit does not wait for a standby.
CREATE OR REPLACE FUNCTION foliot.give_up_ballast() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  LOCK TABLE foliot.ballast IN ACCESS EXCLUSIVE MODE;
  PERFORM setval('foliot.refusing_puts', 1);
  PERFORM setval('foliot.ballast_tried', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  IF pg_relation_size('foliot.ballast') = 0 THEN RETURN false; END IF;
  TRUNCATE TABLE foliot.ballast;
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.give_up_ballast FROM PUBLIC;

-- Fills the table with its pages, all of them or none. Tries that once in a minute, because each attempt on a full disk uses
-- up the rest of it for a moment. New jobs are accepted by the first turn after the filling has been committed. The table
-- has rows if an attempt has succeeded; a failed attempt leaves pages without rows, which are truncated.
CREATE OR REPLACE FUNCTION foliot.refill_ballast(now_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  is_filled boolean;
BEGIN
  is_filled := EXISTS (SELECT FROM foliot.ballast);
  IF is_filled AND NOT foliot.refuses_puts() THEN RETURN; END IF;
  IF NOT is_filled AND pg_sequence_last_value('foliot.ballast_tried') BETWEEN now_ms - 60000 AND now_ms THEN RETURN; END IF;
  LOCK TABLE foliot.ballast IN ACCESS EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM foliot.ballast) THEN
    PERFORM setval('foliot.refusing_puts', 0);
    RETURN;
  END IF;
  PERFORM setval('foliot.ballast_tried', now_ms);
  BEGIN
    INSERT INTO foliot.ballast SELECT repeat(' ', 400) FROM generate_series(1, 2048);  -- a page each: 16 MB
  EXCEPTION WHEN insufficient_resources THEN
    TRUNCATE TABLE foliot.ballast;
  END;
EXCEPTION WHEN insufficient_resources OR lock_not_available THEN
  NULL;
END $$;
