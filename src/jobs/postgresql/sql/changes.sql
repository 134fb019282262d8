-- Changes of jobs that a worker holds (finish(), change_held()), and of jobs that no worker has (change_waiting()).
--
-- The arrays of a function have one element for each operation, in the order of the batch.
--
-- Tables: deletes a job's row of one state and inserts its row of the next one (tables.sql); a new history updates `job`.
-- Called by: batches of nodes; change_held_or_pass() and change_waiting_or_pass() (patient.sql).
-- Locks: the row of each job in `job`, then the job's row of its state, until the batch ends. finish() locks the row in
-- `reserved` first: nothing else waits for a job with its row in `reserved` locked.

-- Whether a registration goes on. Reservations of one that is being ended are over, also if their rows are still there, except
-- those that last (is_lasting()).
CREATE OR REPLACE FUNCTION foliot.goes_on(of_session bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM foliot.node n WHERE n.session = of_session AND n.name IS NOT NULL);
END $$;

-- Ends reserved jobs; returns 1 for each whose token was valid, else 0. No job is named twice.
CREATE OR REPLACE FUNCTION foliot.finish(given bigint[], ids bigint[], openings bigint[], attempts bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  now_ns bigint := (foliot.time_of(given))[3];
  done bigint[] := '{}';
  tubes integer[] := '{}';
  part_ids bigint[];
  part_tubes integer[];
  each_part smallint;
  ended bigint := 0;
  count bigint;
BEGIN
  -- "IN" in the list or before "IS TRUE" looks into a hash table, where a join would compare each job with each token.
  FOREACH each_part IN ARRAY foliot.parts_of('reserved') LOOP
    WITH gone AS (
        DELETE FROM foliot.reserved r
        WHERE r.part = each_part AND r.id = ANY (ids) AND r.expires >= now_ns
          AND ((r.session IN (SELECT n.session FROM foliot.node n WHERE n.name IS NOT NULL)) IS TRUE
               OR foliot.is_lasting(r.opening))
          AND ((r.id, r.opening, r.reserves) IN (SELECT * FROM unnest(ids, openings, attempts))) IS TRUE
        RETURNING r.id, r.tube)
    SELECT array_agg(g.id), array_agg(DISTINCT g.tube) INTO part_ids, part_tubes FROM gone g;
    done := done || part_ids;
    tubes := tubes || part_tubes;
    EXIT WHEN cardinality(done) = cardinality(ids);
  END LOOP;
  FOREACH each_part IN ARRAY foliot.parts_of('job') LOOP
    EXIT WHEN ended = cardinality(done);
    DELETE FROM foliot.job j WHERE j.part = each_part AND j.id = ANY (done);
    GET DIAGNOSTICS count = ROW_COUNT;
    ended := ended + count;
  END LOOP;
  IF ended > 0 THEN PERFORM foliot.note_lost(tubes); END IF;
  RETURN ARRAY(SELECT (o.id IN (SELECT unnest(done)))::integer FROM unnest(ids) WITH ORDINALITY o (id, n) ORDER BY o.n);
END $$;

-- Whether this token holds the job. Locks the job's row in `job`.
CREATE OR REPLACE FUNCTION foliot.held(job_id bigint, of_opening bigint, attempt bigint, now_ns bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM foliot.job j WHERE j.id = job_id FOR UPDATE;
  RETURN EXISTS (SELECT FROM foliot.reserved r WHERE r.id = job_id AND r.opening = of_opening AND r.reserves = attempt
                   AND r.expires >= now_ns AND (foliot.is_lasting(r.opening) OR foliot.goes_on(r.session)));
END $$;

-- Whether the job's reservation belongs to another node than the one whose batch this is, because a claim that happens once was
-- sent again there (take_over()). A node that has been registered anew is the same one. Outside a batch: false.
-- Precondition: the job's row in `job` is locked. Volatile, so that it sees what was committed while the lock was awaited.
CREATE OR REPLACE FUNCTION foliot.is_of_other_node(job_id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  own bigint := nullif(current_setting('foliot.session', true), '')::bigint;
BEGIN
  RETURN EXISTS (SELECT FROM foliot.reserved r, foliot.node theirs, foliot.node ours
                 WHERE r.id = job_id AND theirs.session = r.session AND ours.session = own AND theirs.process <> ours.process);
END $$;

-- Abandons, releases, buries or touches reserved jobs; `whats` has to_abandon() and the others. An abandon is for the node whose
-- client has gone, so it is refused, as without the token, if the reservation is another node's by now. A priority of null leaves
-- the job's priority, and a history of null its history; `histories` is null if no change has one. Returns for each null if
-- its token did not hold it, for a touch the end of the reservation in ns, else change_done().
CREATE OR REPLACE FUNCTION foliot.change_held(given bigint[], whats bigint[], ids bigint[], openings bigint[],
                                              attempts bigint[], pris bigint[], ats bigint[], dues bigint[],
                                              histories bytea[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  answers bigint[] := '{}';
  one bigint;
  may_change boolean;
  p foliot.place;
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    one := NULL;
    may_change := foliot.held(ids[i], openings[i], attempts[i], times[3]);
    IF may_change AND whats[i] = foliot.to_abandon() THEN may_change := NOT foliot.is_of_other_node(ids[i]); END IF;
    IF may_change THEN
      IF whats[i] = foliot.to_touch() THEN
        UPDATE foliot.reserved r SET expires = times[3] + j.ttr * 1000000 FROM foliot.job j
        WHERE r.id = ids[i] AND j.id = ids[i] RETURNING r.expires INTO one;
      ELSE
        DELETE FROM foliot.reserved r WHERE r.id = ids[i]
        RETURNING r.id, r.tube, coalesce(pris[i], r.pri), r.due, r.delay, r.reserves, r.timeouts,
          r.releases + (whats[i] = foliot.to_release())::integer, r.buries + (whats[i] = foliot.to_bury())::integer,
          r.kicks INTO p;
        IF histories[i] IS NOT NULL THEN
          UPDATE foliot.job j SET fields = foliot.fields_of(j.fields[1], histories[i]) WHERE j.id = ids[i];
        END IF;
        IF whats[i] = foliot.to_bury() THEN
          INSERT INTO foliot.buried VALUES (p.*, nextval('foliot.burial'));
        ELSIF whats[i] = foliot.to_release() THEN
          p.due := foliot.due_of(ats[i], dues[i], times);
          p.delay := foliot.delay_of(ats[i], dues[i], times);
          PERFORM foliot.settle(p, times[1]);
        ELSE
          INSERT INTO foliot.ready VALUES (p.*);
          PERFORM foliot.note_ready(ARRAY[p.tube]);
        END IF;
        one := foliot.change_done();
      END IF;
    END IF;
    answers := answers || one;
  END LOOP;
  RETURN answers;
END $$;

-- Changes jobs that no worker has; `whats` has to_cancel() and the others. An operation names its job by the id, or, if its
-- tube is not empty, by tube and key. Returns pairs of an answer and an id: change_done() and the others, or
-- answer_passed_over() if the job is on its way to another database.
CREATE OR REPLACE FUNCTION foliot.change_waiting(given bigint[], whats bigint[], ids bigint[], tubes bytea[],
                                                 keys bytea[], ats bigint[], dues bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  answers bigint[] := '{}';
  found_id bigint;
  lifted record;
  p foliot.place;
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    IF tubes[i] <> '' THEN
      LOOP
        SELECT j.id INTO found_id FROM foliot.job j
        WHERE j.tube = foliot.tube_id(tubes[i]) AND j.key = keys[i] AND j.part = foliot.lasting_partition() FOR UPDATE;
        -- While it waited for the lock, the job may have been replaced by another one with its key.
        EXIT WHEN FOUND OR NOT EXISTS (
          SELECT FROM foliot.job j
          WHERE j.tube = foliot.tube_id(tubes[i]) AND j.key = keys[i] AND j.part = foliot.lasting_partition());
      END LOOP;
    ELSE
      SELECT j.id INTO found_id FROM foliot.job j WHERE j.id = ids[i] FOR UPDATE;
    END IF;
    IF found_id IS NULL THEN
      answers := answers || ARRAY[foliot.change_gone(), foliot.no_id()];
      CONTINUE;
    END IF;
    lifted := foliot.lift(found_id, times[3]);
    IF lifted.state = foliot.state_reserved() THEN
      answers := answers || ARRAY[foliot.change_reserved(), found_id];
      CONTINUE;
    END IF;
    IF lifted.state = foliot.state_leaving() THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), found_id];
      CONTINUE;
    END IF;
    p := lifted.placed;
    IF whats[i] = foliot.to_cancel() THEN
      DELETE FROM foliot.job j WHERE j.id = found_id;
      PERFORM foliot.note_lost(ARRAY[p.tube]);
      answers := answers || ARRAY[foliot.change_done(), found_id];
      CONTINUE;
    END IF;
    IF whats[i] = foliot.to_reschedule() THEN
      p.due := foliot.due_of(ats[i], dues[i], times);
      p.delay := foliot.delay_of(ats[i], dues[i], times);
      PERFORM foliot.settle(p, times[1]);
    ELSE
      IF lifted.state <> foliot.state_ready() THEN
        p.due := times[1];
        IF whats[i] = foliot.to_kick() THEN p.kicks := p.kicks + 1; END IF;
      END IF;
      INSERT INTO foliot.ready VALUES (p.*);
      PERFORM foliot.note_ready(ARRAY[p.tube]);
    END IF;
    answers := answers || ARRAY[CASE WHEN whats[i] = foliot.to_kick() AND lifted.state = foliot.state_ready()
                                     THEN foliot.change_refused() ELSE foliot.change_done() END, found_id];
  END LOOP;
  RETURN answers;
END $$;
