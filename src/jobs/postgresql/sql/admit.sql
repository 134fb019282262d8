-- The check whether a program may use the schema.
--
-- Function: admit().
-- Called by: a node before it announces itself, in the same transaction.
-- Locks: lock_of_migration(), shared, until the transaction ends. So a caller waits for a migration that is under way, and a
-- migration that begins later waits for the caller's transaction.

-- Fails with FL003 if this schema is only for newer programs. `program` is the version of the schema that the program knows.
CREATE OR REPLACE FUNCTION foliot.admit(program bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(foliot.lock_of_migration());
  IF program < foliot.oldest_program() THEN
    RAISE EXCEPTION 'the schema is for newer programs' USING ERRCODE = 'FL003';
  END IF;
END $$;
