-- Operations that happen once (docs/decisions/0021-operations-that-happen-once.md).
--
-- The operation leaves a record in foliot.once: its key, a digest of its request, its answer. The record is committed with
-- the effect. Another operation with the key, before the time of the record has ended, finds it: with the same request it gets
-- the answer once more, with another one it is refused, and it changes nothing. A record that has ended counts as if it were
-- not there. An operation that is refused leaves none.
--
-- Two nodes that execute the same key at once: the second waits for the first one's transaction, at the unique index of the
-- key, and then finds the record. A put inserts its record without an answer before the job. A batch does so for all of its
-- puts at its begin, in the order of the keys, before it locks jobs: so a batch that waits for a key of another one holds
-- nothing that this one waits for. A claim inserts its record when it has jobs, so that a claim that finds none writes
-- nothing; if there is one by then, it gives the jobs up, and repeats it. Batches that have the same two claims in opposite
-- orders may wait for each other, until lock_timeout ends it, as for keys of jobs.
--
-- A record ends `lifetime` ms after the time of the batch, rounded up as for a delay (time_of()), and counts as long as the
-- time rounded down is before that.
--
-- An operation whose lifetime is 0 ms only looks: it repeats a record, and does nothing if there is none. Nodes over several
-- databases ask in this way (routed_operation.hpp).
--
-- Rows come and go here, at keys without order, so the table has no partitions that could be truncated: the server's
-- autovacuum makes room for new rows where old ones were. While a transaction is open for long, rows that have gone stay.
-- The look at a key meets only the rows of this key, and the turns that delete what has ended begin at a floor: so neither
-- becomes slower.
--
-- The arrays of a function have one element for each put, in the order of the batch; `once_keys` has an empty one for a put
-- that may happen again.
--
-- Table: once. Sequence: once_floor.
-- Called by: batches of nodes of which an operation happens once; turns of the rotation (forget_once()); moves of tubes
-- (once_of_tube(), take_once()).
-- Locks: rows of `once`, until the batch ends; then those of the other functions. A claim that is repeated has the rows of its
-- jobs in `job`, and then in `reserved`.

-- The record with this key that has not ended; nulls if there is none. While the batch executes the operation, its answer is
-- null.
CREATE OR REPLACE FUNCTION foliot.once_with(of_key bytea, now_ms bigint) RETURNS foliot.once LANGUAGE plpgsql AS $$
DECLARE
  found_record foliot.once;
BEGIN
  SELECT o.* INTO found_record FROM foliot.once o WHERE o.key = of_key AND (o.ends > now_ms OR o.answer IS NULL);
  RETURN found_record;
END $$;

-- The same; if there is none, inserts one without an answer. Waits for a transaction that executes an operation with this key.
CREATE OR REPLACE FUNCTION foliot.begin_once(of_key bytea, lifetime bigint, times bigint[]) RETURNS foliot.once
LANGUAGE plpgsql AS $$
DECLARE
  found_record foliot.once;
BEGIN
  LOOP
    found_record := foliot.once_with(of_key, times[1]);
    IF found_record.key IS NOT NULL THEN RETURN found_record; END IF;
    INSERT INTO foliot.once AS o (key, ends) VALUES (of_key, times[2] + lifetime)
    ON CONFLICT (key) DO UPDATE SET request = NULL, kind = NULL, ends = excluded.ends, tubes = NULL, answer = NULL
    WHERE o.ends <= times[1] RETURNING o.* INTO found_record;
    IF FOUND THEN RETURN found_record; END IF;
  END LOOP;
END $$;

