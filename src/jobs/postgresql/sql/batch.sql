-- Registrations of nodes, and what happens before and after the operations of a batch.
--
-- A node announces itself: its registration is a row of `node`, whose number is in the columns `session` of all tables.
-- Reservations and pauses belong to a registration, and end with it, except the reservations that last (is_lasting()). A node
-- that is closed ends its registration; nodes end the registrations of others that have been silent for their timeout
-- (beat()).
--
-- Reservations that last keep the row of a registration that has ended, and that has no name from then on. The heartbeats of all
-- nodes end those whose TTR is over (end_lasting()). A pass goes through all reservations, so one pass does it for all
-- registrations whose time has come, and the row of each says when that is (`looks_at`). These times are whole seconds, so at most
-- one pass is due for each second, and one when a registration has ended, however many registrations there are. A touch at any
-- node moves the end of a reservation without a word to the row, so a pass looks at the ends anew.
--
-- A batch of a node is one transaction: begin_batch(), beat() if it is time for a heartbeat, the operations
-- (put_and_claim.sql, changes.sql, tubes.sql, counts.sql), end_batch(). The node sends all of them at once and then reads
-- the answers. So what one of them finds cannot come back as an argument of another one: it lies in settings, which last
-- until the transaction ends. They are cheaper than a temporary table (docs/decisions/0013-the-postgresql-store.md has the
-- measurement).
--   foliot.now                  the time of the batch, in ms: begin_batch()
--   foliot.session              the registration whose batch it is: begin_batch()
--   foliot.part_of_ready        the partition that takes new ready jobs: begin_batch(); the default of the column reads it
--   foliot.next_due             when the first delayed job is due, `none`, or empty if end_batch() has to look: note_delayed()
--   foliot.is_behind            whether due jobs are left over for the next batch: make_due_ready()
--   foliot.ready, foliot.lost   the tubes in which jobs became ready, and paused ones in which jobs ended: note()
--   foliot.claimed_bytes        the bytes of the jobs that its claims have brought: claim_best()
--   foliot.has_counted          for how long its counts have gone on: end_count()
--   foliot.has_waited_for_tube  it has timed out on the lock of a tube: wait_for_tube()
-- One more setting, foliot.last_due_tube, lasts as long as the connection: the tube at which lock_due() has stopped.
--
-- Tables: node, heard, batch; rows of reserved, ready and pause of a registration that ends.
-- Called by: nodes (announce(), close_session(), begin_batch(), beat(), end_batch(), has_happened()), and the other files.
-- Locks, in this order: the one of the registration (lock_of()), shared by a batch and exclusive for the end of the
-- registration; the turn of batches with keys (keys.sql); the rows of jobs that the batch names, in the order of their ids;
-- rows of pauses, of due jobs, and in `node` those of end_lasting(), which are skipped if another transaction has them.

