-- The versions of jobs, and the operations that expect one (docs/decisions/0020-versions-of-jobs.md).
--
-- Each operation is executed by the function of the same name without `_if`, once the job has been compared under its locks.
-- The arrays of a function have one element for each operation, in the order of the batch; `expected` has 0 for one that
-- expects no version. Each answer has one number more than that of the other function: the version of the job that did not
-- have the expected one, else 0.
--
-- Called by: batches of nodes, for operations of which one expects a version; looks of nodes (version_of()).
-- Locks: the row of the job in `job`, then the job's row of its state, unless it is reserved, until the batch ends. So between
-- the comparison and the change neither a claim nor a job that becomes due moves that row, which go without the lock in `job`
-- (tables.sql). A finish takes the row of a reserved job first, and waits for the one in `job` with it (changes.sql).

-- The version of a job with this row in `state`; `expires` counts if it is reserved. A digest of what changes in a job, with
-- its id. A history is no part, because each new one comes with a release or a bury, which is counted.
CREATE OR REPLACE FUNCTION foliot.version_of(it foliot.place, state bigint, expires bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(('x' || encode(substr(sha256(
    int8send(it.id) || int8send(it.pri) || int8send(it.due) || int8send(it.delay) || int8send(it.reserves) ||
    int8send(it.timeouts) || int8send(it.releases) || int8send(it.buries) || int8send(it.kicks) ||
    CASE state WHEN foliot.state_reserved() THEN int8send(expires)
               WHEN foliot.state_buried() THEN '\x01'::bytea ELSE ''::bytea END), 1, 8), 'hex'))::bit(64)::bigint
    & foliot.greatest_bigint(), 0), 1)
