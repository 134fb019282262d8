-- The check whether a program may use the schema.
--
-- Function: admit().
-- Called by: a node before it announces itself, and a program before each step by which it changes the map or moves a tube; in
-- the same transaction.
-- Locks: lock_of_migration() shared, and foliot.map in ACCESS SHARE, until the transaction ends. So a caller waits for a migration that is under way, and a
-- migration that begins later waits for the caller's transaction.

-- Fails with FL003 if this schema is only for newer programs. `program` is the version of the schema that the program knows.
--
-- The caller may have waited for the lock until a migration was committed, while this connection still has the plan of an
-- earlier call, with the number that oldest_program() returned then. To wait for an advisory lock does not tell the session
-- that the function has changed; to lock a table does.
CREATE OR REPLACE FUNCTION foliot.admit(program bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(foliot.lock_of_migration());
  PERFORM FROM foliot.map;
  IF program < foliot.oldest_program() THEN
    RAISE EXCEPTION 'the schema is for newer programs' USING ERRCODE = 'FL003';
  END IF;
END $$;
