-- Waits for a migration that is under way, and keeps one from ending before the caller's transaction. Fails if programs of
-- this version may not use the schema.
CREATE OR REPLACE FUNCTION foliot.admit(program bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7310845120174305907);
  IF program < foliot.oldest_program() THEN
    RAISE EXCEPTION 'the schema is for newer programs' USING ERRCODE = 'FL003';
  END IF;
END $$;