$$;
-- The same for an answer of show() or show_first(), whether or not its reservation is over.
CREATE OR REPLACE FUNCTION foliot.version_of(it foliot.shown_job, state bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT foliot.version_of(ROW(it.id, 0, it.pri, it.due, it.delay, it.reserves, it.timeouts, it.releases, it.buries,
                               it.kicks)::foliot.place, state, it.expires)
$$;
-- The same for an answer of show() to a client that may name the version in a change: if the reservation is over, and its node
-- has yet to end it, the version is that of the job once it has ended, as in lock_version().
CREATE OR REPLACE FUNCTION foliot.version_of(it foliot.shown_job, state bigint, now_ns bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN state = foliot.state_reserved() AND it.expires < now_ns
              THEN foliot.version_of(ROW(it.id, 0, it.pri, it.due, it.delay, it.reserves, it.timeouts + 1, it.releases,
                                         it.buries, it.kicks)::foliot.place, foliot.state_ready(), NULL)
              ELSE foliot.version_of(it, state) END
$$;

-- Locks the row in `job` of the job that an operation names, as change_waiting() does. Returns its id; null if there is none.
CREATE OR REPLACE FUNCTION foliot.lock_named(job_id bigint, of_name bytea, of_key bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found_id bigint;
BEGIN
  IF of_name = '' THEN
    SELECT j.id INTO found_id FROM foliot.job j WHERE j.id = job_id FOR UPDATE;
    RETURN found_id;
  END IF;
  LOOP
    SELECT j.id INTO found_id FROM foliot.job j
    WHERE j.tube = foliot.tube_id(of_name) AND j.key = of_key AND j.part = foliot.lasting_partition() FOR UPDATE;
    -- While it waited for the lock, the job may have been replaced by another one with its key.
    EXIT WHEN FOUND OR NOT EXISTS (
      SELECT FROM foliot.job j
      WHERE j.tube = foliot.tube_id(of_name) AND j.key = of_key AND j.part = foliot.lasting_partition());
  END LOOP;
  RETURN found_id;
END $$;

-- Locks the job's row of its state, unless it is reserved. Returns the version of the job, as it is once its reservation has
-- ended if that is over (lift()). Null: the job is on its way to another database. Precondition: the job's row in `job` is
-- locked.
CREATE OR REPLACE FUNCTION foliot.lock_version(job_id bigint, now_ns bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  p foliot.place;
  ends bigint;
BEGIN
  SELECT d.id, d.tube, d.pri, d.due, d.delay, d.reserves, d.timeouts, d.releases, d.buries, d.kicks INTO p
  FROM foliot.delayed d WHERE d.id = job_id FOR UPDATE;
  IF FOUND THEN RETURN foliot.version_of(p, foliot.state_delayed(), NULL); END IF;
  SELECT r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries, r.kicks INTO p
  FROM foliot.ready r WHERE r.id = job_id FOR UPDATE;
  IF FOUND THEN RETURN foliot.version_of(p, foliot.state_ready(), NULL); END IF;
  SELECT b.id, b.tube, b.pri, b.due, b.delay, b.reserves, b.timeouts, b.releases, b.buries, b.kicks INTO p
  FROM foliot.buried b WHERE b.id = job_id FOR UPDATE;
  IF FOUND THEN RETURN foliot.version_of(p, foliot.state_buried(), NULL); END IF;
  SELECT r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries, r.kicks INTO p
  FROM foliot.reserved r WHERE r.id = job_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT r.expires INTO ends FROM foliot.reserved r WHERE r.id = job_id;
  IF ends >= now_ns THEN RETURN foliot.version_of(p, foliot.state_reserved(), ends); END IF;
  p.timeouts := p.timeouts + 1;
  RETURN foliot.version_of(p, foliot.state_ready(), NULL);
END $$;

CREATE OR REPLACE FUNCTION foliot.change_waiting_if(given bigint[], whats bigint[], ids bigint[], tubes bytea[],
                                                    keys bytea[], ats bigint[], dues bigint[], expected bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  answers bigint[] := '{}';
  found_id bigint;
  version bigint;
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    version := NULL;
    IF expected[i] <> 0 THEN
      found_id := foliot.lock_named(ids[i], tubes[i], keys[i]);
      version := foliot.lock_version(found_id, times[3]);
    END IF;
    IF version <> expected[i] THEN
      answers := answers || ARRAY[foliot.change_other_version(), found_id, version];
    ELSE
      answers := answers || foliot.change_waiting(given, whats[i:i], ids[i:i], tubes[i:i], keys[i:i], ats[i:i], dues[i:i])
                         || 0::bigint;
    END IF;
  END LOOP;
  RETURN answers;
END $$;

CREATE OR REPLACE FUNCTION foliot.put_keyed_if(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                               ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                               all_fields bytea[], histories bytea[], expected bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  answers bigint[] := '{}';
  found_id bigint;
  version bigint;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    version := NULL;
    IF expected[i] <> 0 THEN
      found_id := foliot.lock_named(0, tubes[i], keys[i]);
      IF found_id IS NULL THEN
        answers := answers || ARRAY[CASE WHEN foliot.is_away(tubes[i]) THEN foliot.put_elsewhere()
                                         ELSE foliot.put_other_version() END, foliot.no_id(), 0];
        CONTINUE;
      END IF;
      version := foliot.lock_version(found_id, times[3]);
    END IF;
    IF version <> expected[i] THEN
      answers := answers || ARRAY[foliot.put_other_version(), found_id, version];
    ELSE
      answers := answers || foliot.put_keyed(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i],
                                             ttrs[i:i], existing[i:i], all_fields[i:i], histories[i:i]) || 0::bigint;
    END IF;
  END LOOP;
  RETURN answers;
END $$;

-- In a batch that does not fail as a whole (patient.sql): as change_waiting_or_pass().
CREATE OR REPLACE FUNCTION foliot.change_waiting_if_or_pass(given bigint[], whats bigint[], ids bigint[], tubes bytea[],
                                                            keys bytea[], ats bigint[], dues bigint[], expected bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.change_waiting_if(given, whats[i:i], ids[i:i], tubes[i:i], keys[i:i], ats[i:i],
                                                     dues[i:i], expected[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), foliot.no_id(), 0];
      in_vain := in_vain + 1;
    WHEN insufficient_resources THEN
      answers := answers || ARRAY[foliot.answer_no_room(), ids[i], 0];
    END;
  END LOOP;
  RETURN answers;
END $$;

-- The same: as put_or_pass().
CREATE OR REPLACE FUNCTION foliot.put_if_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                                 ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                                 all_fields bytea[], histories bytea[], expected bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.put_keyed_if(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i],
                                                ttrs[i:i], existing[i:i], all_fields[i:i], histories[i:i], expected[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), foliot.no_id(), 0];
      in_vain := in_vain + 1;
    WHEN insufficient_resources THEN
      answers := answers || ARRAY[foliot.answer_no_room(), foliot.no_id(), 0];
    END;
  END LOOP;
  RETURN answers;
END $$;
