-- Functions that programs of version 1 of the schema call, and later ones do not. The first version of the schema that
-- does not admit programs of version 1 leaves them out.
--
-- A connection that has prepared a statement refuses to execute it once its result has other columns. So a function whose
-- answer has grown has a new name, and the old one answers as before: nodes of version 1 see no fields. They lose none,
-- because fields and histories are in `job`, and stay there whatever a node does with the job.
--
-- A program of version 1 that moves a tube to another database would leave the fields behind, so its move is refused:
-- send_piece() does it before jobs are on their way, and sent_piece() where a newer program has sent them.
--
-- Called by: nodes and `foliot map` of version 1. Locks: those of the functions that they call.

-- A row of the answers.
DO $$ BEGIN
  IF to_regtype('foliot.claimed') IS NULL THEN
    CREATE TYPE foliot.claimed AS (
      id bigint, tube bytea, key bytea, body bytea, pri bigint, made bigint, due bigint, delay bigint, ttr bigint,
      expires bigint, reserves bigint, timeouts bigint, releases bigint, buries bigint, kicks bigint);
  END IF;
END $$;
CREATE OR REPLACE FUNCTION foliot.without_fields(it foliot.shown_job) RETURNS foliot.claimed LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(it.id, it.tube, it.key, it.body, it.pri, it.made, it.due, it.delay, it.ttr, it.expires, it.reserves,
             it.timeouts, it.releases, it.buries, it.kicks)::foliot.claimed
$$;

-- As claim_best().
CREATE OR REPLACE FUNCTION foliot.claim(of_session bigint, of_opening bigint, given bigint[], names bytea[], most bigint,
                                        bytes bigint) RETURNS SETOF foliot.claimed LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT (foliot.without_fields(c)).* FROM foliot.claim_best(of_session, of_opening, given, names, most, bytes) c;
END $$;

-- As claim_best_or_pass().
CREATE OR REPLACE FUNCTION foliot.claim_or_pass(of_session bigint, of_opening bigint, given bigint[], names bytea[],
                                                most bigint, bytes bigint)
RETURNS SETOF foliot.claimed LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT (foliot.without_fields(c)).*
  FROM foliot.claim_best_or_pass(of_session, of_opening, given, names, most, bytes) c;
END $$;

-- As claim_named().
CREATE OR REPLACE FUNCTION foliot.claim_job(of_session bigint, of_opening bigint, given bigint[], job_id bigint)
RETURNS SETOF foliot.claimed LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT (foliot.without_fields(c)).* FROM foliot.claim_named(of_session, of_opening, given, job_id) c;
END $$;

-- As claim_named_or_pass().
CREATE OR REPLACE FUNCTION foliot.claim_job_or_pass(of_session bigint, of_opening bigint, given bigint[], job_id bigint)
RETURNS SETOF foliot.claimed LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT (foliot.without_fields(c)).* FROM foliot.claim_named_or_pass(of_session, of_opening, given, job_id) c;
END $$;

-- As show().
CREATE OR REPLACE FUNCTION foliot.peek(job_id bigint, of_name bytea, of_key bytea, with_body boolean DEFAULT true)
RETURNS TABLE (state bigint, shown foliot.claimed) LANGUAGE sql STABLE AS $$
  SELECT s.state, foliot.without_fields(s.shown) FROM foliot.show(job_id, of_name, of_key, with_body) s
$$;

-- As show_first().
CREATE OR REPLACE FUNCTION foliot.peek_first(of_name bytea, in_state bigint)
RETURNS TABLE (state bigint, shown foliot.claimed) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT s.state, foliot.without_fields(s.shown) FROM foliot.show_first(of_name, in_state) s;
END $$;

-- As sent_jobs(); fails with FL003 if one of them has fields.
CREATE OR REPLACE FUNCTION foliot.sent_piece() RETURNS TABLE (tube bytea, key bytea, body bytea, numbers bigint[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM foliot.refuse_fields(ARRAY(SELECT l.id FROM foliot.leaving l));
  RETURN QUERY SELECT s.tube, s.key, s.body, s.numbers FROM foliot.sent_jobs() s;
END $$;
