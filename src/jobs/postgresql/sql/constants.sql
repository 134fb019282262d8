-- The names of the numbers that the functions of the schema use: states, answers, actions, partitions, limits, locks.
--
-- Each function here is IMMUTABLE and one expression, so the planner replaces the call by the number when it makes a plan:
-- plans are those of the numbers themselves, also which partitions they leave out.
-- docs/decisions/0013-the-postgresql-store.md has the measurement. Tables and their partitions (tables.sql) are made before
-- there are functions, and have the numbers.
--
-- The numbers that travel between a node and the functions are part of the format: a node of an earlier version sends and
-- reads the same ones. sql_constants.hpp has them for the program, and PostgresqlConstants compares both.
--
-- Errors that the functions raise for each other and for nodes have these codes:
--   FL001  the node's registration has ended (begin_batch); the node announces itself again
--   FL002  a worker has the job (take_waiting)
--   FL003  the schema does not admit programs of this version (admit), or this one job (refuse_fields)
--   FL004  the partition is not empty (clear_part)
--   FL005  another batch with keys takes long (wait_for_turn); the node's next attempt does not take its turn
--   FL006  the job is there (demand_present)
--   FL007  the ids were advanced (advance_ids)
--   FL008  another transaction has claimed for the same request (claim_once)
--   FL009  a put of a put_all is refused (put_all_held)
-- FL002, FL004, FL006, FL007, FL008 and FL009 only end a subtransaction, and with it the locks that it took.
--
-- Called by: the functions of all other files. Locks: none.

-- Where a job is, as job_state of the program has it; and two states that only functions know: its piece of the tube is on
-- its way to another database, and there is no such job.
CREATE OR REPLACE FUNCTION foliot.state_delayed() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.state_ready() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.state_reserved() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.state_buried() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION foliot.state_leaving() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 4;
CREATE OR REPLACE FUNCTION foliot.state_gone() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 5;

-- Answers to any operation: a lock is held for long, so the operation was passed over; or it needs room that the database
-- does not have. Neither has changed anything.
CREATE OR REPLACE FUNCTION foliot.answer_passed_over() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN -1;
CREATE OR REPLACE FUNCTION foliot.answer_no_room() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN -2;

-- Answers to a put with a key, as put_answer::kind has them; and one more: the tube is in another database.
CREATE OR REPLACE FUNCTION foliot.put_inserted() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.put_kept() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.put_replaced() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.put_exists() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION foliot.put_reserved() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 4;
CREATE OR REPLACE FUNCTION foliot.put_elsewhere() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 5;
CREATE OR REPLACE FUNCTION foliot.put_other_version() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 6;
CREATE OR REPLACE FUNCTION foliot.put_other_request() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 7;
-- A put without a key is answered with its id; this one says that the tube is in another database. Ids begin at 1.
CREATE OR REPLACE FUNCTION foliot.no_id() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;

-- What a put does about a job with its key, as on_existing has it.
CREATE OR REPLACE FUNCTION foliot.existing_keep() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.existing_replace() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.existing_refuse() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;

-- Changes of a job that a worker has (change_held).
CREATE OR REPLACE FUNCTION foliot.to_abandon() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.to_release() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.to_bury() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.to_touch() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;

-- Changes of a job that no worker has (change_waiting), and the answers to them, as change_answer::kind has these.
CREATE OR REPLACE FUNCTION foliot.to_cancel() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.to_reschedule() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.to_fire_now() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.to_kick() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION foliot.change_done() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.change_reserved() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.change_refused() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.change_gone() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION foliot.change_other_version() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 5;

-- What has become of a put_all or a claim that happens once: it was executed, the answer is that of an earlier one, or its key
-- belongs to another request. And the kinds of records, which only functions know (once.sql).
CREATE OR REPLACE FUNCTION foliot.once_done() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.once_repeated() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.once_other_request() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.once_put() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.once_put_all() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.once_claim() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;

-- What the due time of an operation is: a delay, or a time.
CREATE OR REPLACE FUNCTION foliot.due_by_delay() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.due_by_time() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;

