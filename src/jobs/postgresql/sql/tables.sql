-- The tables of foliot's jobs, version 1 of the schema. A migration executes this file once, when it makes the schema; later
-- versions change the tables by steps (schema_history.cpp), and this file stays as it is, except for its comments.
--
-- The text of a job is in `job`: its row is written once, and deleted once; only a new history (step_2.sql) updates it. The
-- state of the job is the table in which its other row is: `delayed`, `ready`, `reserved` or `buried`. A change of state
-- deletes the row in one table and inserts it into another one. Besides, the rotation moves rows that rest to other
-- partitions (rotation.sql).
--
-- Locks. A change takes the row lock of the job in `job` first. Then it looks for the job's other row, with one statement
-- for each table, in the order delayed, ready, buried, reserved. Two changes go without the lock in `job`, because they only
-- move a row forward in this order, so that the search still meets it: a job that becomes due, and a claim. The search waits
-- for such a change if it meets the row that the change moves.
--
-- Words. A registration of a node (batch.sql) has a number; the columns `session` and the sequence of that name have it. The
-- columns `part` have the number of the row's partition.
--
-- Times: due times and delays are in milliseconds, in UTC since 1970; the ends of reservations and pauses are in nanoseconds
-- of the same clock (tests give another one).

-- The names of tubes.
CREATE TABLE foliot.tube (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE,
  made timestamptz NOT NULL DEFAULT now()
);
-- The names up to this id have been examined (tube_names.sql), and the time of the next turn that does so, in ms since 1970.
CREATE SEQUENCE foliot.tubes_examined AS bigint MINVALUE 0;
CREATE SEQUENCE foliot.tubes_due AS bigint MINVALUE 0;
SELECT setval('foliot.tubes_examined', 0), setval('foliot.tubes_due', 0);

-- A dead row stays where it is as long as any transaction of the database began before it died. So the tables of jobs that
-- come and go have partitions: one takes the new rows, and one that is empty is truncated (rotation.sql). All partitions are
-- always searched. The lasting partition, number 9, has the rows that stay. It is never truncated, except those of `ready`
-- and `delayed`.
--
-- Which partition takes the new rows of a table, and since when, is in a sequence, because a sequence leaves no dead rows.
-- Its value is the time, in milliseconds since 1970, times 16, plus the number of the partition.
CREATE FUNCTION foliot.current_part(of_table text) RETURNS smallint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN pg_sequence_last_value(to_regclass('foliot.part_of_' || of_table)) & 15;
END $$;
-- The partitions of `job` or `reserved`, in the order in which a job is likely to be there.
CREATE FUNCTION foliot.parts_of(of_table text) RETURNS smallint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  present smallint := foliot.current_part(of_table);
BEGIN
  RETURN ARRAY[present, 1 - present, 9];
END $$;
CREATE SEQUENCE foliot.turn AS bigint;  -- how many turns of the rotation there were
CREATE SEQUENCE foliot.last_turn AS bigint;  -- the time of the last one, in milliseconds since 1970
-- Makes the partitions of a table. `identity` is how a logical replication knows the rows of a partition: without it, a
-- publication of all tables would make deletions fail. A partition that may be truncated has a sequence, with the time since
-- when it has been empty.
CREATE FUNCTION foliot.make_parts(of_table text, numbers smallint[], options text DEFAULT '', identity text DEFAULT 'FULL',
                                  keeps_last boolean DEFAULT true)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  each_part smallint;
BEGIN
  EXECUTE format('CREATE SEQUENCE foliot.part_of_%s AS bigint MINVALUE 0', of_table);
  PERFORM setval(to_regclass('foliot.part_of_' || of_table), floor(extract(epoch FROM now()) * 1000)::bigint << 4);
  FOREACH each_part IN ARRAY numbers LOOP
    EXECUTE format('CREATE TABLE foliot.%1$s_%2$s PARTITION OF foliot.%1$s FOR VALUES IN (%2$s) %3$s', of_table,
                   each_part, options);
    EXECUTE format('ALTER TABLE foliot.%s_%s REPLICA IDENTITY ' || identity, of_table, each_part);
    CONTINUE WHEN each_part = 9 AND keeps_last;
    EXECUTE format('CREATE SEQUENCE foliot.%s_%s_empty_since AS bigint MINVALUE 0', of_table, each_part);
    PERFORM setval(to_regclass(format('foliot.%s_%s_empty_since', of_table, each_part)), 0);
  END LOOP;
END $$;

-- Until when batches with keys take turns, in milliseconds since 1970 (keys.sql).
CREATE SEQUENCE foliot.turns_until AS bigint;

