-- The step from version 5 of the schema to version 6: reservations that outlive the node that has made them
-- (docs/decisions/0024-reservations-that-last.md).
-- A migration executes this file once, behind step_5.sql or over a schema of an earlier version. It stays as it is, except
-- for its comments.
--
-- Programs of earlier versions go on over this version. The reservations that they make end with their registrations.

-- Of a registration that has ended, and that has only reservations left that last (is_lasting()): when a heartbeat is to look for
-- those that are over, in nanoseconds of the clock of reservations. Null: the registration goes on, or its end does.
ALTER TABLE foliot.node ADD COLUMN looks_at bigint;