-- What a batch with keys does about turns (keys.sql), as batch_frame::turn_taking has it: it takes its turn if batches take
-- turns; it begins a time of turns; it goes without; it ends that time.
CREATE OR REPLACE FUNCTION foliot.turns_if_taken() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.turns_begin() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.turns_ignore() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.turns_end() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;

-- Answers of rotate() and of its steps: a lock was not free, so the next one may wait longer; done; there is more to do, so
-- the next one may follow soon; it was not the time for a turn.
CREATE OR REPLACE FUNCTION foliot.rotation_locked() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION foliot.rotation_done() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION foliot.rotation_more() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION foliot.rotation_early() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3;

-- The partition of the rows that stay, and the others of `delayed`, which take the new rows in turn (rotation.sql). They are
-- integers, as the numbers were: with smallint, plans would compare columns and numbers by other operators.
CREATE OR REPLACE FUNCTION foliot.lasting_partition() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 9;
CREATE OR REPLACE FUNCTION foliot.turning_partitions() RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{0, 1, 2}'::integer[];

-- The partition of foliot.batch that has the number of a batch, if there was no room for the number.
CREATE OR REPLACE FUNCTION foliot.no_partition() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN -1;

-- Before and behind every priority, id and time.
CREATE OR REPLACE FUNCTION foliot.least_bigint() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN -9223372036854775807 - 1;
CREATE OR REPLACE FUNCTION foliot.greatest_bigint() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 9223372036854775807;

-- A reservation lasts if its opening has these bits: it ends with its TTR, or by its token, and not with the registration that
-- has made it. The opening is a random number of the connection whose last eight bits are zero; in the tokens of claims whose
-- reservations last they are one. A node of a version before 6 has openings of 63 random bits: if it ends, the reservations
-- of one in 256 of its connections last until their TTR. The planner puts is_lasting() into the statement that calls it.
CREATE OR REPLACE FUNCTION foliot.lasting_bits() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 255;
CREATE OR REPLACE FUNCTION foliot.is_lasting(opening bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN opening & foliot.lasting_bits() = foliot.lasting_bits();

-- A job that is due later than in so many milliseconds is put into the lasting partition.
CREATE OR REPLACE FUNCTION foliot.soon_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 60000;
-- For how many milliseconds batches with keys take turns.
CREATE OR REPLACE FUNCTION foliot.turns_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 60000;
-- Within how many nanoseconds heartbeats look again for what is over of the reservations that last of a registration that has
-- ended (next_look()): all such looks that have no other reason come together.
CREATE OR REPLACE FUNCTION foliot.looks_within_ns() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 60000000000;
-- How many jobs, reservations or pauses one batch makes ready or ends besides its operations. The program has the same
-- number (ends_at_once).
CREATE OR REPLACE FUNCTION foliot.most_at_once() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2048;

-- Advisory locks. The upper half of a key is a number that other programs hardly use, one for each kind of lock.
--   lock_of(registration)  a node's registration: shared by a batch of the node until its transaction ends, exclusive for
--                          the end of the registration. So no batch of a living node reserves a job for a registration that
--                          has ended. A lock of the row would make each batch write. Registrations begin at 1, and
--                          lock_of(0) is the turn of the batches with keys (keys.sql)
--   lock_of_rotation()     turns of the rotation, and changes of floors (floors.sql): one at a time
--   lock_of_ids()          a jump of the ids (map.sql)
--   lock_of_tube(tube)     kicks and clearings of a tube. There are 256 of these locks, because the server has room for some
--                          thousands: tubes share them
--   lock_of_migration()    a migration of the schema; schema.cpp has the number, too
CREATE OR REPLACE FUNCTION foliot.lock_of(of_session bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT (1718578281::bigint << 32) | (of_session & 4294967295)
$$;
CREATE OR REPLACE FUNCTION foliot.lock_of_rotation() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1718578282::bigint << 32;
CREATE OR REPLACE FUNCTION foliot.lock_of_ids() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1718578282::bigint << 32) + 1;
CREATE OR REPLACE FUNCTION foliot.lock_of_tube(of_tube integer) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1718578283::bigint << 32) | (of_tube & 255);
CREATE OR REPLACE FUNCTION foliot.lock_of_migration() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 7310845120174305907;
