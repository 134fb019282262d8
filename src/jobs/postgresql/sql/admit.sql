-- The check that a program may use the schema.
--
-- Function: admit().
-- Called by: a node before it announces itself, and a program that changes the map, in the same transaction.
-- Locks: the one of migrations, shared, until the transaction ends. So a caller waits for a migration that is under way,
-- and no migration ends before the caller's transaction has.

-- Fails with FL003 if programs of this version of the schema may not use the schema that is here.
CREATE OR REPLACE FUNCTION foliot.admit(program bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(foliot.lock_of_migration());
  IF program < foliot.oldest_program() THEN
    RAISE EXCEPTION 'the schema is for newer programs' USING ERRCODE = 'FL003';
  END IF;
END $$;
