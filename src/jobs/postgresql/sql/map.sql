-- The map of tubes to databases, for stores that need more than one database, and the moves of tubes.
--
-- The first database has the number 0, and the map: which databases there are, and which tubes are not in the first one.
-- Each database itself stores which tubes have left it, and accepts no new jobs for them. So a node with an old map puts no
-- job where no node looks for it. `version` in foliot.map rises with each change of what its database knows of the map.
--
-- Tables: map, database, tube_place, joined, away, leaving, arrived. Sequence: piece. Called by: programs that change the
-- map (database_map.hpp); nodes (read_databases(), read_places(), is_away()); functions for applications (demand_tube(),
-- demand_own_job(), demand_new_snapshots()). Locks: a change of the map locks foliot.map (EXCLUSIVE). become_database() and
-- leave() lock foliot.away (ACCESS EXCLUSIVE): they wait for all transactions that have put a job, and puts wait for them,
-- so they time out after 50 ms and are called again. send_piece() locks foliot.leaving (EXCLUSIVE). advance_ids() has
-- lock_of_ids(). All last until the transaction ends.
--
-- A database is added in these steps, each of which may be repeated:
--   1. plan_database() at the first database gives it a number, which no other one gets. Nobody sees it yet;
--   2. become_database() at the added one, which may refuse: then the map is as it was;
--   3. place_database() at the first one: nodes see it from now on.
-- So what nodes see has its number, and gives ids that no other database gives.
--
-- A tube moves in these steps, each of which may be repeated:
--   1. plan_move() at the first database: the tube is in `database` and moves there from `before`. From now on nodes
--      look for its jobs in `before` first, and then in `database`, for jobs only go that way;
--   2. leave() at `before`: no new jobs;
--   3. join() at `database`: it takes new jobs, with higher ids than those that come;
--   4. the jobs that no worker has, in pieces: send_piece() and sent_jobs() at `before`, take_piece() at `database`,
--      forget_piece() at `before`. A piece has a number, and is taken once. Meanwhile its jobs are in neither database;
--   5. when no job is left at `before`: the records of operations on the tube that happen once (once.sql), in pages:
--      once_of_tube() at `before`, take_once() at `database`. They stay at `before`, too, until they end. From step 2 on no
--      put inserts one there, and no claim has a job to claim; and until step 6 nodes look for a record at `before` first.
--      So a put that is sent again finds the record at any time;
--   6. has_left() at `before`, and end_move() at the first database.

-- What this database knows of the map has changed: nodes read it again.
CREATE OR REPLACE FUNCTION foliot.note_change_of_map() RETURNS void LANGUAGE sql AS $$
  UPDATE foliot.map SET version = version + 1
$$;

-- Ids that no other database gives: those whose remainder by 64 is the number, from the start value of the sequence on.
-- ALTER SEQUENCE waits for all transactions that have put a job, and all puts wait for it: so callers have a lock_timeout,
-- give up soon, and are called again.
CREATE OR REPLACE FUNCTION foliot.give_ids_of(of_number smallint, above bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first_id bigint := (greatest(above, (SELECT s.last_value FROM foliot.job_id s)) / 64 + 1) * 64 + of_number;
BEGIN
  EXECUTE format('ALTER SEQUENCE foliot.job_id INCREMENT BY 64 START WITH %1$s RESTART WITH %1$s', first_id);
END $$;

-- Makes this database, which has no job, the one with this number in the map with this id. Its ids are above those that
-- the first database has given while it was the only one, which have any remainder. The lock waits for all transactions
-- that have put a job, so the query after it sees their jobs. An application that puts a job meanwhile waits for the lock,
-- and then sees the number (demand_tube()).
CREATE OR REPLACE FUNCTION foliot.become_database(of_number smallint, of_map uuid, above bigint) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '50ms' AS $$
BEGIN
  LOCK TABLE foliot.away IN ACCESS EXCLUSIVE MODE;
  LOCK TABLE foliot.map IN EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM foliot.map m WHERE m.number = of_number AND m.id = of_map) THEN RETURN; END IF;
  IF (SELECT m.number FROM foliot.map m) IS NOT NULL OR EXISTS (SELECT FROM foliot.database) THEN
    PERFORM foliot.refuse('this database is one of several already');
  END IF;
  IF EXISTS (SELECT FROM foliot.job) THEN
    PERFORM foliot.refuse('this database has jobs: only one without jobs can become one of several');
  END IF;
  UPDATE foliot.map SET number = of_number, id = of_map;
  PERFORM foliot.note_change_of_map();
  PERFORM foliot.give_ids_of(of_number, above);
