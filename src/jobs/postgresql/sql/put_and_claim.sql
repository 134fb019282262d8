-- Puts and claims, and the steps by which a job comes to a state and leaves it (settle(), lift()).
--
-- The arrays of a function have one element for each operation, in the order of the batch.
--
-- Tables: tube, job, ready, delayed, reserved; lift() also deletes from buried. Called by: batches of nodes (put_plain(),
-- put_keyed(), make_tubes_before(), claim_best(), claim_named()); the functions of changes.sql and application.sql (lift(),
-- settle(), make_tubes()). Locks, until the transaction ends: a put has the row of a tube that it makes, and of a job with
-- its key; a claim has the rows of the jobs in `ready`, with SKIP LOCKED, and goes without the lock of the rows in `job`
-- (tables.sql says why it may); claim_named() has the row in `job`, then the row of the job's state.

-- Rows by their keys, for joins. A join of tables could begin with the other table and read all of it, because the planner
-- knows the number of live rows, and not that of the dead rows that a search passes over. OFFSET 0 prevents that. So does
-- LIMIT, which also ends the search in the partition that has the job.
CREATE OR REPLACE FUNCTION foliot.job_with(job_id bigint) RETURNS SETOF foliot.job LANGUAGE sql STABLE AS $$
  SELECT j.* FROM foliot.job j WHERE j.id = job_id LIMIT 1
$$;
CREATE OR REPLACE FUNCTION foliot.tube_with(tube_id integer) RETURNS SETOF foliot.tube LANGUAGE sql STABLE AS $$
  SELECT t.* FROM foliot.tube t WHERE t.id = tube_id OFFSET 0
$$;
CREATE OR REPLACE FUNCTION foliot.tube_named(tube_name bytea) RETURNS SETOF foliot.tube LANGUAGE sql STABLE AS $$
  SELECT t.* FROM foliot.tube t WHERE t.name = tube_name OFFSET 0
$$;