-- Jobs with keys are in the lasting partition, because a unique index covers one partition.
CREATE SEQUENCE foliot.job_id AS bigint;
CREATE TABLE foliot.job (
  id bigint NOT NULL,
  tube integer NOT NULL,
  key bytea,
  made bigint NOT NULL,
  ttr bigint NOT NULL,
  body bytea NOT NULL,
  part smallint NOT NULL DEFAULT 9,
  CHECK (key IS NULL OR part = 9)
) PARTITION BY LIST (part);
CREATE UNIQUE INDEX job_id_and_part ON foliot.job (id, part);
CREATE UNIQUE INDEX job_key ON foliot.job (tube, key, part) WHERE key IS NOT NULL;
-- Bodies are compressed by their clients, if at all.
ALTER TABLE foliot.job ALTER COLUMN body SET STORAGE EXTERNAL;
SELECT foliot.make_parts('job', '{0, 1, 9}', identity => 'USING INDEX %1$s_%2$s_id_part_idx');

-- The first ten columns of the four tables of states. `reserves` is also the number of the job's latest attempt.
CREATE TYPE foliot.place AS (
  id bigint, tube integer, pri bigint, due bigint, delay bigint, reserves bigint, timeouts bigint, releases bigint,
  buries bigint, kicks bigint);
CREATE TABLE foliot.buried (LIKE foliot.place, seq bigint NOT NULL, PRIMARY KEY (id));
CREATE UNIQUE INDEX buried_tube ON foliot.buried (tube, seq);
CREATE SEQUENCE foliot.burial AS bigint;
CREATE SEQUENCE foliot.buried_empty_since AS bigint MINVALUE 0;  -- it has no partitions, but is truncated (rotation.sql)
SELECT setval('foliot.buried_empty_since', 0);
-- `expires` is in no index, so that a touch changes none.
CREATE TABLE foliot.reserved (
  LIKE foliot.place,
  session bigint NOT NULL,
  opening bigint NOT NULL,
  expires bigint NOT NULL,
  part smallint NOT NULL DEFAULT 9
) PARTITION BY LIST (part);
CREATE UNIQUE INDEX reserved_id ON foliot.reserved (id, part);
CREATE INDEX reserved_tube ON foliot.reserved (tube);
SELECT foliot.make_parts('reserved', '{0, 1, 9}', 'WITH (fillfactor = 70)');

-- Searches for ready and delayed jobs begin at the front of an index, where the entries of the rows are that died last.
CREATE TABLE foliot.ready (
  LIKE foliot.place,
  -- begin_batch() looks the current partition up once, and stores it in the setting.
  part smallint NOT NULL
    DEFAULT coalesce(nullif(current_setting('foliot.part_of_ready', true), '')::smallint, foliot.current_part('ready'))
) PARTITION BY LIST (part);
CREATE TABLE foliot.delayed (LIKE foliot.place, part smallint NOT NULL) PARTITION BY LIST (part);
CREATE UNIQUE INDEX ready_order ON foliot.ready (tube, pri, id, part);
CREATE INDEX ready_id ON foliot.ready (id);
CREATE INDEX delayed_id ON foliot.delayed (id);
CREATE INDEX delayed_due ON foliot.delayed (due, id);
CREATE INDEX delayed_tube ON foliot.delayed (tube, due, id);
-- Each partition costs each batch a search, and a lock.
SELECT foliot.make_parts('ready', '{0, 1, 9}', keeps_last => false);
SELECT foliot.make_parts('delayed', '{0, 1, 2, 9}', keeps_last => false);
-- The floor of the lasting partition of `delayed`, and when a turn last looked for rows below it (due_times.sql), in ms
-- since 1970.
CREATE SEQUENCE foliot.due_floor AS bigint MINVALUE 0;
CREATE SEQUENCE foliot.due_floor_checked AS bigint MINVALUE 0;
CREATE SEQUENCE foliot.ready_moved_from AS bigint;  -- the job where the last piece ended (move_ready())
SELECT setval('foliot.ready_moved_from', 9223372036854775807);
-- When a claim met many dead rows in the partitions of `ready` that take turns, in milliseconds since 1970; 0 if never.
CREATE SEQUENCE foliot.ready_gone_met AS bigint MINVALUE 0;
SELECT setval('foliot.ready_gone_met', 0);
-- Where searches begin in the lasting partition of `ready` (floors.sql), for tubes that have many dead rows there.
CREATE TABLE foliot.ready_floor (
  tube integer PRIMARY KEY,
  pri bigint NOT NULL,
  id bigint NOT NULL
);
CREATE SEQUENCE foliot.floor_raised AS bigint MINVALUE 0;  -- when the last one was raised, in ms since 1970; 0 if there is none
SELECT setval('foliot.floor_raised', 0);

