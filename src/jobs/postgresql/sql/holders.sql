-- Puts that replace the jobs which their workers hold (put::holder).
--
-- The arrays of a function have one element for each put, in the order of the batch. `ids`, `openings` and `attempts` are the
-- reservations that the puts show; they are null for a put that shows none.
--
-- Called by: batches of nodes of which a put shows a reservation.
-- Locks: those of put_keyed_if(), and the job's row in `reserved`. A batch has locked the row in `job` of each job that a
-- reservation is for at its begin (begin_batch()), as for other changes of held jobs. A finish takes these two rows in the
-- other order (changes.sql), so a put does not wait for the second one: it is passed over.

-- Compares the reservation that a put shows with the job that has its key. Null if it holds that job, whose row in `reserved` is
-- locked then; else the answer to the put: put_reserved() if another one does; put_other_version() if there is no such job, or
-- if it is not reserved, with its version; put_elsewhere(); answer_passed_over() if the job is on its way to another database, or
-- if its worker is just ending it.
CREATE OR REPLACE FUNCTION foliot.refusal_of_holder(of_tube bytea, of_key bytea, job_id bigint, of_opening bigint,
                                                    attempt bigint, now_ns bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  found_id bigint := foliot.lock_named(0, of_tube, of_key);
  version bigint;
BEGIN
  IF found_id IS NULL THEN
    RETURN ARRAY[CASE WHEN foliot.is_away(of_tube) THEN foliot.put_elsewhere() ELSE foliot.put_other_version() END,
                 foliot.no_id(), 0];
  END IF;
  IF found_id = job_id AND foliot.held(job_id, of_opening, attempt, now_ns) THEN
    PERFORM FROM foliot.reserved r WHERE r.id = job_id FOR UPDATE SKIP LOCKED;
    RETURN CASE WHEN NOT FOUND THEN ARRAY[foliot.answer_passed_over(), found_id, 0] END;
  END IF;
  version := foliot.lock_version(found_id, now_ns);
  IF version IS NULL THEN RETURN ARRAY[foliot.answer_passed_over(), found_id, 0]; END IF;
  IF EXISTS (SELECT FROM foliot.reserved r WHERE r.id = found_id AND r.expires >= now_ns) THEN
    RETURN ARRAY[foliot.put_reserved(), found_id, 0];
  END IF;
  RETURN ARRAY[foliot.put_other_version(), found_id, version];
END $$;

-- As put_keyed_if(), of whose arguments these are the first. The answer to a put that shows a reservation is put_replaced() if
-- that holds the job with the key, else that of refusal_of_holder().
CREATE OR REPLACE FUNCTION foliot.put_keyed_held(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                                 ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                                 all_fields bytea[], histories bytea[], expected bigint[], ids bigint[],
                                                 openings bigint[], attempts bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  now_ns bigint := (foliot.time_of(given))[3];
  answers bigint[] := '{}';
  made bigint[];
  ends bigint;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    ends := NULL;
    IF ids[i] IS NOT NULL THEN
      made := foliot.refusal_of_holder(tubes[i], keys[i], ids[i], openings[i], attempts[i], now_ns);
      IF made IS NOT NULL THEN
        answers := answers || made;
        CONTINUE;
      END IF;
      SELECT r.expires INTO ends FROM foliot.reserved r WHERE r.id = ids[i];
      -- Its time is over now, so it ends when lift() takes the job.
      UPDATE foliot.reserved r SET expires = now_ns - 1 WHERE r.id = ids[i];
    END IF;
    made := foliot.put_keyed_if(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i], ttrs[i:i],
                                existing[i:i], all_fields[i:i], histories[i:i], expected[i:i]);
    IF ends IS NOT NULL AND made[1] <> foliot.put_replaced() THEN  -- there is no room
      UPDATE foliot.reserved r SET expires = ends WHERE r.id = ids[i];
    END IF;
    answers := answers || made;
  END LOOP;
  RETURN answers;
END $$;

-- The puts of a put_all, as put_keyed_held(). All reservations are compared before anything is put. If one is refused, nothing is
-- put, so that the batch goes on: a worker that has lost many jobs costs no transaction for each. Then the answers up to the
-- first refusal are right, and those of puts that would have happened are put_kept(). Of the puts before the refused one each may
-- be refused for a reason of its own, so they are tried.
CREATE OR REPLACE FUNCTION foliot.put_all_held(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                               ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                               all_fields bytea[], histories bytea[], expected bigint[], ids bigint[],
                                               openings bigint[], attempts bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  now_ns bigint := (foliot.time_of(given))[3];
  puts integer := cardinality(tubes);
  refusal bigint[];
  made bigint[] := '{}';
  before integer;  -- so many puts before the refused one
BEGIN
  FOR i IN 1 .. puts LOOP
    CONTINUE WHEN ids[i] IS NULL;
    refusal := foliot.refusal_of_holder(tubes[i], keys[i], ids[i], openings[i], attempts[i], now_ns);
    before := i - 1;
    EXIT WHEN refusal[1] <> foliot.put_elsewhere();
  END LOOP;
  IF refusal IS NULL OR refusal[1] = foliot.put_elsewhere() THEN
    RETURN foliot.put_keyed_held(given, tubes, keys, bodies, pris, ats, dues, ttrs, existing, all_fields, histories, expected,
                                 ids, openings, attempts);
  END IF;
  IF before > 0 THEN
    BEGIN
      made := foliot.put_keyed_held(given, tubes[:before], keys[:before], bodies[:before], pris[:before], ats[:before],
                                    dues[:before], ttrs[:before], existing[:before], all_fields[:before],
                                    histories[:before], expected[:before], ids[:before], openings[:before],
                                    attempts[:before]);
      RAISE EXCEPTION 'a put of the put_all is refused' USING ERRCODE = 'FL009';
    EXCEPTION WHEN SQLSTATE 'FL009' THEN
      FOR i IN 1 .. before LOOP
        IF made[3 * i - 2] IN (foliot.put_inserted(), foliot.put_replaced()) THEN made[3 * i - 2] := foliot.put_kept(); END IF;
      END LOOP;
    END;
  END IF;
  RETURN made || refusal || coalesce(foliot.put_answers(foliot.put_kept(), puts - before - 1), '{}');
END $$;

-- In a batch that does not fail as a whole (patient.sql): as put_all_held(). All are passed over if one of them waits for a lock.
CREATE OR REPLACE FUNCTION foliot.put_all_held_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[],
                                                       pris bigint[], ats bigint[], dues bigint[], ttrs bigint[],
                                                       existing bigint[], all_fields bytea[], histories bytea[],
                                                       expected bigint[], ids bigint[], openings bigint[], attempts bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
BEGIN
  RETURN foliot.put_all_held(given, tubes, keys, bodies, pris, ats, dues, ttrs, existing, all_fields, histories, expected, ids,
                             openings, attempts);
EXCEPTION WHEN lock_not_available THEN
  RETURN foliot.put_answers(foliot.answer_passed_over(), cardinality(tubes));
WHEN insufficient_resources THEN  -- finds the put that lacks room
  RETURN foliot.put_held_or_pass(given, tubes, keys, bodies, pris, ats, dues, ttrs, existing, all_fields, histories, expected,
                                 ids, openings, attempts);
END $$;

-- In a batch that does not fail as a whole (patient.sql): as put_or_pass().
CREATE OR REPLACE FUNCTION foliot.put_held_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                                   ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                                   all_fields bytea[], histories bytea[], expected bigint[], ids bigint[],
                                                   openings bigint[], attempts bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.put_keyed_held(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i],
                                                  ttrs[i:i], existing[i:i], all_fields[i:i], histories[i:i], expected[i:i],
                                                  ids[i:i], openings[i:i], attempts[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), foliot.no_id(), 0];
      in_vain := in_vain + 1;
    WHEN insufficient_resources THEN
      answers := answers || ARRAY[foliot.answer_no_room(), foliot.no_id(), 0];
    END;
  END LOOP;
  RETURN answers;
END $$;
