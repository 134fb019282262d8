-- The step from version 5 of the schema to version 6: reservations that outlive the node that has made them
-- (docs/decisions/0024-reservations-that-last.md).
-- A migration executes this file once, behind step_5.sql or over a schema of an earlier version. It stays as it is, except
-- for its comments.
--
-- Programs of earlier versions go on over this version. The reservations that they make end with their registrations.

-- Of a registration that has ended, and of which reservations are left that last (is_lasting()): when a heartbeat is to look
-- for those that are over, in nanoseconds of the clock of reservations. Null: at once.
ALTER TABLE foliot.node ADD COLUMN looks_at bigint;

-- With another argument it is another function. Calls of end_session() and announce() that have begun before this step, and
-- have waited for it, go on with their old text, which calls the one of version 5. The next step may drop it.
CREATE OR REPLACE FUNCTION foliot.end_locked_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN foliot.end_locked_session(ended, NULL);
END $$;
