-- The step from version 1 of the schema to version 2: a job has fields and a history
-- (docs/decisions/0019-fields-in-postgresql.md).
-- A migration executes this file once, behind tables.sql or over a schema of version 1. It stays as it is, except for its
-- comments.
--
-- Programs of version 1 go on over this version. Functions that they call take the new arguments at the end, with defaults,
-- so a call of version 1 means the new one; a function whose answer has grown has a new name (earlier_programs.sql).

-- [the fields, the history] of the job, in the encoding of fields.hpp, which the schema does not look into; null if the job
-- has neither. The fields are written once, with the row. A release or a bury that brings a history updates the row.
--
-- It is the eighth column: a row of up to eight columns has room for the bits of its nulls, so a job without fields has not
-- become longer by a byte. A ninth column would cost each row without a key eight bytes.
ALTER TABLE foliot.job ADD COLUMN fields bytea[];

-- A row of the answer of a claim, and of a look at a job.
CREATE TYPE foliot.shown_job AS (
  id bigint, tube bytea, key bytea, body bytea, pri bigint, made bigint, due bigint, delay bigint, ttr bigint, expires bigint,
  reserves bigint, timeouts bigint, releases bigint, buries bigint, kicks bigint, fields bytea[]);

-- With their new arguments they are other functions: a call of version 1 would fit both.
DROP FUNCTION IF EXISTS
  foliot.put_plain(bigint[], bytea[], bytea[], bigint[], bigint[], bigint[], bigint[]),
  foliot.put_keyed(bigint[], bytea[], bytea[], bytea[], bigint[], bigint[], bigint[], bigint[], bigint[]),
  foliot.put_or_pass(bigint[], bytea[], bytea[], bytea[], bigint[], bigint[], bigint[], bigint[], bigint[]),
  foliot.change_held(bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[]),
  foliot.change_held_or_pass(bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[]),
  foliot.send_piece(bytea, bigint, bigint),
  foliot.take_piece(bigint, bigint, bytea, bytea[], bytea[], bigint[]);