END $$;

-- At the first database: returns the number that another one is to become.
CREATE OR REPLACE FUNCTION foliot.plan_database(of_connection text) RETURNS smallint LANGUAGE plpgsql
SET lock_timeout = '50ms' AS $$
DECLARE
  made smallint;
BEGIN
  LOCK TABLE foliot.map IN EXCLUSIVE MODE;
  SELECT d.number INTO made FROM foliot.database d WHERE d.connection = of_connection;
  IF FOUND THEN RETURN made; END IF;
  IF (SELECT m.number FROM foliot.map m) > 0 THEN
    PERFORM foliot.refuse('this is not the first database: the map is in the one with the number 0');
  END IF;
  IF (SELECT m.number FROM foliot.map m) IS NULL THEN
    UPDATE foliot.map SET number = 0, id = gen_random_uuid();
    PERFORM foliot.give_ids_of(0::smallint, 0);
  END IF;
  SELECT coalesce(max(d.number), 0) + 1 INTO made FROM foliot.database d;
  IF made > 63 THEN PERFORM foliot.refuse('the map has given all numbers, up to 63'); END IF;
  INSERT INTO foliot.database VALUES (made, of_connection);
  RETURN made;
END $$;

-- At the first database: the one that has become this number is reached by this connection string. `is_renamed`: it is in
-- the map, unless another program has just taken it out.
CREATE OR REPLACE FUNCTION foliot.place_database(of_number smallint, of_connection text, is_renamed boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  taken_by smallint;
BEGIN
  LOCK TABLE foliot.map IN EXCLUSIVE MODE;
  IF is_renamed AND NOT EXISTS (SELECT FROM foliot.database d WHERE d.number = of_number AND d.is_added) THEN
    PERFORM foliot.refuse(format('the map has no database with the number %s', of_number));
  END IF;
  -- When this string led to another database, its add may have been interrupted.
  DELETE FROM foliot.database d WHERE d.connection = of_connection AND d.number <> of_number AND NOT d.is_added;
  SELECT d.number INTO taken_by FROM foliot.database d WHERE d.connection = of_connection AND d.number <> of_number;
  IF FOUND THEN
    PERFORM foliot.refuse(format('the map has this connection string for the database %s: give that another one first',
                                 taken_by));
  END IF;
  UPDATE foliot.database d SET connection = of_connection, is_added = true WHERE d.number = of_number;
  IF NOT FOUND THEN PERFORM foliot.refuse(format('the map has no database with the number %s', of_number)); END IF;
  PERFORM foliot.note_change_of_map();
END $$;

-- At the first database: the one with this number, which has no tube, leaves the map. No other one gets its number,
-- because the others have noted by it which pieces have arrived; but it may be added again. Its connection string is
-- forgotten, because the database that it leads to may be made anew.
CREATE OR REPLACE FUNCTION foliot.remove_database(of_number smallint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  has_tube bytea;
BEGIN
  LOCK TABLE foliot.map IN EXCLUSIVE MODE;
  SELECT p.tube INTO has_tube FROM foliot.tube_place p WHERE of_number IN (p.database, p.before) ORDER BY p.tube LIMIT 1;
  IF FOUND THEN
    PERFORM foliot.refuse(format('the database %s has tubes, such as %s: move them to another one first', of_number,
                                 convert_from(has_tube, 'UTF8')));
  END IF;
  UPDATE foliot.database d SET connection = format('removed %s', of_number), is_added = false
  WHERE d.number = of_number AND d.is_added;
  IF NOT FOUND THEN PERFORM foliot.refuse(format('the map has no database with the number %s', of_number)); END IF;
  PERFORM foliot.note_change_of_map();
END $$;

-- The databases except the first one.
CREATE OR REPLACE FUNCTION foliot.read_databases(OUT numbers bigint[], OUT connections bytea[]) LANGUAGE sql STABLE AS $$
  SELECT array_agg(d.number::bigint ORDER BY d.number), array_agg(convert_to(d.connection, 'UTF8') ORDER BY d.number)
  FROM foliot.database d WHERE d.is_added
$$;

-- The tubes that are not in the first database, and those that move. `befores` has -1 for a tube that does not move.
CREATE OR REPLACE FUNCTION foliot.read_places(OUT tubes bytea[], OUT databases bigint[], OUT befores bigint[])
LANGUAGE sql STABLE AS $$
  SELECT array_agg(p.tube ORDER BY p.tube), array_agg(p.database::bigint ORDER BY p.tube),
         array_agg(coalesce(p.before, -1)::bigint ORDER BY p.tube)
  FROM foliot.tube_place p
$$;

-- Plans that the tube moves to this database. Returns the database from which it moves; null if it is there already.
CREATE OR REPLACE FUNCTION foliot.plan_move(of_tube bytea, to_database smallint) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
  place foliot.tube_place;
  made_from smallint;
BEGIN
  LOCK TABLE foliot.map IN EXCLUSIVE MODE;
  IF to_database <> 0 AND NOT EXISTS (SELECT FROM foliot.database d WHERE d.number = to_database AND d.is_added) THEN
    PERFORM foliot.refuse(format('there is no database with the number %s', to_database));
  END IF;
  SELECT p.* INTO place FROM foliot.tube_place p WHERE p.tube = of_tube;
  IF place.before IS NOT NULL THEN
    IF place.database <> to_database THEN
      PERFORM foliot.refuse(format('the tube moves to the database %s at present: that must end first', place.database));
    END IF;
    RETURN place.before;
  END IF;
  made_from := coalesce(place.database, 0);
  IF made_from = to_database THEN RETURN NULL; END IF;
  INSERT INTO foliot.tube_place VALUES (of_tube, to_database, made_from)
  ON CONFLICT (tube) DO UPDATE SET database = excluded.database, before = excluded.before;
  PERFORM foliot.note_change_of_map();
  RETURN made_from;
END $$;

-- The move of the tube has ended: no job of it is left where it was.
CREATE OR REPLACE FUNCTION foliot.end_move(of_tube bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE foliot.map IN EXCLUSIVE MODE;
  UPDATE foliot.tube_place p SET before = NULL WHERE p.tube = of_tube;
  DELETE FROM foliot.tube_place p WHERE p.tube = of_tube AND p.database = 0;
  PERFORM foliot.note_change_of_map();
END $$;

-- This database takes no new jobs for the tube from now on; returns the highest id that it has given. The lock waits for
-- all transactions that have put a job, and they for it: so it gives up soon, and the caller tries again. Without `knows_once`,
-- for programs of versions before 5, it fails with FL003 while there is a record that has not ended (once.sql), of whichever
-- tube: the program would leave it behind.
CREATE OR REPLACE FUNCTION foliot.leave(of_tube bytea, knows_once boolean DEFAULT false) RETURNS bigint LANGUAGE plpgsql
SET lock_timeout = '50ms' AS $$
BEGIN
  LOCK TABLE foliot.away IN ACCESS EXCLUSIVE MODE;
  IF NOT knows_once
     AND EXISTS (SELECT FROM foliot.once o WHERE o.ends > floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) THEN
    RAISE EXCEPTION 'the database knows operations that happen once, which this program would leave behind: move the tube '
                    'with a newer program' USING ERRCODE = 'FL003';
  END IF;
  DELETE FROM foliot.joined j WHERE j.tube = of_tube;
  INSERT INTO foliot.away VALUES (of_tube, 'infinity') ON CONFLICT (tube) DO UPDATE SET sends_until = 'infinity';
  PERFORM foliot.note_change_of_map();
  RETURN (SELECT s.last_value FROM foliot.job_id s);
END $$;

-- Gives only ids above this one from now on, without waiting for the transactions that have put a job. Others may take ids
-- between nextval() and setval(), so it skips 4,294,967,296 more, as after a restore. Two calls at once could set the
-- sequence back, so there is a lock. The error at the end releases the lock, while a sequence keeps its value.
CREATE OR REPLACE FUNCTION foliot.advance_ids(above bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(foliot.lock_of_ids());
  made := nextval('foliot.job_id');
  PERFORM setval('foliot.job_id', greatest(made, above - above % 64 + made % 64) + 4294967296);
  RAISE EXCEPTION 'advanced' USING ERRCODE = 'FL007';
EXCEPTION
  WHEN SQLSTATE 'FL007' THEN RETURN;
END $$;

-- This database accepts new jobs for the tube, with ids above this one. It must have a number in the map, or it would give
-- ids that other databases give as well.
CREATE OR REPLACE FUNCTION foliot.join(of_tube bytea, above bigint) RETURNS void LANGUAGE plpgsql
SET lock_timeout = '50ms' AS $$
BEGIN
  PERFORM foliot.make_tubes(ARRAY[of_tube]);
  DELETE FROM foliot.away a WHERE a.tube = of_tube;
  INSERT INTO foliot.joined VALUES (of_tube) ON CONFLICT DO NOTHING;
  IF (SELECT m.number FROM foliot.map m) IS NULL THEN
    PERFORM foliot.refuse('this database is not one of several: no tube can move to it');
  END IF;
  PERFORM foliot.note_change_of_map();
  IF (SELECT s.last_value FROM foliot.job_id s) < above THEN PERFORM foliot.advance_ids(above); END IF;
END $$;

-- Fails with FL003 if one of these jobs has fields, for a program that knows none (earlier_programs.sql).
CREATE OR REPLACE FUNCTION foliot.refuse_fields(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one bigint;
BEGIN
  SELECT j.id INTO one FROM unnest(ids) o (id), foliot.job_with(o.id) j WHERE j.fields IS NOT NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the job % has fields, which this program would leave behind: move the tube with a newer program', one
      USING ERRCODE = 'FL003';
  END IF;
END $$;

-- Moves jobs that no worker has to `leaving`, as the next piece: up to `most` jobs, or up to `bytes` bytes of bodies and
-- fields as they are stored, but at least one job. If there is a piece already, of whichever tube, returns that one. `piece`
-- is null if there was nothing to move; then `is_left` says whether the tube still has a job. Without `knows_fields` it moves
-- no job with fields.
CREATE OR REPLACE FUNCTION foliot.send_piece(of_name bytea, most bigint, bytes bigint, knows_fields boolean DEFAULT false,
                                             OUT piece bigint, OUT is_left boolean) LANGUAGE plpgsql AS $$
DECLARE
  of_tube integer := foliot.tube_id(of_name);
  ids bigint[];
BEGIN
  LOCK TABLE foliot.leaving IN EXCLUSIVE MODE;
  is_left := true;
  SELECT l.piece INTO piece FROM foliot.leaving l LIMIT 1;
  IF FOUND THEN RETURN; END IF;
  ids := ARRAY(SELECT r.id FROM foliot.best_ready(of_tube, most) r ORDER BY r.pri, r.id);
  IF cardinality(ids) = 0 THEN
    ids := ARRAY(SELECT d.id FROM foliot.delayed d WHERE d.tube = of_tube ORDER BY d.due, d.id LIMIT most);
  END IF;
  IF cardinality(ids) = 0 THEN
    ids := ARRAY(SELECT b.id FROM foliot.buried b WHERE b.tube = of_tube ORDER BY b.seq LIMIT most);
  END IF;
  IF cardinality(ids) = 0 THEN
    is_left := foliot.has_job(of_tube);
    RETURN;
  END IF;
  ids := foliot.lock_some(ARRAY(
    SELECT s.id FROM (
      SELECT o.id, o.n, sum(foliot.stored_bytes(j.body, j.fields)) OVER (ORDER BY o.n) AS size
      FROM unnest(ids) WITH ORDINALITY o (id, n), foliot.job_with(o.id) j) s
    WHERE s.n = 1 OR s.size <= bytes));
  IF NOT knows_fields THEN PERFORM foliot.refuse_fields(ids); END IF;
  PERFORM foliot.recognize();  -- after a restore no number of a piece is given again
  piece := nextval('foliot.piece');
  WITH gone AS (DELETE FROM foliot.delayed d WHERE d.id = ANY (ids) RETURNING d.*)
  INSERT INTO foliot.leaving
  SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, foliot.state_delayed(),
         send_piece.piece FROM gone;
  WITH gone AS (DELETE FROM foliot.ready r WHERE r.id = ANY (ids) RETURNING r.*)
  INSERT INTO foliot.leaving
  SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, foliot.state_ready(),
         send_piece.piece FROM gone;
  WITH gone AS (DELETE FROM foliot.buried b WHERE b.id = ANY (ids) RETURNING b.*)
  INSERT INTO foliot.leaving
  SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, foliot.state_buried(),
         send_piece.piece FROM gone ORDER BY seq;
  IF NOT EXISTS (SELECT FROM foliot.leaving) THEN piece := NULL; END IF;
END $$;

-- The jobs of the piece, in the form of the arguments of take_piece().
CREATE OR REPLACE FUNCTION foliot.sent_jobs() RETURNS TABLE (tube bytea, key bytea, body bytea, numbers bigint[],
                                                             fields bytea, history bytea) LANGUAGE sql STABLE AS $$
  SELECT t.name, coalesce(j.key, ''), j.body,
         ARRAY[l.id, j.made, j.ttr, l.state, l.pri, l.due, l.delay, l.reserves, l.timeouts, l.releases, l.buries, l.kicks],
         coalesce(j.fields[1], ''), coalesce(j.fields[2], '')
  FROM foliot.leaving l, foliot.job_with(l.id) j, foliot.tube_with(l.tube) t ORDER BY l.seq
$$;

-- Stores a piece that another database has sent, unless it has stored it before. `numbers` has 12 numbers for each job:
-- id, time made, TTR, state, priority, due time, delay, reserves, timeouts, releases, buries, kicks. The last two arguments
-- are those of put_plain().
CREATE OR REPLACE FUNCTION foliot.take_piece(from_database bigint, of_piece bigint, of_name bytea, keys bytea[],
                                             bodies bytea[], numbers bigint[], all_fields bytea[] DEFAULT NULL,
                                             histories bytea[] DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  of_tube integer;
  p foliot.place;
  n bigint[];
BEGIN
  INSERT INTO foliot.arrived AS a VALUES (from_database, of_piece)
  ON CONFLICT ON CONSTRAINT arrived_pkey DO UPDATE SET piece = excluded.piece WHERE a.piece < excluded.piece;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM foliot.demand_room();
  PERFORM foliot.make_tubes(ARRAY[of_name]);
  of_tube := foliot.tube_id(of_name);
  FOR i IN 1 .. cardinality(keys) LOOP
    n := numbers[12 * i - 11 : 12 * i];
    INSERT INTO foliot.job
    VALUES (n[1], of_tube, nullif(keys[i], ''), n[2], n[3], bodies[i], foliot.lasting_partition(),
            foliot.fields_of(all_fields[i], histories[i]));
    p := ROW(n[1], of_tube, n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12]);
    IF n[4] = foliot.state_delayed() THEN
      INSERT INTO foliot.delayed
      VALUES (p.*, foliot.part_for_delayed(p.due, floor(extract(epoch FROM now()) * 1000)::bigint));
    ELSIF n[4] = foliot.state_ready() THEN
      INSERT INTO foliot.ready VALUES (p.*);
    ELSE
      INSERT INTO foliot.buried VALUES (p.*, nextval('foliot.burial'));
    END IF;
  END LOOP;
END $$;

-- The jobs of this piece are in the other database, and are deleted here.
CREATE OR REPLACE FUNCTION foliot.forget_piece(of_piece bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
BEGIN
  WITH gone AS (DELETE FROM foliot.leaving l WHERE l.piece = of_piece RETURNING l.id)
  SELECT array_agg(gone.id) INTO ids FROM gone;
  DELETE FROM foliot.job j WHERE j.id = ANY (ids);
END $$;

-- No job of the tube is left here. For a minute an operation may have missed a job that had just left, so nodes look again
-- in the other database.
CREATE OR REPLACE FUNCTION foliot.has_left(of_tube bytea) RETURNS void LANGUAGE sql AS $$
  UPDATE foliot.away SET sends_until = clock_timestamp() + interval '60 s' WHERE tube = of_tube
$$;

-- Whether the tube has left this database. It waits for leave(), so it is VOLATILE: with the snapshot of the calling
-- statement it would not see what it has waited for.
CREATE OR REPLACE FUNCTION foliot.is_away(of_tube bytea) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT FROM foliot.away a WHERE a.tube = of_tube)
$$;

-- For an application: fails if the tube is in another database. New tubes are in the first one. Nodes need no such check: by
-- their map the tube is here, and if it has left, is_away() says so.
CREATE OR REPLACE FUNCTION foliot.demand_tube(of_tube bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  left_here boolean := foliot.is_away(of_tube);
  own_number smallint := (SELECT m.number FROM foliot.map m);
  its_number smallint := (SELECT p.database FROM foliot.tube_place p WHERE p.tube = of_tube);  -- only the first one knows
BEGIN
  IF NOT left_here AND (coalesce(own_number, 0) = 0 OR EXISTS (SELECT FROM foliot.joined j WHERE j.tube = of_tube)) THEN
    RETURN;
  END IF;
  RAISE EXCEPTION 'foliot: the tube % is in another database%', convert_from(of_tube, 'UTF8'),
    CASE WHEN its_number IS NULL THEN ': this one has only the tubes that were moved to it'
         ELSE format(', the one with the number %s', its_number) END
    USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;

-- For an application that names a job by its id, which is not here: fails if the job may be in another database. It is in
-- none if this database has given its id, and has never sent away a job. Ids before the start value are those of the time
-- when there was but one database, which is the first one now. Sequences say so, for a snapshot may be old.
CREATE OR REPLACE FUNCTION foliot.demand_own_job(job_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids record := pg_sequence_parameters('foliot.job_id'::regclass);
  own_number bigint := (SELECT s.last_value FROM foliot.job_id s) % 64;
BEGIN
  IF ids.increment > 1
     AND (job_id % 64 <> own_number OR (own_number > 0 AND job_id < ids.start_value)
          OR pg_sequence_last_value('foliot.piece') IS NOT NULL) THEN
    RAISE EXCEPTION 'foliot: the job % is not in this database, and may be in another one', job_id
      USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Call the function there, or the one that takes a tube and a key.';
  END IF;
END $$;

-- For a put of an application: its snapshot must not be older than the leave of a tube. Nor may it say whether there are
-- several databases, so the step of the ids does (give_ids_of()). Precondition: demand_tube() has waited for what changes
-- that.
CREATE OR REPLACE FUNCTION foliot.demand_new_snapshots() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed'
     AND (SELECT s.increment FROM pg_sequence_parameters('foliot.job_id'::regclass) s) > 1 THEN
    PERFORM foliot.refuse('where there are several databases, transactions that put jobs must be READ COMMITTED');
  END IF;
END $$;
