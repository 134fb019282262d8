-- The operations of a batch that does not fail as a whole.
--
-- A batch that has met a lock which is held for long, as by the transaction of an application, is executed again with the
-- functions of this file: each operation waits a short time for its locks, and is passed over if it does not get them. The
-- same functions execute a batch for which the database has no room, as on a full disk: each operation is refused if it
-- needs room. Operations that only delete rows need none.
--
-- Each function is named after the one that it calls, with `_or_pass`.
-- Called by: batches of nodes (batch_frame::passes_over and lacks_room), begin_batch(), end_batch().
-- Locks: those of the functions that they call. An exception ends a subtransaction, and with it the locks that it took.

-- For how long the next operation waits for a lock: 25 ms, or 1 ms after four operations that have timed out.
CREATE OR REPLACE FUNCTION foliot.wait_briefly(in_vain integer) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('lock_timeout', CASE WHEN in_vain < 4 THEN '25ms' ELSE '1ms' END, true)
$$;

-- As put_keyed(); answer_passed_over() for a put that was passed over, answer_no_room() for one without room.
CREATE OR REPLACE FUNCTION foliot.put_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                              ats bigint[], dues bigint[], ttrs bigint[], existing bigint[],
                                              all_fields bytea[] DEFAULT NULL, histories bytea[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.put_keyed(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i],
                                             ttrs[i:i], existing[i:i], all_fields[i:i], histories[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), foliot.no_id()];
      in_vain := in_vain + 1;
    WHEN insufficient_resources THEN
      answers := answers || ARRAY[foliot.answer_no_room(), foliot.no_id()];
    END;
  END LOOP;
  RETURN answers;
END $$;

