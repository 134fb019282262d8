-- A database that is not where it was: a standby was promoted, or a backup was restored.
--
-- The last commits may be missing then, and with them the last numbers of sequences. So the sequences skip some: no job gets
-- an id, no node a registration, and no piece of a moving tube a number that was given before. Tokens need no sequence: each
-- connection of a node makes its own opening. The records of operations that happen once (once.sql) are as old as the jobs: one
-- that is missing had its effect in a commit that is missing, too.
--
-- Table: origin. Sequence: place_of_ids, and those that skip.
-- Called by: each connection of a node (recognize()), send_piece(), puts of applications (demand_new_ids()), the operator
-- (restored()), a node after a failover (reservations_of()).
-- Locks: recognize() locks the row of `origin` until its transaction ends, only if the place has changed. advance_ids() has
-- lock_of_ids().

-- What distinguishes servers that have diverged: the cluster, the database, the timeline.
CREATE OR REPLACE FUNCTION foliot.here() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT format('%s/%s/%s', c.system_identifier, d.oid, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))
  FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()
$$;

-- The next numbers are greater than all that were given before the database moved.
CREATE OR REPLACE FUNCTION foliot.skip_numbers() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM foliot.advance_ids(0);
  PERFORM setval('foliot.session', nextval('foliot.session') + 1048576);
  PERFORM setval('foliot.piece', nextval('foliot.piece') + 1048576);  -- of a move to another database (map.sql)
END $$;

-- Each connection of a node begins with this call. Returns here(). For nodes, whose role has been granted this function: it
-- runs with the rights of the schema's owner, because a node may not set sequences.
CREATE OR REPLACE FUNCTION foliot.recognize() RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place_now text := foliot.here();
  place_then text;
BEGIN
  IF EXISTS (SELECT FROM foliot.origin o WHERE o.place = place_now) THEN RETURN place_now; END IF;
  SELECT o.place INTO place_then FROM foliot.origin o FOR UPDATE;  -- another node may just do the same
  IF place_then IS DISTINCT FROM place_now THEN
    IF place_then IS NOT NULL THEN PERFORM foliot.skip_numbers(); END IF;
    UPDATE foliot.origin SET place = place_now;
  END IF;
  RETURN place_now;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.recognize FROM PUBLIC;

-- For a put of an application, which may come before a node has connected: ensures that its id was not given before. The row
-- of foliot.origin would stay locked until the end of the application's transaction, and nodes would wait for it. So this
-- stores a hash of the place in a sequence.
CREATE OR REPLACE FUNCTION foliot.demand_new_ids() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  place_now text := foliot.here();
  hash_now bigint := hashtextextended(place_now, 0) & foliot.greatest_bigint();
  hash_then bigint := pg_sequence_last_value('foliot.place_of_ids');
BEGIN
  IF hash_then = hash_now OR EXISTS (SELECT FROM foliot.origin o WHERE o.place = place_now) THEN RETURN; END IF;
  IF hash_then IS NOT NULL OR EXISTS (SELECT FROM foliot.origin o WHERE o.place IS NOT NULL) THEN
    PERFORM foliot.advance_ids(0);
  END IF;
  PERFORM setval('foliot.place_of_ids', hash_now);
END $$;

-- For the operator, after a restore that recognize() cannot see: of a copy of the server's files that went on without
-- recovery to a point. All nodes announce themselves again, and what they have reserved is ready again, except what lasts
-- (is_lasting()): its tokens are those of the time of the backup. Stable, as the functions for applications are.
CREATE OR REPLACE FUNCTION foliot.restored() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM foliot.recognize();
  PERFORM foliot.skip_numbers();
  UPDATE foliot.node SET name = NULL;
END $$;

-- The reservations of a registration, with the rest of their time, in ns.
CREATE OR REPLACE FUNCTION foliot.reservations_of(
  of_session bigint, given bigint[], OUT ids bigint[], OUT openings bigint[], OUT attempts bigint[], OUT left_ns bigint[])
LANGUAGE sql AS $$
  SELECT array_agg(r.id), array_agg(r.opening), array_agg(r.reserves), array_agg(r.expires - (foliot.time_of(given))[3])
  FROM foliot.reserved r WHERE r.session = of_session
$$;