-- Stores what has happened in the record that begin_once() has inserted.
CREATE OR REPLACE FUNCTION foliot.end_once(of_key bytea, of_request bytea, of_kind bigint, lifetime bigint, times bigint[],
                                           of_tubes bytea[], of_answer bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE foliot.once o
  SET request = of_request, kind = of_kind, ends = times[2] + lifetime, tubes = of_tubes, answer = of_answer
  WHERE o.key = of_key;
END $$;

-- Nothing has happened: deletes the record that begin_once() has inserted.
CREATE OR REPLACE FUNCTION foliot.drop_once(of_key bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM foliot.once o WHERE o.key = of_key AND o.answer IS NULL;
END $$;

-- As begin_batch(), for a batch of which puts happen once: behind the lock of the registration, which comes before all others,
-- it begins these records, in the order of their keys. Not while new jobs are refused: then there are no new
-- records, either.
CREATE OR REPLACE FUNCTION foliot.begin_batch_once(
  of_session bigint, given bigint[], turns bigint, to_lock bigint[], key_tubes bytea[], keys bytea[], over_ids bigint[],
  over_openings bigint[], over_attempts bigint[], lacks_room bigint, once_keys bytea[], lifetimes bigint[],
  OUT now_ms bigint, OUT now_ns bigint, OUT still_ids bigint[], OUT still_expires bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  each record;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(foliot.lock_of(of_session));
  IF NOT foliot.refuses_puts() THEN
    FOR each IN SELECT o.key, max(o.lifetime) AS lifetime FROM unnest(once_keys, lifetimes) o (key, lifetime)
                GROUP BY o.key ORDER BY o.key LOOP
      PERFORM foliot.begin_once(each.key, each.lifetime, times);
    END LOOP;
  END IF;
  SELECT b.* INTO now_ms, now_ns, still_ids, still_expires
  FROM foliot.begin_batch(of_session, given, turns, to_lock, key_tubes, keys, over_ids, over_openings, over_attempts,
                          lacks_room) b;
END $$;

-- Puts jobs of which some are put once, one by one. Returns four numbers for each: those of put_keyed_if(), and 1 if it is
-- the answer of an earlier put, else 0. An answer of an earlier put has no version.
CREATE OR REPLACE FUNCTION foliot.put_once(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                           ats bigint[], dues bigint[], ttrs bigint[], existing bigint[], all_fields bytea[],
                                           histories bytea[], expected bigint[], once_keys bytea[], requests bytea[],
                                           lifetimes bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  has_room boolean := NOT foliot.refuses_puts();
  answers bigint[] := '{}';
  made bigint[];
  it foliot.once;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    IF once_keys[i] <> '' THEN
      it := CASE WHEN has_room THEN foliot.begin_once(once_keys[i], lifetimes[i], times)
                 ELSE foliot.once_with(once_keys[i], times[1]) END;
      IF it.answer IS NOT NULL THEN
        answers := answers || CASE WHEN it.kind = foliot.once_put() AND it.request = requests[i]
                                   THEN it.answer || ARRAY[0, 1]::bigint[]
                                   ELSE ARRAY[foliot.put_other_request(), foliot.no_id(), 0, 0] END;
        CONTINUE;
      END IF;
    END IF;
    made := foliot.put_keyed_if(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i], ttrs[i:i],
                                existing[i:i], all_fields[i:i], histories[i:i], expected[i:i]);
    IF once_keys[i] <> '' THEN
      IF NOT has_room THEN
        made := foliot.put_without_room(once_keys[i], made);
      ELSIF foliot.has_put(made) THEN
        PERFORM foliot.end_once(once_keys[i], requests[i], foliot.once_put(), lifetimes[i], times, tubes[i:i], made[1:2]);
      ELSE
        PERFORM foliot.drop_once(once_keys[i]);
      END IF;
    END IF;
    answers := answers || made || 0::bigint;
  END LOOP;
  RETURN answers;
END $$;

-- Whether these answers of put_keyed_if(), of three numbers each, are of puts that have happened.
CREATE OR REPLACE FUNCTION foliot.has_put(answers bigint[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT bool_and(answers[i] IN (foliot.put_inserted(), foliot.put_kept(), foliot.put_replaced()))
  FROM generate_series(1, cardinality(answers), 3) i
$$;

-- Answers of put_keyed_if() for so many puts: this one for each.
CREATE OR REPLACE FUNCTION foliot.put_answers(what bigint, puts integer) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE i % 3 WHEN 1 THEN what WHEN 2 THEN foliot.no_id() ELSE 0 END ORDER BY i)
  FROM generate_series(1, 3 * puts) i
$$;

-- What becomes of these answers while new jobs are refused. Puts that keep their jobs need no room, and the record does: they
-- are refused. The sequence that says so may change at any time. So the batch may have begun the record before: it goes. And
-- a job may be there, if there has been room since: the batch is executed again, since the job has no record.
CREATE OR REPLACE FUNCTION foliot.put_without_room(of_key bytea, made bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  PERFORM foliot.drop_once(of_key);
  IF NOT foliot.has_put(made) THEN RETURN made; END IF;
  IF EXISTS (SELECT FROM generate_series(1, cardinality(made), 3) i WHERE made[i] <> foliot.put_kept()) THEN
    RAISE EXCEPTION 'the database has room for new jobs again' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN foliot.put_answers(foliot.answer_no_room(), cardinality(made) / 3);
END $$;

-- Puts the jobs of a put_all that is put once. Returns once_done(), once_repeated() or once_other_request(), and behind each
-- of the first two the answers of put_keyed_if(). If one of them is refused, nothing is to be put: the caller must not commit
-- what others have put. In a batch that does not fail as a whole (`passes`, 1 or 0), the puts are passed over.
CREATE OR REPLACE FUNCTION foliot.put_all_once(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                               ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                               all_fields bytea[], histories bytea[], expected bigint[], once_key bytea,
                                               of_request bytea, lifetime bigint, passes bigint)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  has_room boolean := NOT foliot.refuses_puts();
  puts integer := cardinality(tubes);
  made bigint[];
  it foliot.once;
BEGIN
  it := CASE WHEN lifetime > 0 AND has_room THEN foliot.begin_once(once_key, lifetime, times)
             ELSE foliot.once_with(once_key, times[1]) END;
  IF it.answer IS NOT NULL THEN
    IF it.kind <> foliot.once_put_all() OR it.request <> of_request THEN RETURN ARRAY[foliot.once_other_request()]; END IF;
    RETURN foliot.once_repeated() || ARRAY(
      SELECT n FROM generate_series(1, cardinality(it.answer), 2) i, unnest(it.answer[i : i + 1] || 0::bigint)
        WITH ORDINALITY u (n, place) ORDER BY i, place);
  END IF;
  IF lifetime = 0 THEN RETURN foliot.once_done() || foliot.put_answers(foliot.put_elsewhere(), puts); END IF;
  made := CASE passes WHEN 0 THEN foliot.put_keyed_if(given, tubes, keys, bodies, pris, ats, dues, ttrs, existing, all_fields,
                                                      histories, expected)
                      ELSE foliot.put_if_or_pass(given, tubes, keys, bodies, pris, ats, dues, ttrs, existing, all_fields,
                                                 histories, expected) END;
  IF NOT has_room THEN
    made := foliot.put_without_room(once_key, made);
  ELSIF foliot.has_put(made) THEN
    PERFORM foliot.end_once(once_key, of_request, foliot.once_put_all(), lifetime, times,
                            ARRAY(SELECT DISTINCT t FROM unnest(tubes) t),
                            ARRAY(SELECT made[i] FROM generate_series(1, cardinality(made)) i WHERE i % 3 <> 0 ORDER BY i));
  ELSE
    PERFORM foliot.drop_once(once_key);
  END IF;
  RETURN foliot.once_done() || made;
END $$;

-- The reservations in this answer of a claim that have not ended belong to this registration from now on, and not to that of
-- the node that has made them. So that node does not give them back if it finds that its client has gone (is_of_other_node()):
-- the client that has sent the claim again may have them. Waits for what is being done to these jobs, also by a batch of this
-- node whose commit is in doubt.
CREATE OR REPLACE FUNCTION foliot.take_over(of_session bigint, answer bigint[], now_ns bigint) RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
  ids bigint[] := ARRAY(
    SELECT r.id FROM generate_series(1, cardinality(answer), 3) i,
      LATERAL (SELECT h.* FROM foliot.reserved h WHERE h.id = answer[i] LIMIT 1) r
    WHERE r.opening = answer[i + 1] AND r.reserves = answer[i + 2] ORDER BY r.id);
BEGIN
  PERFORM foliot.lock_jobs(ids);
  UPDATE foliot.reserved r SET session = of_session
  WHERE r.id = ANY (ids) AND r.session <> of_session AND r.expires >= now_ns
    AND (foliot.is_lasting(r.opening) OR foliot.goes_on(r.session))
    AND ((r.id, r.opening, r.reserves) IN (
      SELECT answer[i], answer[i + 1], answer[i + 2] FROM generate_series(1, cardinality(answer), 3) i)) IS TRUE;
END $$;

-- Claims as claim_best(), once. The first row says only what has happened: once_done(), once_repeated(),
-- once_other_request(), answer_passed_over() or answer_no_room(). The next ones are those of claim_best(), or those jobs of
-- the earlier claim whose reservations have not ended, whichever node has claimed them. From now on they belong to this
-- registration (take_over()).
CREATE OR REPLACE FUNCTION foliot.claim_once(of_session bigint, of_opening bigint, given bigint[], names bytea[], most bigint,
                                             bytes bigint, once_key bytea, of_request bytea, lifetime bigint)
RETURNS TABLE (what bigint, opening bigint, session bigint, shown foliot.shown_job) LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  taken foliot.shown_job[];
  it foliot.once;
BEGIN
  LOOP
    it := foliot.once_with(once_key, times[1]);
    EXIT WHEN it.answer IS NOT NULL;
    BEGIN
      IF lifetime > 0 THEN
        taken := ARRAY(SELECT c FROM foliot.claim_best(of_session, of_opening, given, names, most, bytes) c);
      END IF;
      IF taken[1].id IS NOT NULL THEN
        INSERT INTO foliot.once AS o (key, request, kind, ends, tubes, answer)
        SELECT once_key, of_request, foliot.once_claim(), times[2] + lifetime, names, array_agg(n ORDER BY t.place, u.place)
        FROM unnest(taken) WITH ORDINALITY t (id, tube, key, body, pri, made, due, delay, ttr, expires, reserves, timeouts,
                                              releases, buries, kicks, fields, place),
          unnest(ARRAY[t.id, of_opening, t.reserves]) WITH ORDINALITY u (n, place)
        WHERE t.id IS NOT NULL
        ON CONFLICT (key) DO UPDATE
        SET request = excluded.request, kind = excluded.kind, ends = excluded.ends, tubes = excluded.tubes,
            answer = excluded.answer
        WHERE o.ends <= times[1] OR o.answer IS NULL;  -- begun for a put of this batch, whose request is another one then
        IF NOT FOUND THEN RAISE EXCEPTION 'claimed by another transaction' USING ERRCODE = 'FL008'; END IF;
      END IF;
      RETURN QUERY SELECT foliot.once_done(), of_opening, of_session, NULL::foliot.shown_job;
      RETURN QUERY SELECT foliot.once_done(), of_opening, of_session, t FROM unnest(taken) t;
      RETURN;
    EXCEPTION WHEN SQLSTATE 'FL008' THEN
      NULL;  -- with the subtransaction the jobs are ready again
    END;
  END LOOP;
  IF it.kind <> foliot.once_claim() OR it.request <> of_request THEN
    RETURN QUERY SELECT foliot.once_other_request(), NULL::bigint, NULL::bigint, NULL::foliot.shown_job;
    RETURN;
  END IF;
  RETURN QUERY SELECT foliot.once_repeated(), NULL::bigint, NULL::bigint, NULL::foliot.shown_job;
  PERFORM foliot.take_over(of_session, it.answer, times[3]);
  RETURN QUERY
  SELECT foliot.once_repeated(), r.opening, r.session,
         ROW(r.id, t.name, j.key, j.body, r.pri, j.made, r.due, r.delay, j.ttr, r.expires, r.reserves, r.timeouts, r.releases,
             r.buries, r.kicks, j.fields)::foliot.shown_job
  FROM generate_series(1, cardinality(it.answer), 3) i,
    LATERAL (SELECT h.* FROM foliot.reserved h WHERE h.id = it.answer[i] LIMIT 1) r,
    foliot.job_with(r.id) j, foliot.tube_with(r.tube) t
  WHERE r.opening = it.answer[i + 1] AND r.reserves = it.answer[i + 2] AND r.expires >= times[3] AND r.session = of_session
  ORDER BY i;
END $$;

-- In a batch that does not fail as a whole (patient.sql): as put_once(); answer_passed_over() for a put that was passed over,
-- answer_no_room() for one without room.
CREATE OR REPLACE FUNCTION foliot.put_once_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                                   ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                                   all_fields bytea[], histories bytea[], expected bigint[],
                                                   once_keys bytea[], requests bytea[], lifetimes bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.put_once(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i],
                                            ttrs[i:i], existing[i:i], all_fields[i:i], histories[i:i], expected[i:i],
                                            once_keys[i:i], requests[i:i], lifetimes[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), foliot.no_id(), 0, 0];
      in_vain := in_vain + 1;
    WHEN insufficient_resources THEN
      answers := answers || ARRAY[foliot.answer_no_room(), foliot.no_id(), 0, 0];
    END;
  END LOOP;
  RETURN answers;
END $$;

-- The same: as put_all_once().
CREATE OR REPLACE FUNCTION foliot.put_all_once_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[],
                                                       pris bigint[], ats bigint[], dues bigint[], ttrs bigint[],
                                                       existing bigint[], all_fields bytea[], histories bytea[],
                                                       expected bigint[], once_key bytea, of_request bytea, lifetime bigint)
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
BEGIN
  RETURN foliot.put_all_once(given, tubes, keys, bodies, pris, ats, dues, ttrs, existing, all_fields, histories, expected,
                             once_key, of_request, lifetime, 1);
EXCEPTION WHEN lock_not_available THEN
  RETURN foliot.once_done() || foliot.put_answers(foliot.answer_passed_over(), cardinality(tubes));
WHEN insufficient_resources THEN
  RETURN foliot.once_done() || foliot.put_answers(foliot.answer_no_room(), cardinality(tubes));
END $$;

-- The same: as claim_once(); fewer jobs, or answer_no_room(), if there was no room for all.
CREATE OR REPLACE FUNCTION foliot.claim_once_or_pass(of_session bigint, of_opening bigint, given bigint[], names bytea[],
                                                     most bigint, bytes bigint, once_key bytea, of_request bytea,
                                                     lifetime bigint)
RETURNS TABLE (what bigint, opening bigint, session bigint, shown foliot.shown_job) LANGUAGE plpgsql
SET lock_timeout = '25ms' AS $$
DECLARE
  fewer bigint;
BEGIN
  FOREACH fewer IN ARRAY foliot.attempts_with(most) LOOP
    BEGIN
      RETURN QUERY SELECT * FROM foliot.claim_once(of_session, of_opening, given, names, fewer, bytes, once_key, of_request,
                                                   lifetime);
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      RETURN QUERY SELECT foliot.answer_passed_over(), NULL::bigint, NULL::bigint, NULL::foliot.shown_job;
      RETURN;
    WHEN insufficient_resources THEN
      NULL;
    END;
  END LOOP;
  RETURN QUERY SELECT foliot.answer_no_room(), NULL::bigint, NULL::bigint, NULL::foliot.shown_job;
END $$;

-- Deletes records that have ended, at most 1,000; returns whether there may be more. It begins at the floor, because the index
-- entries of those that it has deleted may stay for long. A record below the floor was committed more than a minute after it
-- had ended, or the clock was set back: so `from_all`, about once an hour, begins at the first one.
CREATE OR REPLACE FUNCTION foliot.forget_once(now_ms bigint, from_all boolean) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  before bigint := pg_sequence_last_value('foliot.once_floor');
  begin_at bigint := CASE WHEN from_all OR before > now_ms THEN 0 ELSE before END;
  last_end bigint;
  deleted bigint;
BEGIN
  WITH over AS (SELECT o.key FROM foliot.once o WHERE o.ends >= begin_at AND o.ends <= now_ms ORDER BY o.ends LIMIT 1000
                FOR UPDATE SKIP LOCKED),
    gone AS (DELETE FROM foliot.once o USING over WHERE o.key = over.key RETURNING o.ends)
  SELECT count(*), max(gone.ends) INTO deleted, last_end FROM gone;
  IF deleted = 1000 THEN
    PERFORM setval('foliot.once_floor', last_end);
  ELSIF deleted > 0 OR before NOT BETWEEN now_ms - 120000 AND now_ms THEN
    PERFORM setval('foliot.once_floor', greatest(now_ms - 60000, 0));
  END IF;
  RETURN deleted = 1000;
END $$;

-- For the move of a tube (map.sql): the records that name it, of the next `most` ones behind this key. The last row has only
-- the key behind which the next page begins; null: this is the last page.
CREATE OR REPLACE FUNCTION foliot.once_of_tube(of_tube bytea, after bytea, most bigint)
RETURNS TABLE (key bytea, request bytea, kind bigint, ends bigint, tubes bytea[], answer bigint[]) LANGUAGE plpgsql AS $$
DECLARE
  last_key bytea := after;
  seen bigint := 0;
  it foliot.once;
BEGIN
  FOR it IN SELECT o.* FROM foliot.once o WHERE o.key > after AND o.answer IS NOT NULL ORDER BY o.key LIMIT most LOOP
    seen := seen + 1;
    last_key := it.key;
    IF of_tube = ANY (it.tubes) THEN
      RETURN QUERY SELECT it.key, it.request, it.kind::bigint, it.ends, it.tubes, it.answer;
    END IF;
  END LOOP;
  RETURN QUERY SELECT CASE WHEN seen = most THEN last_key END, NULL::bytea, NULL::bigint, NULL::bigint, NULL::bytea[],
                      NULL::bigint[];
END $$;

-- Stores the records of such a page, unless this database has one with the same key that ends later. Of a claim that both
-- databases have executed, this one keeps its own reservations, too; those of a tube that has left have ended.
--
-- `tubes` and `numbers` have
-- those of all records, one record after the other, and the counts say how many belong to each.
CREATE OR REPLACE FUNCTION foliot.take_once(keys bytea[], requests bytea[], kinds bigint[], ends bigint[], tube_counts bigint[],
                                            tubes bytea[], number_counts bigint[], numbers bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  tube_at bigint := 1;
  number_at bigint := 1;
BEGIN
  FOR i IN 1 .. cardinality(keys) LOOP
    INSERT INTO foliot.once AS o (key, request, kind, ends, tubes, answer)
    VALUES (keys[i], requests[i], kinds[i], take_once.ends[i], take_once.tubes[tube_at : tube_at + tube_counts[i] - 1],
            numbers[number_at : number_at + number_counts[i] - 1])
    ON CONFLICT ON CONSTRAINT once_pkey DO UPDATE
    SET request = excluded.request, kind = excluded.kind, ends = excluded.ends,
        tubes = CASE WHEN o.kind = foliot.once_claim() AND o.request = excluded.request THEN o.tubes ELSE '{}' END
                || excluded.tubes,
        answer = CASE WHEN o.kind = foliot.once_claim() AND o.request = excluded.request THEN o.answer ELSE '{}' END
                 || excluded.answer
    WHERE o.ends < excluded.ends;
    tube_at := tube_at + tube_counts[i];
    number_at := number_at + number_counts[i];
  END LOOP;
END $$;
