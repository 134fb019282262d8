-- The tables of foliot's jobs, version 1 of the schema.
--
-- A job's texts lie in `job`: its row is written once and deleted once. Its state is the table in which its other row
-- lies: `delayed`, `ready`, `reserved` or `buried`. A change of state deletes the row there and inserts it here, so no
-- indexed column is ever updated.
--
-- Locks. A change takes the row lock of the job in `job` first, then looks for the job's other row with one statement
-- for each table, in the order delayed, ready, buried, reserved. Two changes go without the first lock, because they
-- only move a row forward in this order, so that the search still meets it: a job that becomes due, and a claim. The
-- search waits for them where it comes upon the row that they move.
--
-- Times: due times and delays are milliseconds, in UTC since 1970; the ends of reservations and pauses are nanoseconds
-- of the same clock (tests give another one).

CREATE TABLE foliot.tube (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE
);

CREATE SEQUENCE foliot.job_id AS bigint;
CREATE TABLE foliot.job (
  id bigint PRIMARY KEY,
  tube integer NOT NULL,
  key bytea,
  made bigint NOT NULL,
  ttr bigint NOT NULL,
  body bytea NOT NULL
);
CREATE UNIQUE INDEX job_key ON foliot.job (tube, key) WHERE key IS NOT NULL;
-- Bodies are compressed by their clients, if at all.
ALTER TABLE foliot.job ALTER COLUMN body SET STORAGE EXTERNAL;

-- The first ten columns of these four are the same, in the same order. `reserves` is also the number of the job's
-- latest attempt.
CREATE TABLE foliot.ready (
  id bigint NOT NULL UNIQUE,
  tube integer NOT NULL,
  pri bigint NOT NULL,
  due bigint NOT NULL,
  delay bigint NOT NULL,
  reserves bigint NOT NULL,
  timeouts bigint NOT NULL,
  releases bigint NOT NULL,
  buries bigint NOT NULL,
  kicks bigint NOT NULL,
  PRIMARY KEY (tube, pri, id)
);
CREATE TABLE foliot.delayed (LIKE foliot.ready, PRIMARY KEY (id));
CREATE INDEX delayed_due ON foliot.delayed (due, id);
CREATE INDEX delayed_tube ON foliot.delayed (tube, due, id);
CREATE TABLE foliot.buried (LIKE foliot.ready, seq bigint NOT NULL, PRIMARY KEY (id));
CREATE UNIQUE INDEX buried_tube ON foliot.buried (tube, seq);
CREATE SEQUENCE foliot.burial AS bigint;
-- `expires` is in no index, so that a touch changes none.
CREATE TABLE foliot.reserved (
  LIKE foliot.ready,
  session bigint NOT NULL,
  opening bigint NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (id)
) WITH (fillfactor = 70);

CREATE TABLE foliot.pause (
  tube integer PRIMARY KEY,
  until bigint NOT NULL,
  session bigint NOT NULL
);
CREATE INDEX pause_until ON foliot.pause (until);

-- A node's row lives from the node's opening until it is closed or taken for dead. `process` is a random number of the
-- process. `seen` is when the node was last heard of, and `since` from when on without a long silence.
CREATE SEQUENCE foliot.session AS bigint;
CREATE TABLE foliot.node (
  session bigint PRIMARY KEY,
  name bytea NOT NULL UNIQUE,
  process bigint NOT NULL,
  timeout bigint NOT NULL,
  seen bigint NOT NULL,
  since bigint NOT NULL
) WITH (fillfactor = 50);

-- The batches that have changed something, and those that were given up: a commit whose answer was lost has happened if
-- its batch is here, and was not given up.
CREATE TABLE foliot.batch (
  session bigint NOT NULL,
  number bigint NOT NULL,
  given_up boolean NOT NULL,
  made bigint NOT NULL,
  PRIMARY KEY (session, number)
);