-- The time of a batch: [UTC in ms, rounded down; UTC in ms, rounded up; the clock of reservations in ns]. It is the time of
-- the transaction, unless a test gives another one.
CREATE OR REPLACE FUNCTION foliot.time_of(given bigint[]) RETURNS bigint[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(given, ARRAY[floor(extract(epoch FROM now()) * 1000), ceil(extract(epoch FROM now()) * 1000),
                               extract(epoch FROM now()) * 1000000000]::bigint[])
$$;

-- Adds tubes to one of the two lists that the transaction keeps for end_batch(): their ids between commas.
CREATE OR REPLACE FUNCTION foliot.note(list text, tubes integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  before text := coalesce(nullif(current_setting(list, true), ''), ',');
  noted text := before;
  each_tube integer;
BEGIN
  IF cardinality(tubes) > 50 THEN  -- to look for each of many in the text would take long
    noted := ',' || array_to_string(ARRAY(SELECT t FROM unnest(foliot.noted(list) || tubes) t GROUP BY t), ',') || ',';
  ELSE
    FOREACH each_tube IN ARRAY tubes LOOP
      IF position(',' || each_tube || ',' IN noted) = 0 THEN noted := noted || each_tube || ','; END IF;
    END LOOP;
  END IF;
  IF noted <> before THEN PERFORM set_config(list, noted, true); END IF;
END $$;

-- The tubes of such a list.
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

-- Jobs of these tubes have ended. Nodes want to know of a paused tube that has become empty, so only paused ones are noted.
CREATE OR REPLACE FUNCTION foliot.note_lost(tubes integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  paused integer[];
BEGIN
  IF NOT EXISTS (SELECT FROM foliot.pause) THEN RETURN; END IF;
  paused := ARRAY(SELECT p.tube FROM foliot.pause p WHERE p.tube = ANY (tubes));
  IF cardinality(paused) > 0 THEN PERFORM foliot.note('foliot.lost', paused); END IF;
END $$;

-- Whether the tube has a job in any state.
CREATE OR REPLACE FUNCTION foliot.has_job(of_tube integer) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM foliot.best_ready(of_tube, 1)) OR EXISTS (SELECT FROM foliot.delayed WHERE tube = of_tube)
    OR EXISTS (SELECT FROM foliot.buried WHERE tube = of_tube) OR EXISTS (SELECT FROM foliot.reserved WHERE tube = of_tube)
$$;

-- Ends a registration: its pauses, and a piece of its reservations, because it may have many. Returns whether more are left: then
-- the heartbeats of all nodes end the next pieces. The row of the registration stays while it has reservations. When only those
-- that last are left, end_lasting() takes the registration over, and no batch of it runs any more. The numbers of its batches
-- stay, because its node may still ask for the last one. Precondition: the lock of the registration is held.
CREATE OR REPLACE FUNCTION foliot.end_locked_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  after bigint;
  ids bigint[];
  tubes integer[];
BEGIN
  UPDATE foliot.node n SET name = NULL WHERE n.session = ended AND n.looks_at IS NULL RETURNING n.ended_until INTO after;
  IF NOT FOUND THEN RETURN false; END IF;
  WITH over AS (DELETE FROM foliot.pause p WHERE p.session = ended RETURNING p.tube)
  SELECT array_agg(over.tube) INTO tubes FROM over;
  PERFORM foliot.note_ready(tubes);
  ids := ARRAY(SELECT r.id FROM foliot.reserved r
               WHERE r.session = ended AND r.id > after AND NOT foliot.is_lasting(r.opening)
               ORDER BY r.id LIMIT foliot.most_at_once());
  PERFORM foliot.lock_jobs(ids);
  WITH gone AS (DELETE FROM foliot.reserved r WHERE r.id = ANY (ids) AND r.session = ended RETURNING r.*),
    made AS (INSERT INTO foliot.ready
             SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks FROM gone RETURNING tube)
  SELECT array_agg(DISTINCT made.tube) INTO tubes FROM made;
  PERFORM foliot.note_ready(tubes);
  IF cardinality(ids) = foliot.most_at_once() THEN
    UPDATE foliot.node n SET ended_until = ids[cardinality(ids)] WHERE n.session = ended;
    RETURN true;
  END IF;
  DELETE FROM foliot.heard h WHERE h.session = ended;
  IF EXISTS (SELECT FROM foliot.reserved r WHERE r.session = ended) THEN
    UPDATE foliot.node n SET ended_until = 0, looks_at = 0 WHERE n.session = ended;
  ELSE
    DELETE FROM foliot.node n WHERE n.session = ended;
  END IF;
  RETURN false;
END $$;

-- Waits for the end of the batch that the registration's node executes, if there is one, and ends the registration or a
-- piece of it. Returns whether more is left.
CREATE OR REPLACE FUNCTION foliot.end_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(foliot.lock_of(ended));
  RETURN foliot.end_locked_session(ended);
END $$;

-- The same for a registration whose node closes it, and will ask for none of its batches any more.
CREATE OR REPLACE FUNCTION foliot.close_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM foliot.batch b WHERE b.session = ended;
  RETURN foliot.end_session(ended);
END $$;

-- Announces a node, and returns the number of its new registration. An older registration of the same name ends. `before` is
-- the registration that the node had until now, or 0. If another process has taken the name since, the answer is null.
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
      -- It has met a damaged row or the like. The registration is over, and the heartbeats of all nodes try to end it.
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

-- Stores that the node is alive, in the current partition of `heard`. Returns since when it has been heard of without a long
-- silence; null if the registration has ended.
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

-- Whether this registration is to be ended, because its node has been silent for its timeout, or because it has ended and has
-- more left than reservations that last.
CREATE OR REPLACE FUNCTION foliot.is_to_end(it foliot.node, now_ns bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN it.name IS NULL THEN it.looks_at IS NULL
              ELSE NOT EXISTS (SELECT FROM foliot.heard h WHERE h.session = it.session AND h.seen >= now_ns - it.timeout) END
$$;

-- When a pass that has ended what was over looks at a registration again whose next reservation is over at `next_over`: at the
-- first whole second behind that and behind now. A touch after the clock was set back brings an end forward, so it looks
-- at the next whole minute (looks_within_ns()) at the latest.
CREATE OR REPLACE FUNCTION foliot.next_look(next_over bigint, now_ns bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT least((greatest(next_over, now_ns) / 1000000000 + 1) * 1000000000,
               (now_ns / foliot.looks_within_ns() + 1) * foliot.looks_within_ns())
$$;

-- The first most_at_once() reservations of these registrations that are over, of jobs behind `after`, in the order of their ids.
-- No index has the registration, and by the plans of a node an index would lead to the rows, each in another page.
CREATE OR REPLACE FUNCTION foliot.over_of(of_sessions bigint[], after bigint, now_ns bigint,
                                          OUT ids bigint[], OUT openings bigint[], OUT attempts bigint[])
LANGUAGE sql SET enable_seqscan = on SET enable_sort = on AS $$
  SELECT array_agg(o.id), array_agg(o.opening), array_agg(o.reserves)
  FROM (SELECT r.id, r.opening, r.reserves FROM foliot.reserved r
        WHERE r.expires < now_ns AND r.id > after AND (r.session IN (SELECT unnest(of_sessions))) IS TRUE
        ORDER BY r.id LIMIT foliot.most_at_once()) o
$$;

-- When the next reservation of each of these registrations is over that has one.
CREATE OR REPLACE FUNCTION foliot.next_over_of(of_sessions bigint[]) RETURNS TABLE (session bigint, next_over bigint)
LANGUAGE sql SET enable_seqscan = on AS $$
  SELECT r.session, min(r.expires) FROM foliot.reserved r
  WHERE (r.session IN (SELECT unnest(of_sessions))) IS TRUE GROUP BY r.session
$$;

-- Of these registrations, which have only reservations left that last, ends a piece of those that are over. When no more are left,
-- it deletes the rows of the registrations that have none, and says when to look at the others again. Precondition: their rows
-- in `node` are locked.
CREATE OR REPLACE FUNCTION foliot.end_lasting_of(of_sessions bigint[], now_ns bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  after bigint := (SELECT min(n.ended_until) FROM foliot.node n WHERE n.session = ANY (of_sessions));
  over record;
BEGIN
  SELECT * INTO over FROM foliot.over_of(of_sessions, after, now_ns);
  IF over.ids IS NOT NULL THEN
    PERFORM foliot.lock_jobs(over.ids);
    PERFORM foliot.end_over(over.ids, over.openings, over.attempts, now_ns);
  END IF;
  IF cardinality(over.ids) = foliot.most_at_once() THEN
    UPDATE foliot.node n SET ended_until = over.ids[cardinality(over.ids)] WHERE n.session = ANY (of_sessions);
    RETURN;
  END IF;
  WITH rest AS MATERIALIZED (SELECT * FROM foliot.next_over_of(of_sessions)),
    looked AS (
      UPDATE foliot.node n SET ended_until = 0, looks_at = foliot.next_look(rest.next_over, now_ns)
      FROM rest WHERE n.session = rest.session)
  DELETE FROM foliot.node n
  WHERE n.session = ANY (of_sessions) AND NOT EXISTS (SELECT FROM rest WHERE rest.session = n.session);
END $$;

-- Ends what is over of the registrations that have only reservations left that last: of all whose time has come, in one pass, and
-- of those of which another heartbeat has none in hand. If the clock was set back, their times lie too far ahead. Returns
-- whether it has looked.
CREATE OR REPLACE FUNCTION foliot.end_lasting(now_ns bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  of_sessions bigint[] := ARRAY(SELECT n.session FROM foliot.node n
                                WHERE n.looks_at <= now_ns OR n.looks_at > now_ns + foliot.looks_within_ns()
                                ORDER BY n.session FOR UPDATE SKIP LOCKED);
BEGIN
  IF cardinality(of_sessions) = 0 THEN RETURN false; END IF;
  FOR i IN 0 .. cardinality(of_sessions) LOOP
    BEGIN
      PERFORM foliot.end_lasting_of(CASE i WHEN 0 THEN of_sessions ELSE of_sessions[i:i] END, now_ns);
      RETURN true;
    EXCEPTION WHEN insufficient_resources THEN
      RETURN false;  -- a later heartbeat tries again; this one must still say that its node is alive
    WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
         OR program_limit_exceeded THEN
      NULL;  -- one of them has a damaged row or the like: the others go on, one with each heartbeat
    END;
  END LOOP;
  RETURN false;
END $$;

-- A heartbeat (nodes of every version call it by this name): stores that the node is alive, and ends the registrations of
-- nodes that have been silent for their timeout. A node looks for silent ones only if it has been heard of for that time
-- itself, because after an outage of the database all nodes have been silent. Deletes the numbers of the node's batches
-- from `before` on and below `number`: nobody asks for them any more, and those below `before` were deleted earlier. Returns
-- whether it has ended a registration or a piece of one, or has looked for what is over of those that last: then the next
-- heartbeat should follow at once.
CREATE OR REPLACE FUNCTION foliot.beat(of_session bigint, number bigint, before bigint, given bigint[])
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  now_ns bigint := (foliot.time_of(given))[3];
  heard_since bigint;
  dead bigint;
BEGIN
  -- If the clock was set back, times that lie ahead would keep dead nodes alive until then.
  UPDATE foliot.heard h SET seen = now_ns
  WHERE h.seen > now_ns AND h.seen - (SELECT n.timeout FROM foliot.node n WHERE n.session = h.session) > now_ns;
  heard_since := foliot.hear(of_session, now_ns);
  DELETE FROM foliot.batch b WHERE b.session = of_session AND b.number >= before AND b.number < beat.number;
  FOR dead IN SELECT n.session FROM foliot.node n
              WHERE n.looks_at IS NULL AND foliot.is_to_end(n, now_ns)
                AND (n.name IS NULL OR heard_since < now_ns - n.timeout)
              ORDER BY n.session LOOP
    -- A node that executes a batch at this moment is alive, and so is one that has done so since the query above.
    CONTINUE WHEN NOT pg_try_advisory_xact_lock(foliot.lock_of(dead));
    IF EXISTS (SELECT FROM foliot.node n WHERE n.session = dead AND foliot.is_to_end(n, now_ns)) THEN
      BEGIN
        PERFORM foliot.end_locked_session(dead);
        RETURN true;
      EXCEPTION WHEN insufficient_resources THEN
        RETURN false;  -- a later heartbeat tries again; this one must still say that its node is alive
      WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
           OR program_limit_exceeded THEN
        NULL;  -- it has met a damaged row or the like: later heartbeats try again. Go on with the next registration
      END;
    END IF;
  END LOOP;
  RETURN foliot.end_lasting(now_ns);
END $$;

-- Locks the rows of these jobs in `job`, in this order. LIMIT ends the search for each job in the partition that has it.
CREATE OR REPLACE FUNCTION foliot.lock_jobs(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM unnest(ids) o (id), LATERAL (SELECT FROM foliot.job j WHERE j.id = o.id LIMIT 1 FOR UPDATE) l;
END $$;

-- Of these reservations, ends each whose TTR has passed.
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

-- Ends pauses that are over: at most most_at_once(), or the one of this tube.
CREATE OR REPLACE FUNCTION foliot.end_pauses(now_ns bigint, of_tube integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  tubes integer[] := ARRAY[of_tube];
BEGIN
  IF of_tube IS NULL THEN
    tubes := ARRAY(SELECT p.tube FROM foliot.pause p WHERE p.until <= now_ns ORDER BY p.until
                   LIMIT foliot.most_at_once() FOR UPDATE SKIP LOCKED);
  END IF;
  WITH over AS (DELETE FROM foliot.pause p WHERE p.tube = ANY (tubes) AND p.until <= now_ns RETURNING p.tube)
  SELECT array_agg(over.tube) INTO tubes FROM over;
  PERFORM foliot.note_ready(tubes);
END $$;

-- Begins a batch. `key_tubes` and `keys` are the keys that its operations name, `turns` is what the batch does about
-- turns (turns_if_taken() and the others). Locks the jobs `to_lock`, which the batch names. Ends the reservations `over_*`
-- of this node, which are over by the node's clock; `still_*` gets those that are not over by the clock of the database.
-- Ends pauses, and makes due jobs ready: at most most_at_once() of each. With `lacks_room` (1 or 0), steps that need room
-- which is not there, or that meet an error, are left undone. Fails with FL001 if the registration has ended.
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
    IF turns = foliot.turns_begin() THEN PERFORM foliot.set_turns(foliot.turns_ms()); END IF;
    IF turns = foliot.turns_end() THEN PERFORM foliot.set_turns(0); END IF;
    IF turns IN (foliot.turns_if_taken(), foliot.turns_begin()) AND foliot.are_turns_taken() THEN
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
  ignored := set_config('foliot.now', now_ms::text, true) || set_config('foliot.session', of_session::text, true);
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
    -- A reservation that is over is still there only for want of room or after an error: the node tries again in a second.
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
      ignored := foliot.make_due_ready(now_ms, foliot.most_at_once());
    ELSE
      ignored := foliot.make_due_ready_or_pass(now_ms, foliot.most_at_once());
    END IF;
  END IF;
END $$;

-- Stores the number of a batch; returns the partition of `batch` that has it.
CREATE OR REPLACE FUNCTION foliot.leave_number(of_session bigint, number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  part smallint := foliot.current_part('batch');
BEGIN
  INSERT INTO foliot.batch VALUES (of_session, number, false, 1000000000 * extract(epoch FROM now())::bigint, part);
  RETURN part;
END $$;

-- The end of a batch. A batch that has changed something stores its number: `part` is the partition of `batch` that has it,
-- no_partition() if the database has no room for the number, and null if the batch has changed nothing.
--
-- A primary whose standby was promoted without its knowledge does not know what has changed since, so none of its answers
-- may reach a client. Therefore also the commit of a batch that has changed nothing must wait for the standby, if it `tells`
-- (1 or 0) its clients what the database knows. A commit waits if its transaction has written to the log.
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
    -- If this batch has left no due job over, one that is still there is locked by another transaction, perhaps for long.
    IF next_due <= now_ms AND current_setting('foliot.is_behind', true) IS DISTINCT FROM 'true' THEN
      SELECT d.due INTO next_due FROM foliot.delayed d WHERE d.due > now_ms ORDER BY d.due, d.id LIMIT 1;
      next_due := least(next_due, now_ms + 100);
    END IF;
  END IF;
  -- The version of what this database knows of the map, and whether jobs leave it.
  SELECT m.version, EXISTS (SELECT FROM foliot.away a WHERE a.sends_until > clock_timestamp())::integer,
         (SELECT p.until FROM foliot.pause p ORDER BY p.until LIMIT 1)
  INTO map_version, sends, next_pause FROM foliot.map m;
END $$;

-- Whether this batch has been committed. Its number is in this partition, if it is stored at all. If it is not, the batch is
-- given up: its number is stored as such, so a commit of the batch that comes later fails. Waits for a transaction that is
-- still being committed with that number. It always writes, so that the commit of its answer also waits for a standby. It
-- may be called again if its own commit is in doubt.
CREATE OR REPLACE FUNCTION foliot.has_happened(of_session bigint, number bigint, part bigint) RETURNS boolean
LANGUAGE sql AS $$
  INSERT INTO foliot.batch AS b VALUES (of_session, number, true, 1000000000 * extract(epoch FROM now())::bigint, part)
  ON CONFLICT ON CONSTRAINT batch_pkey DO UPDATE SET given_up = b.given_up RETURNING NOT b.given_up
$$;