CREATE TABLE foliot.pause (
  tube integer PRIMARY KEY,
  until bigint NOT NULL,
  session bigint NOT NULL
);
CREATE INDEX pause_until ON foliot.pause (until);

-- The registrations of nodes. A row lasts from the announcement of the node until its registration has ended, because the
-- node was closed or taken for dead, and the last of its reservations with it. `process` is a random number of the process. A
-- registration that is being ended has no name; its reservations up to the job `ended_until` have ended. Later, if only those
-- that last are left (step_6.sql), that is how far a pass has come that ends those that are over. Each batch looks its
-- registration up, so heartbeats of its node change nothing here: they would leave dead rows.
CREATE SEQUENCE foliot.session AS bigint;
CREATE TABLE foliot.node (
  session bigint PRIMARY KEY,
  name bytea UNIQUE,
  process bigint NOT NULL,
  timeout bigint NOT NULL,
  ended_until bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
-- When the node of a registration was last heard of, and since when without a long silence. Each heartbeat moves the row to
-- the partition that takes the new rows, so the other one is soon empty. Only heartbeats and monitoring read this.
CREATE TABLE foliot.heard (
  session bigint NOT NULL,
  seen bigint NOT NULL,
  since bigint NOT NULL,
  part smallint NOT NULL,
  PRIMARY KEY (session, part)
) PARTITION BY LIST (part);
SELECT foliot.make_parts('heard', '{0, 1}', 'WITH (fillfactor = 50)', 'DEFAULT');

-- See ballast.sql. A row fills a page. The sequences have 1 if new jobs are refused, and the time of the last attempt to
-- fill or truncate the table, in milliseconds since 1970. The table has no TOAST table, whose index would need a page when
-- it is truncated.
CREATE TABLE foliot.ballast (filling varchar(400) NOT NULL) WITH (fillfactor = 10);
CREATE SEQUENCE foliot.refusing_puts AS bigint MINVALUE 0;
CREATE SEQUENCE foliot.ballast_tried AS bigint MINVALUE 0;
SELECT setval('foliot.ballast_tried', floor(extract(epoch FROM now()) * 1000)::bigint);

-- The place of the database when a node connected last (restore.sql); null if none has yet. One row.
CREATE TABLE foliot.origin (place text);
INSERT INTO foliot.origin VALUES (NULL);
-- A hash of the place of the database, when an application put a job before a node had connected (restore.sql).
CREATE SEQUENCE foliot.place_of_ids AS bigint MINVALUE 0;
ALTER TABLE foliot.origin REPLICA IDENTITY FULL;

-- The batches that have changed something, and those that were given up: a commit whose answer was lost has happened if its
-- batch is here and was not given up. The node knows the partition. There is no lasting partition, because no row stays for
-- long: each heartbeat deletes the node's old batches, and the rotation those of registrations that have ended.
CREATE TABLE foliot.batch (
  session bigint NOT NULL,
  number bigint NOT NULL,
  given_up boolean NOT NULL,
  made bigint NOT NULL,
  part smallint NOT NULL,
  PRIMARY KEY (session, number, part)
) PARTITION BY LIST (part);
SELECT foliot.make_parts('batch', '{0, 1, 2}', identity => 'DEFAULT');

-- The map of tubes to databases (map.sql). `map` has one row; its number is null as long as there is only one database. All
-- databases of one map have the same `id`. `database` and `tube_place` are used in the first database only.
CREATE TABLE foliot.map (number smallint, id uuid, version bigint NOT NULL);
INSERT INTO foliot.map VALUES (NULL, NULL, 1);
ALTER TABLE foliot.map REPLICA IDENTITY FULL;
CREATE TABLE foliot.database (
  number smallint PRIMARY KEY CHECK (number BETWEEN 1 AND 63),
  connection text NOT NULL UNIQUE,
  is_added boolean NOT NULL DEFAULT false
);
CREATE TABLE foliot.tube_place (
  tube bytea PRIMARY KEY,
  database smallint NOT NULL,
  before smallint
);
-- The tubes that have moved to this database. A database that is not the first one has no other tubes.
CREATE TABLE foliot.joined (tube bytea PRIMARY KEY);
-- The tubes that have left this database, and until when an operation may miss a job of them that has just left.
CREATE TABLE foliot.away (tube bytea PRIMARY KEY, sends_until timestamptz NOT NULL);
-- The jobs of the piece that is on its way to another database. Their rows in `job` stay until they have arrived.
CREATE TABLE foliot.leaving (
  LIKE foliot.place,
  state smallint NOT NULL,
  piece bigint NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (id)
);
CREATE SEQUENCE foliot.piece AS bigint;
-- The last piece that has arrived from each database.
CREATE TABLE foliot.arrived (from_database bigint PRIMARY KEY, piece bigint NOT NULL);
