-- Room for a full disk. Where not a byte is left no job could be reserved, because a reservation is a row: so none would
-- end, and the disk would stay full. The table `ballast` keeps some pages for that. The first node that meets a full disk
-- gives them up; then new jobs are refused, until the table has its pages again.

-- Whether new jobs are refused. A sequence says it, because to set it takes no room, and it is read with each put.
CREATE OR REPLACE FUNCTION foliot.refuses_puts() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(pg_sequence_last_value('foliot.refusing_puts') = 1, false)
$$;

-- For an application.
CREATE OR REPLACE FUNCTION foliot.demand_room() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF foliot.refuses_puts() THEN
    RAISE EXCEPTION 'foliot: the database has no room for new jobs' USING ERRCODE = 'disk_full',
      HINT = 'It takes some again within two minutes after there is room on its disk.';
  END IF;
END $$;

-- For nodes, to whose role it was granted: it runs with the rights of the schema's owner. What it has done is found again
-- if its commit is lost: so that does not wait for a standby.
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

-- Gives the table its pages, all of them or none, and tries that once in a minute: each attempt on a full disk takes what
-- is left of it for a moment. Puts are taken again when that has been committed. The table has rows if an attempt has
-- succeeded; one that has failed leaves pages.
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