-- As change_waiting(); answer_passed_over() for a change that was passed over, answer_no_room() for one without room.
CREATE OR REPLACE FUNCTION foliot.change_waiting_or_pass(given bigint[], whats bigint[], ids bigint[], tubes bytea[],
                                                         keys bytea[], ats bigint[], dues bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.change_waiting(given, whats[i:i], ids[i:i], tubes[i:i], keys[i:i], ats[i:i], dues[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[foliot.answer_passed_over(), foliot.no_id()];
      in_vain := in_vain + 1;
    WHEN insufficient_resources THEN
      answers := answers || ARRAY[foliot.answer_no_room(), ids[i]];
    END;
  END LOOP;
  RETURN answers;
END $$;

-- As claim_named(); one row of nulls if it was passed over; the priority in that row is answer_no_room() if there was no room.
CREATE OR REPLACE FUNCTION foliot.claim_named_or_pass(of_session bigint, of_opening bigint, given bigint[], job_id bigint)
RETURNS SETOF foliot.shown_job LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  none foliot.shown_job;
BEGIN
  RETURN QUERY SELECT * FROM foliot.claim_named(of_session, of_opening, given, job_id);
EXCEPTION WHEN lock_not_available THEN
  RETURN NEXT none;
WHEN insufficient_resources THEN
  none.pri := foliot.answer_no_room();
  RETURN NEXT none;
END $$;

-- As pause(); returns 0, answer_passed_over() or answer_no_room().
CREATE OR REPLACE FUNCTION foliot.pause_or_pass(of_session bigint, given bigint[], of_name bytea, length bigint)
RETURNS bigint LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
BEGIN
  PERFORM foliot.pause(of_session, given, of_name, length);
  RETURN 0;
EXCEPTION WHEN lock_not_available THEN
  RETURN foliot.answer_passed_over();
WHEN insufficient_resources THEN
  RETURN foliot.answer_no_room();
END $$;

-- The numbers of jobs that a step tries to move, which moves up to `most`: if there is no room for all, there may be for
-- some.
CREATE OR REPLACE FUNCTION foliot.attempts_with(most bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT DISTINCT least(most, n) FROM unnest(ARRAY[1, 32, foliot.greatest_bigint()]) n ORDER BY 1 DESC)
$$;

-- As claim_best(); fewer jobs, or none, if there was no room.
CREATE OR REPLACE FUNCTION foliot.claim_best_or_pass(of_session bigint, of_opening bigint, given bigint[], names bytea[],
                                                     most bigint, bytes bigint)
RETURNS SETOF foliot.shown_job LANGUAGE plpgsql AS $$
DECLARE
  fewer bigint;
BEGIN
  FOREACH fewer IN ARRAY foliot.attempts_with(most) LOOP
    BEGIN
      RETURN QUERY SELECT * FROM foliot.claim_best(of_session, of_opening, given, names, fewer, bytes);
      RETURN;
    EXCEPTION WHEN insufficient_resources THEN
      NULL;
    END;
  END LOOP;
END $$;

-- As change_held(); answer_no_room() for a change without room.
CREATE OR REPLACE FUNCTION foliot.change_held_or_pass(given bigint[], whats bigint[], ids bigint[], openings bigint[],
                                                      attempts bigint[], pris bigint[], ats bigint[], dues bigint[],
                                                      histories bytea[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  answers bigint[] := '{}';
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    BEGIN
      answers := answers || foliot.change_held(given, whats[i:i], ids[i:i], openings[i:i], attempts[i:i], pris[i:i],
                                               ats[i:i], dues[i:i], histories[i:i]);
    EXCEPTION WHEN insufficient_resources THEN
      answers := answers || foliot.answer_no_room();
    END;
  END LOOP;
  RETURN answers;
END $$;

-- As kick(); answer_no_room() if there was no room.
CREATE OR REPLACE FUNCTION foliot.kick_or_pass(given bigint[], of_name bytea, most bigint, in_state bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  RETURN foliot.kick(given, of_name, most, in_state);
EXCEPTION WHEN insufficient_resources THEN
  RETURN foliot.answer_no_room();
END $$;

-- As end_over(), for as many reservations as there is room for, and without those that meet a damaged row or the like, which
-- it finds by dividing the list. Reservations that it leaves keep their rows, and their tokens are not valid.
CREATE OR REPLACE FUNCTION foliot.end_over_or_pass(ids bigint[], openings bigint[], attempts bigint[], now_ns bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  half integer := cardinality(ids) / 2;
  fewer bigint;
BEGIN
  FOREACH fewer IN ARRAY foliot.attempts_with(cardinality(ids)) LOOP
    BEGIN
      PERFORM foliot.end_over(ids[:fewer], openings[:fewer], attempts[:fewer], now_ns);
      RETURN;
    EXCEPTION WHEN insufficient_resources THEN
      NULL;
    WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
         OR program_limit_exceeded THEN
      IF half = 0 THEN RETURN; END IF;
      EXIT;
    END;
    IF fewer = 1 THEN RETURN; END IF;
  END LOOP;
  PERFORM foliot.end_over_or_pass(ids[:half], openings[:half], attempts[:half], now_ns);
  PERFORM foliot.end_over_or_pass(ids[half + 1:], openings[half + 1:], attempts[half + 1:], now_ns);
END $$;

-- As end_pauses(), without pauses that meet a damaged row or the like.
CREATE OR REPLACE FUNCTION foliot.end_pauses_or_pass(now_ns bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  each_tube integer;
BEGIN
  FOR each_tube IN SELECT p.tube FROM foliot.pause p WHERE p.until <= now_ns ORDER BY p.until
                   LIMIT foliot.most_at_once() FOR UPDATE SKIP LOCKED LOOP
    BEGIN
      PERFORM foliot.end_pauses(now_ns, each_tube);
    EXCEPTION WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
                OR program_limit_exceeded THEN
      NULL;
    END;
  END LOOP;
END $$;

-- Makes these due jobs ready, which the caller has locked, without those that meet a damaged row or the like.
CREATE OR REPLACE FUNCTION foliot.make_ready_or_pass(now_ms bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  half integer := cardinality(ids) / 2;
BEGIN
  BEGIN
    PERFORM foliot.make_due_ready(now_ms, 0, ids);
    RETURN;
  EXCEPTION WHEN insufficient_resources THEN
    RETURN;
  WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
       OR program_limit_exceeded THEN
    IF half = 0 THEN RETURN; END IF;
  END;
  PERFORM foliot.make_ready_or_pass(now_ms, ids[:half]);
  PERFORM foliot.make_ready_or_pass(now_ms, ids[half + 1:]);
END $$;

-- As make_due_ready(), without such jobs, and for as many as there is room for: the others stay delayed.
CREATE OR REPLACE FUNCTION foliot.make_due_ready_or_pass(now_ms bigint, most bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  fewer bigint;
  due_ids bigint[];
BEGIN
  FOREACH fewer IN ARRAY foliot.attempts_with(most) LOOP
    BEGIN
      PERFORM foliot.make_due_ready(now_ms, fewer);
      RETURN;
    EXCEPTION WHEN insufficient_resources THEN
      NULL;
    WHEN internal_error OR data_exception OR integrity_constraint_violation OR plpgsql_error OR system_error
         OR program_limit_exceeded THEN
      BEGIN
        SELECT l.ids INTO due_ids FROM foliot.lock_due(now_ms, fewer) l;
      EXCEPTION WHEN internal_error OR data_exception OR system_error THEN
        due_ids := '{}';  -- the row cannot even be locked
      END;
      EXIT;
    END;
  END LOOP;
  IF cardinality(due_ids) > 0 THEN PERFORM foliot.make_ready_or_pass(now_ms, due_ids); END IF;
  PERFORM foliot.note_delayed();
END $$;

-- As leave_number(); no_partition() if there was no room.
CREATE OR REPLACE FUNCTION foliot.leave_number_or_pass(of_session bigint, number bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  RETURN foliot.leave_number(of_session, number);
EXCEPTION WHEN insufficient_resources THEN
  RETURN foliot.no_partition();
END $$;
