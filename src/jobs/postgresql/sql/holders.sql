-- Puts that replace the jobs which their workers hold (put::holder).
--
-- The arrays of a function have one element for each put, in the order of the batch. `ids`, `openings` and `attempts` are the
-- reservations that the puts show; they are null for a put that shows none.
--
-- Called by: batches of nodes of which a put shows a reservation.
-- Locks: those of put_keyed_if(). A batch has locked the row in `job` of each job that a reservation is for at its begin
-- (begin_batch()), as for other changes of held jobs.

-- As put_keyed_if(), of whose arguments these are the first. The answer to a put that shows a reservation is put_replaced() if
-- that holds the job with the key; put_reserved() if another one does; put_other_version() if there is no such job, or if it
-- is not reserved, with its version.
CREATE OR REPLACE FUNCTION foliot.put_keyed_held(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                                 ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                                 all_fields bytea[], histories bytea[], expected bigint[], ids bigint[],
                                                 openings bigint[], attempts bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  now_ns bigint := (foliot.time_of(given))[3];
  answers bigint[] := '{}';
  made bigint[];
  found_id bigint;
  version bigint;
  ends bigint;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    ends := NULL;
    IF ids[i] IS NOT NULL THEN
      found_id := foliot.lock_named(0, tubes[i], keys[i]);
      IF found_id IS NULL THEN
        answers := answers || ARRAY[CASE WHEN foliot.is_away(tubes[i]) THEN foliot.put_elsewhere()
                                         ELSE foliot.put_other_version() END, foliot.no_id(), 0];
        CONTINUE;
      END IF;
      version := foliot.lock_version(found_id, now_ns);
      SELECT r.expires INTO ends FROM foliot.reserved r WHERE r.id = found_id AND r.expires >= now_ns;
      IF found_id <> ids[i] OR NOT foliot.held(found_id, openings[i], attempts[i], now_ns) THEN
        answers := answers || CASE WHEN version IS NULL THEN ARRAY[foliot.answer_passed_over(), found_id, 0]
                                   WHEN ends IS NULL THEN ARRAY[foliot.put_other_version(), found_id, version]
                                   ELSE ARRAY[foliot.put_reserved(), found_id, 0] END;
        CONTINUE;
      END IF;
      -- Its time is over now, so it ends when lift() takes the job.
      UPDATE foliot.reserved r SET expires = now_ns - 1 WHERE r.id = found_id;
    END IF;
    made := foliot.put_keyed_if(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i], ttrs[i:i],
                                existing[i:i], all_fields[i:i], histories[i:i], expected[i:i]);
    IF ends IS NOT NULL AND made[1] <> foliot.put_replaced() THEN  -- there is no room
      UPDATE foliot.reserved r SET expires = ends WHERE r.id = found_id;
    END IF;
    answers := answers || made;
  END LOOP;
  RETURN answers;
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