-- Makes the tubes that are not known.
CREATE OR REPLACE FUNCTION foliot.make_tubes(names bytea[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO foliot.tube (name)
  SELECT DISTINCT n.name FROM unnest(names) n (name)
  WHERE NOT EXISTS (SELECT FROM foliot.tube t WHERE t.name = n.name) ORDER BY n.name
  ON CONFLICT DO NOTHING;
END $$;

-- The same in a transaction of its own, for a batch that has timed out on a lock and will be executed again. Batch A
-- has made tube x and waits for tube y, while batch B has made y and waits for x. Here the names are made in one order, and
-- nothing else is locked.
CREATE OR REPLACE FUNCTION foliot.make_tubes_before(names bytea[]) RETURNS void LANGUAGE plpgsql SET lock_timeout = '250ms'
AS $$
BEGIN
  PERFORM foliot.make_tubes(names);
END $$;

-- The due time and the delay of an operation: `due` is a time if `at` is due_by_time(), else a delay.
CREATE OR REPLACE FUNCTION foliot.due_of(at bigint, due bigint, times bigint[]) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN at = foliot.due_by_time() THEN due WHEN due > 0 THEN times[2] + due ELSE times[1] END $$;
CREATE OR REPLACE FUNCTION foliot.delay_of(at bigint, due bigint, times bigint[]) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN at = foliot.due_by_time() THEN greatest(due - times[1], 0) ELSE due END $$;

-- The partition for a new job. Jobs that are due in more than soon_ms(), and jobs with keys, come to the lasting one.
CREATE OR REPLACE FUNCTION foliot.part_for_job(key bytea, due bigint, now_ms bigint) RETURNS smallint LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN key IS NOT NULL OR due > now_ms + foliot.soon_ms() THEN foliot.lasting_partition()
              ELSE foliot.current_part('job') END;
END $$;

-- The partition for the row of a delayed job.
CREATE OR REPLACE FUNCTION foliot.part_for_delayed(due bigint, now_ms bigint) RETURNS smallint LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN due > now_ms + foliot.soon_ms() THEN foliot.lasting_partition() ELSE foliot.current_part('delayed') END;
END $$;

-- What foliot.job.fields has for these fields and this history; none are empty, or null.
CREATE OR REPLACE FUNCTION foliot.fields_of(fields bytea, history bytea) RETURNS bytea[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN fields <> '' OR history <> '' THEN ARRAY[coalesce(fields, ''), coalesce(history, '')] END
$$;

-- The bytes of a job's body, fields and history. Fields that lie apart (TOAST) are read for that, and the body is not: so
-- callers look at no more jobs than they need. stored_bytes() reads neither, but counts compressed fields as they are stored.
CREATE OR REPLACE FUNCTION foliot.content_bytes(body bytea, fields bytea[]) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN fields IS NULL THEN octet_length(body)
              ELSE octet_length(body) + octet_length(fields[1]) + octet_length(fields[2]) END
$$;

CREATE OR REPLACE FUNCTION foliot.stored_bytes(body bytea, fields bytea[]) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT octet_length(body) + coalesce(pg_column_size(fields), 0)
$$;

-- Puts jobs without keys; `all_fields` and `histories` are null if none of them has any. Returns for each its id, or no_id()
-- if its tube is in another database, or answer_no_room() if new jobs are refused.
CREATE OR REPLACE FUNCTION foliot.put_plain(given bigint[], tubes bytea[], bodies bytea[], pris bigint[], ats bigint[],
                                            dues bigint[], ttrs bigint[], all_fields bytea[] DEFAULT NULL,
                                            histories bytea[] DEFAULT NULL) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  now_ms bigint := times[1];
  ids bigint[];
  tube_ids integer[];
  due_times bigint[];
  part_of_job smallint := foliot.current_part('job');
  part_of_delayed smallint;
BEGIN
  IF foliot.refuses_puts() THEN
    RETURN ARRAY(SELECT CASE WHEN foliot.is_away(t.name) THEN foliot.no_id() ELSE foliot.answer_no_room() END
                 FROM unnest(tubes) WITH ORDINALITY t (name, i) ORDER BY t.i);
  END IF;
  IF EXISTS (SELECT FROM foliot.away a WHERE a.tube = ANY (tubes)) THEN
    FOR i IN 1 .. cardinality(tubes) LOOP
      ids := ids || CASE WHEN foliot.is_away(tubes[i]) THEN foliot.no_id() ELSE (foliot.put_plain(
        given, tubes[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i], ttrs[i:i], all_fields[i:i],
        histories[i:i]))[1] END;
    END LOOP;
    RETURN ids;
  END IF;
  ids := ARRAY(SELECT nextval('foliot.job_id') FROM generate_series(1, cardinality(tubes)));
  LOOP
    tube_ids := ARRAY(SELECT t.id FROM unnest(tubes) WITH ORDINALITY n (name, i), foliot.tube_named(n.name) t ORDER BY n.i);
    EXIT WHEN cardinality(tube_ids) = cardinality(tubes);
    PERFORM foliot.make_tubes(tubes);
  END LOOP;
  due_times := ARRAY(SELECT foliot.due_of(p.at, p.due, times) FROM unnest(ats, dues) WITH ORDINALITY p (at, due, i)
                     ORDER BY p.i);
  IF all_fields IS NULL THEN
    INSERT INTO foliot.job
    SELECT p.id, p.tube, NULL, now_ms, p.ttr, p.body,
           CASE WHEN p.due_time > now_ms + foliot.soon_ms() THEN foliot.lasting_partition() ELSE part_of_job END
    FROM unnest(ids, tube_ids, ttrs, bodies, due_times) p (id, tube, ttr, body, due_time);
  ELSE
    INSERT INTO foliot.job
    SELECT p.id, p.tube, NULL, now_ms, p.ttr, p.body,
           CASE WHEN p.due_time > now_ms + foliot.soon_ms() THEN foliot.lasting_partition() ELSE part_of_job END,
           foliot.fields_of(p.fields, p.history)
    FROM unnest(ids, tube_ids, ttrs, bodies, due_times, all_fields, histories)
      p (id, tube, ttr, body, due_time, fields, history);
  END IF;
  IF now_ms < ANY (due_times) THEN
    part_of_delayed := foliot.current_part('delayed');
    INSERT INTO foliot.delayed
    SELECT p.id, p.tube, p.pri, p.due_time, foliot.delay_of(p.at, p.due, times), 0, 0, 0, 0, 0,
           CASE WHEN p.due_time > now_ms + foliot.soon_ms() THEN foliot.lasting_partition() ELSE part_of_delayed END
    FROM unnest(ids, tube_ids, pris, ats, dues, due_times) p (id, tube, pri, at, due, due_time)
    WHERE p.due_time > now_ms;
    PERFORM foliot.note_delayed();
  END IF;
  IF now_ms >= ANY (due_times) THEN
    INSERT INTO foliot.ready
    SELECT p.id, p.tube, p.pri, p.due_time, foliot.delay_of(p.at, p.due, times), 0, 0, 0, 0, 0
    FROM unnest(ids, tube_ids, pris, ats, dues, due_times) p (id, tube, pri, at, due, due_time)
    WHERE p.due_time <= now_ms;
    PERFORM foliot.note_ready(ARRAY(SELECT DISTINCT p.tube FROM unnest(tube_ids, due_times) p (tube, due_time)
                                    WHERE p.due_time <= now_ms));
  END IF;
  RETURN ids;
END $$;

-- Puts jobs of which some have keys, one by one; an empty key is none. `existing` has existing_keep() and the others.
-- Returns pairs of an answer and an id: put_inserted() and the others, answer_no_room(), or answer_passed_over() if the job
-- with the key is on its way to another database. The last two arguments are those of put_plain().
CREATE OR REPLACE FUNCTION foliot.put_keyed(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                            ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                            all_fields bytea[] DEFAULT NULL, histories bytea[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  answers bigint[] := '{}';
  what bigint;
  made bigint;
  in_tube integer;
  job_key bytea;
  old bigint;
  lifted record;
  placed foliot.place;
  fields bytea[];
BEGIN
  PERFORM foliot.make_tubes(tubes);
  FOR i IN 1 .. cardinality(tubes) LOOP
    SELECT t.id INTO in_tube FROM foliot.tube t WHERE t.name = tubes[i];
    job_key := nullif(keys[i], '');
    IF all_fields IS NOT NULL THEN fields := foliot.fields_of(all_fields[i], histories[i]); END IF;
    LOOP
      what := foliot.put_inserted();
      old := NULL;
      IF job_key IS NOT NULL THEN
        SELECT j.id INTO old FROM foliot.job j WHERE j.tube = in_tube AND j.key = job_key
          AND j.part = foliot.lasting_partition() FOR UPDATE;
      END IF;
      IF old IS NOT NULL THEN
        IF existing[i] <> foliot.existing_replace() THEN
          -- A job on its way to another database may have ended there.
          what := CASE WHEN EXISTS (SELECT FROM foliot.leaving l WHERE l.id = old) THEN foliot.answer_passed_over()
                       WHEN existing[i] = foliot.existing_keep() THEN foliot.put_kept() ELSE foliot.put_exists() END;
          EXIT;
        END IF;
        IF foliot.refuses_puts() THEN
          what := foliot.answer_no_room();
          EXIT;
        END IF;
        lifted := foliot.lift(old, times[3]);
        IF lifted.state IN (foliot.state_reserved(), foliot.state_leaving()) THEN
          what := CASE WHEN lifted.state = foliot.state_reserved() THEN foliot.put_reserved()
                       ELSE foliot.answer_passed_over() END;
          EXIT;
        END IF;
        DELETE FROM foliot.job j WHERE j.id = old;
        what := foliot.put_replaced();
      ELSIF foliot.is_away(tubes[i]) THEN
        what := foliot.put_elsewhere();
        EXIT;
      ELSIF foliot.refuses_puts() THEN
        what := foliot.answer_no_room();
        EXIT;
      END IF;
      made := nextval('foliot.job_id');
      INSERT INTO foliot.job
      VALUES (made, in_tube, job_key, times[1], ttrs[i], bodies[i],
              foliot.part_for_job(job_key, foliot.due_of(ats[i], dues[i], times), times[1]), fields)
      ON CONFLICT (tube, key, part) WHERE key IS NOT NULL DO NOTHING;
      EXIT WHEN FOUND;  -- else another transaction has just put a job with this key
    END LOOP;
    IF what IN (foliot.put_inserted(), foliot.put_replaced()) THEN
      placed := ROW(made, in_tube, pris[i], foliot.due_of(ats[i], dues[i], times),
                    foliot.delay_of(ats[i], dues[i], times), 0, 0, 0, 0, 0);
      PERFORM foliot.settle(placed, times[1]);
      answers := answers || ARRAY[what, made];
    ELSE
      answers := answers || ARRAY[what, coalesce(old, foliot.no_id())];
    END IF;
  END LOOP;
  RETURN answers;
END $$;

-- Inserts the row of a waiting job into `delayed` or `ready`, by its due time.
CREATE OR REPLACE FUNCTION foliot.settle(placed foliot.place, now_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF placed.due > now_ms THEN
    INSERT INTO foliot.delayed VALUES (placed.*, foliot.part_for_delayed(placed.due, now_ms));
    PERFORM foliot.note_delayed();
  ELSE
    INSERT INTO foliot.ready VALUES (placed.*);
    PERFORM foliot.note_ready(ARRAY[placed.tube]);
  END IF;
END $$;

-- Deletes the row of a job's state, and returns it with the state. A reserved job stays so (state_reserved()), unless its
-- reservation is over: that one ends first, and the job is ready. A job that is on its way to another database stays, too
-- (state_leaving()). Precondition: the job's row in `job` is locked.
CREATE OR REPLACE FUNCTION foliot.lift(job_id bigint, now_ns bigint, OUT state bigint, OUT placed foliot.place)
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM foliot.delayed d WHERE d.id = job_id
  RETURNING d.id, d.tube, d.pri, d.due, d.delay, d.reserves, d.timeouts, d.releases, d.buries, d.kicks INTO placed;
  IF FOUND THEN
    state := foliot.state_delayed();
    PERFORM foliot.note_delayed();
    RETURN;
  END IF;
  DELETE FROM foliot.ready r WHERE r.id = job_id
  RETURNING r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries, r.kicks INTO placed;
  IF FOUND THEN
    state := foliot.state_ready();
    RETURN;
  END IF;
  DELETE FROM foliot.buried b WHERE b.id = job_id
  RETURNING b.id, b.tube, b.pri, b.due, b.delay, b.reserves, b.timeouts, b.releases, b.buries, b.kicks INTO placed;
  IF FOUND THEN
    state := foliot.state_buried();
    RETURN;
  END IF;
  DELETE FROM foliot.reserved r WHERE r.id = job_id AND r.expires < now_ns
  RETURNING r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts + 1, r.releases, r.buries, r.kicks INTO placed;
  IF FOUND THEN
    state := foliot.state_ready();
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM foliot.leaving l WHERE l.id = job_id) THEN
    state := foliot.state_leaving();
    RETURN;
  END IF;
  IF NOT EXISTS (SELECT FROM foliot.reserved r WHERE r.id = job_id) THEN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
      RAISE EXCEPTION 'job % has changed since the transaction began: try again', job_id
        USING ERRCODE = 'serialization_failure';
    END IF;
    RAISE EXCEPTION 'job % is in no state', job_id USING ERRCODE = 'data_corrupted';
  END IF;
  state := foliot.state_reserved();
END $$;

-- Claims the best ready jobs of these tubes, at most `most`, and none after the claims of the batch have brought `bytes`
-- bytes of bodies, fields and histories; if that has cut the claim short, the last row has only nulls. Passes over jobs that
-- another transaction is claiming.
CREATE OR REPLACE FUNCTION foliot.claim_best(of_session bigint, of_opening bigint, given bigint[], names bytea[], most bigint,
                                             bytes bigint) RETURNS SETOF foliot.shown_job LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  tubes integer[] := ARRAY(
    SELECT DISTINCT t.id FROM foliot.tube t
    WHERE t.name = ANY (names) AND NOT EXISTS (SELECT FROM foliot.pause p WHERE p.tube = t.id));
  ids bigint[];
  rows tid[];  -- and partitions: where the jobs lie, if they are of one tube, and there are no floors
  parts smallint[];
  brought bigint;
  fit bigint;
  size bigint;
  gone foliot.place[];
  part_of_reserved smallint;
  met bigint;
  met_in_turns bigint;
BEGIN
  IF cardinality(tubes) = 0 OR most = 0 THEN RETURN; END IF;
  met := foliot.gone_met();
  met_in_turns := foliot.gone_met_in_turns();
  IF cardinality(tubes) = 1 AND pg_sequence_last_value('foliot.floor_raised') = 0 THEN
    SELECT array_agg(l.id), array_agg(l.ctid), array_agg(l.part) INTO ids, rows, parts
    FROM (SELECT r.id, r.ctid, r.part FROM foliot.ready r WHERE r.tube = tubes[1] ORDER BY r.pri, r.id LIMIT most
          FOR UPDATE SKIP LOCKED) l;
  ELSE
    ids := foliot.lock_best(tubes, most);
  END IF;
  IF foliot.gone_met() - met > 4000 + 100 * cardinality(tubes) THEN PERFORM foliot.raise_floors(tubes); END IF;
  IF foliot.gone_met_in_turns() - met_in_turns > 10000 THEN PERFORM foliot.note_gone_met(); END IF;
  IF coalesce(cardinality(ids), 0) = 0 THEN RETURN; END IF;
  IF bytes IS NOT NULL THEN
    brought := coalesce(nullif(current_setting('foliot.claimed_bytes', true), '')::bigint, 0);
    fit := 0;
    -- A cursor, which reads few rows behind the bound. The rows come in the order of `ids`: the join can only be a loop over
    -- them.
    FOR size IN SELECT foliot.content_bytes(j.body, j.fields) FROM unnest(ids) o (id), foliot.job_with(o.id) j LOOP
      EXIT WHEN brought >= bytes;
      brought := brought + size;
      fit := fit + 1;
    END LOOP;
    PERFORM set_config('foliot.claimed_bytes', brought::text, true);
  ELSE
    fit := cardinality(ids);
  END IF;
  IF rows IS NULL THEN
    WITH those AS (DELETE FROM foliot.ready r WHERE r.id = ANY (ids[:fit]) RETURNING r.*)
    SELECT array_agg(foliot.place_of(t)) INTO gone FROM those t;
  ELSE
    gone := foliot.take_rows(rows[:fit], parts[:fit]);
  END IF;
  part_of_reserved := foliot.current_part('reserved');
  RETURN QUERY
  WITH found AS MATERIALIZED (
      SELECT g.*, t.name, j.key, j.body, j.made, j.ttr, times[3] + j.ttr * 1000000 AS expires, j.fields
      FROM unnest(gone) g, foliot.job_with(g.id) j, foliot.tube_with(g.tube) t),
    taken AS (
      INSERT INTO foliot.reserved
      SELECT f.id, f.tube, f.pri, f.due, f.delay, f.reserves + 1, f.timeouts, f.releases, f.buries, f.kicks,
             of_session, of_opening, f.expires, part_of_reserved
      FROM found f)
  SELECT f.id, f.name, f.key, f.body, f.pri, f.made, f.due, f.delay, f.ttr, f.expires, f.reserves + 1, f.timeouts,
         f.releases, f.buries, f.kicks, f.fields
  FROM found f ORDER BY f.pri, f.id;
  IF fit < cardinality(ids) THEN RETURN NEXT NULL::foliot.shown_job; END IF;
END $$;

-- The columns that all four tables of states have.
CREATE OR REPLACE FUNCTION foliot.place_of(r foliot.ready) RETURNS foliot.place LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries, r.kicks)::foliot.place
$$;

-- Deletes the rows of ready jobs that this transaction has locked, by their addresses: without a search in each partition.
CREATE OR REPLACE FUNCTION foliot.take_rows(rows tid[], parts smallint[]) RETURNS foliot.place[] LANGUAGE plpgsql AS $$
DECLARE
  taken foliot.place[];
  of_part foliot.place[];
  here tid[] := rows;
  in_one boolean := parts[1] = ALL (parts);
BEGIN
  FOR each_part IN 0 .. foliot.lasting_partition() LOOP
    IF in_one THEN
      CONTINUE WHEN each_part <> parts[1];
    ELSE
      CONTINUE WHEN each_part <> ALL (parts);
      here := ARRAY(SELECT r.place FROM unnest(rows, parts) r (place, part) WHERE r.part = each_part);
    END IF;
    WITH those AS (DELETE FROM foliot.ready r WHERE r.part = each_part AND r.ctid = ANY (here) RETURNING r.*)
    SELECT array_agg(foliot.place_of(t)) INTO of_part FROM those t;
    taken := taken || of_part;
  END LOOP;
  RETURN taken;
END $$;

-- Locks the rows of the best ready jobs of these tubes, from their floors on. Returns their ids, the best first.
--
-- The first search looks at more jobs than are wanted, so that a job that another transaction has locked, as another claim
-- does, is replaced by the next one. But a tube of which a job was passed over may have other unlocked jobs before that next
-- one. So these tubes are searched again, up to the last job. All tubes are searched again only if more jobs were passed
-- over than there are tubes, or than 1,000.
CREATE OR REPLACE FUNCTION foliot.lock_best(tubes integer[], most bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  spare bigint := least(cardinality(tubes), 1000);
  ids bigint[];  -- of those that are known, in their order, with their priorities and tubes
  pris bigint[];
  their_tubes integer[];
  locked bigint[];  -- ids, and then where they are in `ids`
  n integer;
  last bigint;
  passed integer[];
BEGIN
  SELECT array_agg(k.id), array_agg(k.pri), array_agg(k.tube) INTO ids, pris, their_tubes FROM (
    SELECT b.id, b.pri, o.tube FROM unnest(tubes) o (tube), foliot.best_ready(o.tube, most) b
    ORDER BY b.pri, b.id LIMIT most + spare) k;
  locked := ARRAY(SELECT r.id FROM foliot.ready r WHERE r.id = ANY (ids[:most]) FOR UPDATE SKIP LOCKED);
  IF ids IS NULL OR cardinality(locked) = least(most, cardinality(ids)) THEN RETURN coalesce(ids[:most], '{}'); END IF;
  -- In their order, and none after the last one that is needed.
  locked := ARRAY(
    SELECT o.i FROM unnest(ids) WITH ORDINALITY o (id, i),
      LATERAL (SELECT FROM foliot.ready r WHERE r.id = o.id LIMIT 1 FOR UPDATE SKIP LOCKED) l LIMIT most);
  n := cardinality(locked);
  IF n < most AND cardinality(ids) = most + spare THEN
    RETURN ARRAY(
      SELECT l.id FROM unnest(tubes) o (tube), foliot.lock_ready(o.tube, most) l ORDER BY l.pri, l.id LIMIT most);
  END IF;
  last := CASE WHEN n = most THEN locked[n] END;  -- null: there are less than are needed
  passed := ARRAY(SELECT DISTINCT their_tubes[i] FROM generate_series(1, coalesce(last, cardinality(ids))) i
                  WHERE i NOT IN (SELECT unnest(locked)));
  RETURN ARRAY(
    SELECT u.id FROM (
      SELECT pris[i] AS pri, ids[i] AS id FROM unnest(locked) i
      UNION
      SELECT l.pri, l.id FROM unnest(passed) o (tube),
        foliot.lock_ready(o.tube, most, coalesce(pris[last], foliot.greatest_bigint()),
                          coalesce(ids[last], foliot.greatest_bigint())) l) u
    ORDER BY u.pri, u.id LIMIT most);
END $$;

-- Claims this job, in whatever state it waits. Returns a row of nulls if it is on its way to another database.
CREATE OR REPLACE FUNCTION foliot.claim_named(of_session bigint, of_opening bigint, given bigint[], job_id bigint)
RETURNS SETOF foliot.shown_job LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  lifted record;
  p foliot.place;
BEGIN
  PERFORM FROM foliot.job j WHERE j.id = job_id FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  lifted := foliot.lift(job_id, times[3]);
  IF lifted.state = foliot.state_reserved() THEN RETURN; END IF;
  IF lifted.state = foliot.state_leaving() THEN
    RETURN NEXT NULL::foliot.shown_job;
    RETURN;
  END IF;
  p := lifted.placed;
  RETURN QUERY
  WITH taken AS (
    INSERT INTO foliot.reserved
    SELECT p.id, p.tube, p.pri, p.due, p.delay, p.reserves + 1, p.timeouts, p.releases, p.buries, p.kicks,
           of_session, of_opening, times[3] + j.ttr * 1000000, foliot.current_part('reserved')
    FROM foliot.job j WHERE j.id = job_id RETURNING reserved.*)
  SELECT k.id, t.name, j.key, j.body, k.pri, j.made, k.due, k.delay, j.ttr, k.expires, k.reserves, k.timeouts, k.releases,
         k.buries, k.kicks, j.fields
  FROM taken k, foliot.job_with(k.id) j, foliot.tube_with(k.tube) t;
END $$;
