-- Sessions of nodes, and what happens before and after the operations of a batch.

-- The time of a batch: [UTC in ms, rounded down; rounded up; the clock of reservations in ns]. The time of the
-- transaction, unless a test gives another.
CREATE OR REPLACE FUNCTION foliot.time_of(given bigint[]) RETURNS bigint[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(given, ARRAY[floor(extract(epoch FROM now()) * 1000), ceil(extract(epoch FROM now()) * 1000),
                               extract(epoch FROM now()) * 1000000000]::bigint[])
$$;

-- Adds tubes to a list that the transaction keeps for end_batch().
CREATE OR REPLACE FUNCTION foliot.note(list text, tubes integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  before text := coalesce(nullif(current_setting(list, true), ''), ',');
  noted text := before;
  each_tube integer;
BEGIN
  FOREACH each_tube IN ARRAY tubes LOOP
    IF position(',' || each_tube || ',' IN noted) = 0 THEN noted := noted || each_tube || ','; END IF;
  END LOOP;
  IF noted <> before THEN PERFORM set_config(list, noted, true); END IF;
END $$;

CREATE OR REPLACE FUNCTION foliot.noted(list text) RETURNS integer[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(string_to_array(nullif(trim(both ',' FROM current_setting(list, true)), ''), ',')::integer[], '{}')
$$;

-- Jobs have become ready in these tubes.
CREATE OR REPLACE FUNCTION foliot.note_ready(tubes integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(tubes) > 0 THEN PERFORM foliot.note('foliot.ready', tubes); END IF;
END $$;

-- Delayed jobs have come or gone: the batch will look for the first one again.
CREATE OR REPLACE FUNCTION foliot.note_delayed() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('foliot.next_due', '', true);
END $$;

-- Jobs of these tubes have ended. Of interest only where a tube is paused.
CREATE OR REPLACE FUNCTION foliot.note_lost(tubes integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  paused integer[];
BEGIN
  IF NOT EXISTS (SELECT FROM foliot.pause) THEN RETURN; END IF;
  paused := ARRAY(SELECT p.tube FROM foliot.pause p WHERE p.tube = ANY (tubes));
  IF cardinality(paused) > 0 THEN PERFORM foliot.note('foliot.lost', paused); END IF;
END $$;

CREATE OR REPLACE FUNCTION foliot.has_job(of_tube integer) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM foliot.best_ready(of_tube, 1)) OR EXISTS (SELECT FROM foliot.delayed WHERE tube = of_tube)
    OR EXISTS (SELECT FROM foliot.buried WHERE tube = of_tube) OR EXISTS (SELECT FROM foliot.reserved WHERE tube = of_tube)
$$;

-- A lock of the session: shared by a batch of its node until the batch has ended, exclusive for the end of the session.
-- So no batch of a living node reserves a job for a session that is over. A lock of the row would make each batch write.
CREATE OR REPLACE FUNCTION foliot.lock_of(of_session bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT (1718578281::bigint << 32) | (of_session & 4294967295)
$$;

-- Ends a session: its pauses, and a piece of its reservations, because it may have many. Returns whether more are left:
-- then its row stays, and the beats of all nodes end the next pieces. Its batches stay, because its node may still ask
-- for the last one. Precondition: its lock is held.
CREATE OR REPLACE FUNCTION foliot.end_locked_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  after bigint;
  ids bigint[];
  tubes integer[];
BEGIN
  UPDATE foliot.node n SET name = NULL WHERE n.session = ended RETURNING n.ended_until INTO after;
  WITH over AS (DELETE FROM foliot.pause p WHERE p.session = ended RETURNING p.tube)
  SELECT array_agg(over.tube) INTO tubes FROM over;
  PERFORM foliot.note_ready(tubes);
  ids := ARRAY(SELECT r.id FROM foliot.reserved r WHERE r.session = ended AND r.id > after ORDER BY r.id LIMIT 2048);
  PERFORM foliot.lock_jobs(ids);
  WITH gone AS (DELETE FROM foliot.reserved r WHERE r.id = ANY (ids) AND r.session = ended RETURNING r.*),
    made AS (INSERT INTO foliot.ready
             SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks FROM gone RETURNING tube)
  SELECT array_agg(DISTINCT made.tube) INTO tubes FROM made;
  PERFORM foliot.note_ready(tubes);
  IF cardinality(ids) = 2048 THEN
    UPDATE foliot.node n SET ended_until = ids[2048] WHERE n.session = ended;
    RETURN true;
  END IF;
  DELETE FROM foliot.heard h WHERE h.session = ended;
  DELETE FROM foliot.node n WHERE n.session = ended;
  RETURN false;
END $$;

-- Waits for the batch that the session's node executes, if it does, and ends the session, or a piece of it: returns
-- whether more is left.
CREATE OR REPLACE FUNCTION foliot.end_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(foliot.lock_of(ended));
  RETURN foliot.end_locked_session(ended);
END $$;

-- The same for a session whose node closes it, and asks for no batch any more.
CREATE OR REPLACE FUNCTION foliot.close_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM foliot.batch b WHERE b.session = ended;
  RETURN foliot.end_session(ended);
END $$;

-- Announces a node, and returns its new session. An older session of the same name ends. `before` is the session that
-- the node had until now, or 0: if another process has taken the name since, the answer is null.
CREATE OR REPLACE FUNCTION foliot.announce(node_name bytea, of_process bigint, node_timeout bigint, before bigint,
                                           given bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  older foliot.node;
  made bigint;
  now_ns bigint := (foliot.time_of(given))[3];
BEGIN
  SELECT n.* INTO older FROM foliot.node n WHERE n.name = node_name;
  IF before <> 0 AND older.session > before AND older.process <> of_process THEN RETURN NULL; END IF;
  IF older.session IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(foliot.lock_of(older.session));
    BEGIN
      PERFORM foliot.end_locked_session(older.session);
    EXCEPTION WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
                OR program_limit_exceeded THEN
      -- It meets a damaged row, or the like: the session is over, and the beats of all nodes try to end it.
      UPDATE foliot.node n SET name = NULL WHERE n.session = older.session;
    END;
  END IF;
  made := nextval('foliot.session');
  INSERT INTO foliot.node VALUES (made, node_name, of_process, node_timeout) ON CONFLICT (name) DO NOTHING;
  IF NOT FOUND THEN  -- a conflict, so that the node tries again, and no batch is taken for refused
    RAISE EXCEPTION 'another process has just announced this name' USING ERRCODE = 'serialization_failure';
  END IF;
  INSERT INTO foliot.heard VALUES (made, now_ns, now_ns, foliot.current_part('heard'));
  RETURN made;
END $$;

-- Writes down that the node is alive, in the present part; returns since when without a long silence. Null: the session is
-- over.
CREATE OR REPLACE FUNCTION foliot.hear(of_session bigint, now_ns bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  silence bigint := (SELECT n.timeout / 2 FROM foliot.node n WHERE n.session = of_session);
  present smallint := foliot.current_part('heard');
  heard_since bigint;
BEGIN
  FOR attempt IN 1 .. 2 LOOP
    BEGIN
      UPDATE foliot.heard h
      SET seen = now_ns, part = CASE attempt WHEN 1 THEN present ELSE h.part END,
          since = CASE WHEN h.seen < now_ns - silence OR h.since > now_ns THEN now_ns ELSE h.since END
      WHERE h.session = of_session RETURNING h.since INTO heard_since;
      RETURN heard_since;
    EXCEPTION WHEN insufficient_resources THEN
      IF attempt = 2 THEN RAISE; END IF;  -- else there may be room where the row is
    END;
  END LOOP;
END $$;

-- Says that the node is alive, and ends the sessions of nodes that have not said so for their timeout. A node looks for
-- others only when it has been heard of for that time itself: after an outage of the database all are silent. Forgets
-- the batches below `number`, for which nobody asks any more; those below `before` are forgotten already. Returns whether
-- it has ended one or a piece of one: then the next beat should follow at once.
CREATE OR REPLACE FUNCTION foliot.beat(of_session bigint, number bigint, before bigint, given bigint[])
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  now_ns bigint := (foliot.time_of(given))[3];
  heard_since bigint;
  dead bigint;
BEGIN
  -- The clock has been set back: what lies ahead would keep dead nodes alive until then.
  UPDATE foliot.heard h SET seen = now_ns
  WHERE h.seen > now_ns AND h.seen - (SELECT n.timeout FROM foliot.node n WHERE n.session = h.session) > now_ns;
  heard_since := foliot.hear(of_session, now_ns);
  DELETE FROM foliot.batch b WHERE b.session = of_session AND b.number >= before AND b.number < beat.number;
  FOR dead IN SELECT n.session FROM foliot.node n
              WHERE n.name IS NULL OR (heard_since < now_ns - n.timeout
                AND NOT EXISTS (SELECT FROM foliot.heard h WHERE h.session = n.session AND h.seen >= now_ns - n.timeout))
              ORDER BY n.session LOOP
    -- A node that executes a batch just now is alive, and so is one that has done so since this function looked.
    CONTINUE WHEN NOT pg_try_advisory_xact_lock(foliot.lock_of(dead));
    IF EXISTS (
         SELECT FROM foliot.node n WHERE n.session = dead AND (n.name IS NULL OR NOT EXISTS (
           SELECT FROM foliot.heard h WHERE h.session = dead AND h.seen >= now_ns - n.timeout))) THEN
      BEGIN
        PERFORM foliot.end_locked_session(dead);
        RETURN true;
      EXCEPTION WHEN insufficient_resources THEN
        RETURN false;  -- a later beat tries again: this one says that its node is alive
      WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
           OR program_limit_exceeded THEN
        NULL;  -- it meets a damaged row, or the like, so later beats try again: the next session
      END;
    END IF;
  END LOOP;
  RETURN false;
END $$;

-- Locks jobs, in this order. Ends the search for each in the part that has it.
CREATE OR REPLACE FUNCTION foliot.lock_jobs(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM unnest(ids) o (id), LATERAL (SELECT FROM foliot.job j WHERE j.id = o.id LIMIT 1 FOR UPDATE) l;
END $$;

-- Of these reservations, ends each whose time is over.
CREATE OR REPLACE FUNCTION foliot.end_over(ids bigint[], openings bigint[], attempts bigint[], now_ns bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  tubes integer[];
BEGIN
  WITH gone AS (
      DELETE FROM foliot.reserved r
      WHERE r.id = ANY (ids) AND r.expires < now_ns
        AND ((r.id, r.opening, r.reserves) IN (SELECT * FROM unnest(ids, openings, attempts))) IS TRUE
      RETURNING r.*),
    made AS (
      INSERT INTO foliot.ready
      SELECT id, tube, pri, due, delay, reserves, timeouts + 1, releases, buries, kicks FROM gone RETURNING tube)
  SELECT array_agg(DISTINCT made.tube) INTO tubes FROM made;
  PERFORM foliot.note_ready(tubes);
END $$;

-- Ends pauses that are over: at most 2048, or that of this tube.
CREATE OR REPLACE FUNCTION foliot.end_pauses(now_ns bigint, of_tube integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  tubes integer[] := ARRAY[of_tube];
BEGIN
  IF of_tube IS NULL THEN
    tubes := ARRAY(SELECT p.tube FROM foliot.pause p WHERE p.until <= now_ns ORDER BY p.until LIMIT 2048
                   FOR UPDATE SKIP LOCKED);
  END IF;
  WITH over AS (DELETE FROM foliot.pause p WHERE p.tube = ANY (tubes) AND p.until <= now_ns RETURNING p.tube)
  SELECT array_agg(over.tube) INTO tubes FROM over;
  PERFORM foliot.note_ready(tubes);
END $$;

-- The first part of a batch, whose operations name these keys. `turns`: 0, it takes its turn if turns are taken; 1, turns
-- begin (keys.sql); 2, it goes without; 3, turns end. Locks the jobs `to_lock`, which the batch names. Ends the reservations
-- `over_*` of this node, whose time is over by the node's clock; those whose time is not over by this one are in `still_*`.
-- Ends pauses and makes due jobs ready: at most 2048 of each. If the database lacks room (1), that which needs some is left,
-- and that which meets an error.
CREATE OR REPLACE FUNCTION foliot.begin_batch(
  of_session bigint, given bigint[], turns bigint, to_lock bigint[], key_tubes bytea[], keys bytea[], over_ids bigint[],
  over_openings bigint[], over_attempts bigint[], lacks_room bigint,
  OUT now_ms bigint, OUT now_ns bigint, OUT still_ids bigint[], OUT still_expires bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  goes_on boolean;
  has_over boolean;
  first_due bigint;
  part_of_ready smallint;
  ignored text;  -- an assignment is cheaper than PERFORM
BEGIN
  now_ms := times[1];
  now_ns := times[3];
  ignored := pg_advisory_xact_lock_shared(foliot.lock_of(of_session));
  IF cardinality(keys) > 0 THEN
    IF turns = 1 THEN PERFORM foliot.set_turns(60000); END IF;
    IF turns = 3 THEN PERFORM foliot.set_turns(0); END IF;
    IF turns < 2 AND foliot.are_turns_taken() THEN
      PERFORM foliot.wait_for_turn();
      to_lock := foliot.with_keyed(to_lock, key_tubes, keys);
    END IF;
  END IF;
  SELECT EXISTS (SELECT FROM foliot.node n WHERE n.session = of_session AND n.name IS NOT NULL),
         EXISTS (SELECT FROM foliot.pause p WHERE p.until <= times[3]),
         foliot.first_due(times[1]),
         foliot.current_part('ready')
  INTO goes_on, has_over, first_due, part_of_ready;
  IF NOT goes_on THEN
    RAISE EXCEPTION 'the session of the node is over' USING ERRCODE = 'FL001';
  END IF;
  ignored := set_config('foliot.now', now_ms::text, true);
  ignored := set_config('foliot.part_of_ready', part_of_ready::text, true);
  ignored := set_config('foliot.next_due', coalesce(first_due::text, 'none'), true);
  IF cardinality(to_lock) > 0 THEN
    PERFORM foliot.lock_jobs(to_lock);
  END IF;
  IF cardinality(over_ids) > 0 THEN
    IF lacks_room = 0 THEN
      ignored := foliot.end_over(over_ids, over_openings, over_attempts, now_ns);
    ELSE
      ignored := foliot.end_over_or_pass(over_ids, over_openings, over_attempts, now_ns);
    END IF;
    -- Those that are over stay only for want of room, or for an error: the node tries again in a second.
    SELECT array_agg(r.id), array_agg(CASE WHEN r.expires < begin_batch.now_ns THEN begin_batch.now_ns + 1000000000
                                           ELSE r.expires END)
    INTO still_ids, still_expires
    FROM foliot.reserved r WHERE r.id = ANY (over_ids) AND ((r.id, r.opening, r.reserves) IN (
      SELECT * FROM unnest(over_ids, over_openings, over_attempts))) IS TRUE;
  END IF;
  IF has_over THEN
    IF lacks_room = 0 THEN
      ignored := foliot.end_pauses(now_ns);
    ELSE
      ignored := foliot.end_pauses_or_pass(now_ns);
    END IF;
  END IF;
  IF first_due <= now_ms THEN
    IF lacks_room = 0 THEN
      ignored := foliot.make_due_ready(now_ms, 2048);
    ELSE
      ignored := foliot.make_due_ready_or_pass(now_ms, 2048);
    END IF;
  END IF;
END $$;

-- Leaves the number of a batch; returns the part of the table that has it.
CREATE OR REPLACE FUNCTION foliot.leave_number(of_session bigint, number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  part smallint := foliot.current_part('batch');
BEGIN
  INSERT INTO foliot.batch VALUES (of_session, number, false, 1000000000 * extract(epoch FROM now())::bigint, part);
  RETURN part;
END $$;

-- The last part of a batch. A batch that has changed something leaves its number, in this part of the table; -1: the
-- database lacks room (1) for it.
--
-- A primary whose standby has taken its place, unseen, does not know what has changed since. So no answer of it may leave:
-- the commit of a batch that has changed nothing, but tells (1) its clients what the database knows, is to wait for the
-- standby, too. A commit waits if its transaction has written to the log.
CREATE OR REPLACE FUNCTION foliot.end_batch(
  of_session bigint, number bigint, lacks_room bigint, tells bigint,
  OUT ready_tubes bytea[], OUT emptied_tubes bytea[], OUT next_due bigint, OUT next_pause bigint,
  OUT map_version bigint, OUT sends bigint, OUT part bigint)
LANGUAGE plpgsql AS $$
DECLARE
  now_ms bigint := current_setting('foliot.now')::bigint;
  ready integer[] := foliot.noted('foliot.ready');
  lost integer[] := foliot.noted('foliot.lost');
  known_due text := current_setting('foliot.next_due');  -- from begin_batch(); empty: see note_delayed()
  ignored text;
BEGIN
  IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
    IF lacks_room = 0 THEN
      part := foliot.leave_number(of_session, number);
    ELSE
      part := foliot.leave_number_or_pass(of_session, number);
    END IF;
  ELSIF tells = 1 AND current_setting('synchronous_standby_names') <> '' THEN
    ignored := pg_logical_emit_message(true, 'foliot', '');
  END IF;
  IF cardinality(ready) > 0 THEN
    ready_tubes := ARRAY(SELECT t.name FROM foliot.tube t WHERE t.id = ANY (ready));
  END IF;
  IF cardinality(lost) > 0 THEN
    emptied_tubes := ARRAY(SELECT t.name FROM foliot.tube t JOIN foliot.pause p ON p.tube = t.id
                           WHERE t.id = ANY (lost) AND NOT foliot.has_job(t.id));
  END IF;
  IF known_due <> '' THEN
    next_due := nullif(known_due, 'none')::bigint;
  ELSE
    next_due := foliot.first_due(now_ms);
    -- A job that is due, though this batch has not left any over, is held by another transaction, perhaps for long.
    IF next_due <= now_ms AND current_setting('foliot.is_behind', true) IS DISTINCT FROM 'true' THEN
      SELECT d.due INTO next_due FROM foliot.delayed d WHERE d.due > now_ms ORDER BY d.due, d.id LIMIT 1;
      next_due := least(next_due, now_ms + 100);
    END IF;
  END IF;
  -- What this database knows of the map, and whether jobs leave it.
  SELECT m.version, EXISTS (SELECT FROM foliot.away a WHERE a.sends_until > clock_timestamp())::integer,
         (SELECT p.until FROM foliot.pause p ORDER BY p.until LIMIT 1)
  INTO map_version, sends, next_pause FROM foliot.map m;
END $$;

-- Whether this batch, whose number is in this part if it is anywhere, has been committed; if not, it is given up, and
-- never will be. Waits for a twin that is still being committed, and always writes, so that the commit of the answer is
-- also the commit of all that it saw. May be asked again if its own commit is in doubt.
CREATE OR REPLACE FUNCTION foliot.has_happened(of_session bigint, number bigint, part bigint) RETURNS boolean
LANGUAGE sql AS $$
  INSERT INTO foliot.batch AS b VALUES (of_session, number, true, 1000000000 * extract(epoch FROM now())::bigint, part)
  ON CONFLICT ON CONSTRAINT batch_pkey DO UPDATE SET given_up = b.given_up RETURNING NOT b.given_up
$$;
