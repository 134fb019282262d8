-- The operations of a batch that has met a lock which is held for long, as by the transaction of an application: each
-- waits a short time for its locks, and is passed over if it does not get them.

-- How long an operation waits: after four that have waited in vain, the others hardly wait at all.
CREATE OR REPLACE FUNCTION foliot.wait_briefly(in_vain integer) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('lock_timeout', CASE WHEN in_vain < 4 THEN '25ms' ELSE '1ms' END, true)
$$;

-- As put_keyed(); -1 for a put that was passed over.
CREATE OR REPLACE FUNCTION foliot.put_or_pass(given bigint[], tubes bytea[], keys bytea[], bodies bytea[], pris bigint[],
                                              ats bigint[], dues bigint[], ttrs bigint[], existing bigint[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
DECLARE
  answers bigint[] := '{}';
  in_vain integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(tubes) LOOP
    PERFORM foliot.wait_briefly(in_vain);
    BEGIN
      answers := answers || foliot.put_keyed(given, tubes[i:i], keys[i:i], bodies[i:i], pris[i:i], ats[i:i], dues[i:i],
                                             ttrs[i:i], existing[i:i]);
    EXCEPTION WHEN lock_not_available THEN
      answers := answers || ARRAY[-1, 0]::bigint[];
      in_vain := in_vain + 1;
    END;
  END LOOP;
  RETURN answers;
END $$;

-- As change_waiting(); -1 for a change that was passed over.
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
      answers := answers || ARRAY[-1, 0]::bigint[];
      in_vain := in_vain + 1;
    END;
  END LOOP;
  RETURN answers;
END $$;

-- As claim_job(); one row of nulls if it was passed over.
CREATE OR REPLACE FUNCTION foliot.claim_job_or_pass(of_session bigint, of_opening bigint, given bigint[], job_id bigint)
RETURNS SETOF foliot.claimed LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
BEGIN
  RETURN QUERY SELECT * FROM foliot.claim_job(of_session, of_opening, given, job_id);
EXCEPTION WHEN lock_not_available THEN
  RETURN NEXT NULL::foliot.claimed;
END $$;

-- As pause(); returns 0, or -1 if it was passed over.
CREATE OR REPLACE FUNCTION foliot.pause_or_pass(of_session bigint, given bigint[], of_name bytea, length bigint)
RETURNS bigint LANGUAGE plpgsql SET lock_timeout = '25ms' AS $$
BEGIN
  PERFORM foliot.pause(of_session, given, of_name, length);
  RETURN 0;
EXCEPTION WHEN lock_not_available THEN
  RETURN -1;
END $$;
