-- Operations on whole tubes, looks at jobs, and the check of all jobs.
--
-- Functions: kick(), clear_tube(), pause(), show(), show_first(), check_jobs(), and tube_id() and lock_some() for other
-- files. Called by: batches of nodes; `foliot serve --check` (check_jobs()). Locks, until the batch ends: kicks and
-- clearings have lock_of_tube(), then rows of jobs in their states and in `job`, with SKIP LOCKED. Looks lock nothing.

-- The id of the tube with this name; null if there is none.
CREATE OR REPLACE FUNCTION foliot.tube_id(of_name bytea) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT t.id FROM foliot.tube t WHERE t.name = of_name
$$;

-- Locks the rows in `job` of those of these jobs that no other transaction has locked. Returns their ids.
CREATE OR REPLACE FUNCTION foliot.lock_some(ids bigint[]) RETURNS bigint[] LANGUAGE sql AS $$
  SELECT ARRAY(SELECT j.id FROM foliot.job j WHERE j.id = ANY (ids) ORDER BY j.id FOR UPDATE SKIP LOCKED)
$$;

-- Kicks and clearings of one tube take turns: each sees the jobs that the one before it has left. Without that, two at once
-- would share the jobs, so that each moves fewer than it was asked for, and a kick that finds all buried jobs locked would
-- not look for delayed ones. The turn lasts until the transaction ends. A call waits for it no longer than for any lock
-- (lock_timeout), and a transaction times out once: then it goes on without turns, passes over jobs that the other one has
-- locked, and cannot deadlock.
CREATE OR REPLACE FUNCTION foliot.wait_for_tube(of_tube integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('foliot.has_waited_for_tube', true) = 'true' THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(foliot.lock_of_tube(of_tube));
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
  PERFORM set_config('foliot.has_waited_for_tube', 'true', true);
END $$;

-- Makes up to `most` jobs ready: those in the state `in_state`, delayed or buried; or, if it is null, buried ones, or
-- delayed ones if the tube has no buried one. Passes over jobs that another transaction has locked, and takes the next ones.
-- Returns how many.
CREATE OR REPLACE FUNCTION foliot.kick(given bigint[], of_name bytea, most bigint, in_state bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of(given);
  of_tube integer := foliot.tube_id(of_name);
  kicked bigint := 0;
  moved bigint;
  ids bigint[];
  is_buried boolean;
  last_seq bigint := 0;
BEGIN
  IF of_tube IS NULL THEN RETURN 0; END IF;
  PERFORM foliot.wait_for_tube(of_tube);
  is_buried := CASE WHEN in_state IS NULL THEN EXISTS (SELECT FROM foliot.buried b WHERE b.tube = of_tube)
                    ELSE in_state = foliot.state_buried() END;
  WHILE kicked < most LOOP
    IF is_buried THEN
      SELECT array_agg(s.id), max(s.seq) INTO ids, last_seq FROM (
        SELECT b.id, b.seq FROM foliot.buried b WHERE b.tube = of_tube AND b.seq > last_seq
        ORDER BY b.seq LIMIT most - kicked) s;
      EXIT WHEN ids IS NULL;
      ids := foliot.lock_some(ids);
      WITH gone AS (DELETE FROM foliot.buried b WHERE b.id = ANY (ids) RETURNING b.*)
      INSERT INTO foliot.ready
      SELECT id, tube, pri, times[1], delay, reserves, timeouts, releases, buries, kicks + 1 FROM gone;
    ELSE
      ids := ARRAY(
        SELECT l.id FROM foliot.lock_delayed(of_tube, foliot.greatest_bigint(), most - kicked, foliot.due_floor(times[1])) l
        ORDER BY l.due, l.id LIMIT most - kicked);
      EXIT WHEN cardinality(ids) = 0;
      WITH gone AS (DELETE FROM foliot.delayed d WHERE d.id = ANY (ids) RETURNING d.*)
      INSERT INTO foliot.ready
      SELECT id, tube, pri, times[1], delay, reserves, timeouts, releases, buries, kicks + 1 FROM gone;
    END IF;
    GET DIAGNOSTICS moved = ROW_COUNT;
    kicked := kicked + moved;
  END LOOP;
  IF kicked > 0 THEN
    PERFORM foliot.note_ready(ARRAY[of_tube]);
    PERFORM foliot.note_delayed();
  END IF;
  RETURN kicked;
END $$;

-- Ends up to `most` jobs that no worker has: ready ones, then delayed ones, then buried ones. Passes over jobs that
-- another transaction has locked, and takes the next ones. Returns how many.
--
-- A search begins behind the last job that the search before it has found: (last_place, last_id), in the order of the jobs'
-- state. So jobs that others hold are met once. A search that finds only held jobs makes the next one look further, by at
-- most 1,000 jobs: their rows stay locked until the transaction ends, and claims pass over them meanwhile.
CREATE OR REPLACE FUNCTION foliot.clear_tube(of_name bytea, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  of_tube integer := foliot.tube_id(of_name);
  cleared bigint := 0;
  in_state bigint := foliot.state_ready();
  last_place bigint := foliot.least_bigint();  -- a priority, a due time or the number of a burial
  last_id bigint := foliot.least_bigint();
  passed bigint := 0;  -- in this state
  wanted bigint;
  found_places bigint[];
  found_ids bigint[];
  ids bigint[];
  ended bigint[];
BEGIN
  IF of_tube IS NULL THEN RETURN 0; END IF;
  PERFORM foliot.wait_for_tube(of_tube);
  WHILE cleared < most LOOP
    wanted := most - cleared + least(passed, 1000, foliot.greatest_bigint() - (most - cleared));
    IF in_state = foliot.state_ready() THEN
      SELECT array_agg(f.pri), array_agg(f.id) INTO found_places, found_ids
      FROM (SELECT r.pri, r.id FROM foliot.lock_ready_behind(of_tube, wanted, last_place, last_id) r
            ORDER BY r.pri, r.id LIMIT wanted) f;
    ELSIF in_state = foliot.state_delayed() THEN
      SELECT array_agg(f.due), array_agg(f.id) INTO found_places, found_ids
      FROM (SELECT d.due, d.id FROM foliot.delayed d WHERE d.tube = of_tube AND (d.due, d.id) > (last_place, last_id)
            ORDER BY d.due, d.id LIMIT wanted FOR UPDATE SKIP LOCKED) f;
    ELSE
      SELECT array_agg(f.seq), array_agg(f.id) INTO found_places, found_ids
      FROM (SELECT b.seq, b.id FROM foliot.buried b WHERE b.tube = of_tube AND b.seq > last_place
            ORDER BY b.seq LIMIT wanted FOR UPDATE SKIP LOCKED) f;
    END IF;
    IF found_ids IS NOT NULL THEN
      ids := foliot.lock_some(found_ids);
      passed := passed + cardinality(found_ids) - cardinality(ids);
      ids := ids[:least(most - cleared, cardinality(ids))];
    ELSE
      ids := '{}';
    END IF;
    IF cardinality(ids) > 0 THEN
      WITH gone AS (DELETE FROM foliot.delayed d WHERE d.id = ANY (ids) RETURNING d.id)
      SELECT array_agg(gone.id) INTO ended FROM gone;
      WITH gone AS (DELETE FROM foliot.ready r WHERE r.id = ANY (ids) RETURNING r.id)
      SELECT ended || array_agg(gone.id) INTO ended FROM gone;
      WITH gone AS (DELETE FROM foliot.buried b WHERE b.id = ANY (ids) RETURNING b.id)
      SELECT ended || array_agg(gone.id) INTO ended FROM gone;
      DELETE FROM foliot.job j WHERE j.id = ANY (ended);
      cleared := cleared + coalesce(cardinality(ended), 0);
    END IF;
    IF coalesce(cardinality(found_ids), 0) = wanted THEN
      last_place := found_places[wanted];
      last_id := found_ids[wanted];
    ELSE  -- there are no more in this state
      EXIT WHEN in_state = foliot.state_buried();
      in_state := CASE in_state WHEN foliot.state_ready() THEN foliot.state_delayed() ELSE foliot.state_buried() END;
      last_place := foliot.least_bigint();
      last_id := foliot.least_bigint();
      passed := 0;
    END IF;
  END LOOP;
  IF cleared > 0 THEN
    PERFORM foliot.note_lost(ARRAY[of_tube]);
    PERFORM foliot.note_delayed();
  END IF;
  RETURN cleared;
END $$;

-- Pauses a tube for so many milliseconds; 0 ends its pause.
CREATE OR REPLACE FUNCTION foliot.pause(of_session bigint, given bigint[], of_name bytea, length bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  of_tube integer;
BEGIN
  IF length = 0 THEN
    of_tube := foliot.tube_id(of_name);
    DELETE FROM foliot.pause p WHERE p.tube = of_tube;
    IF FOUND THEN PERFORM foliot.note_ready(ARRAY[of_tube]); END IF;
    RETURN;
  END IF;
  PERFORM foliot.make_tubes(ARRAY[of_name]);
  INSERT INTO foliot.pause VALUES (foliot.tube_id(of_name), (foliot.time_of(given))[3] + length * 1000000, of_session)
  ON CONFLICT (tube) DO UPDATE SET until = excluded.until, session = excluded.session;
END $$;

-- Shows a job, by its id, or, if `of_name` is not empty, by tube and key. `state` is null if the job is on its way to
-- another database, where it may have changed. The states are numbers here, in the order of state_delayed() to
-- state_buried(): a call would become a number only after the planner has chosen how to read the branches.
CREATE OR REPLACE FUNCTION foliot.show(job_id bigint, of_name bytea, of_key bytea, with_body boolean DEFAULT true)
RETURNS TABLE (state bigint, shown foliot.shown_job) LANGUAGE sql STABLE AS $$
  SELECT s.state, ROW(j.id, t.name, j.key, CASE WHEN with_body THEN j.body ELSE '' END, s.pri, j.made, s.due, s.delay,
                      j.ttr, s.expires, s.reserves, s.timeouts, s.releases, s.buries, s.kicks, j.fields)::foliot.shown_job
  FROM foliot.job j JOIN foliot.tube t ON t.id = j.tube, LATERAL (
    SELECT 0::bigint AS state, NULL::bigint AS expires, d.id, d.tube, d.pri, d.due, d.delay, d.reserves, d.timeouts,
           d.releases, d.buries, d.kicks FROM foliot.delayed d WHERE d.id = j.id
    UNION ALL SELECT 1, NULL, r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries, r.kicks
              FROM foliot.ready r WHERE r.id = j.id
    UNION ALL SELECT 2, r.expires, r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries,
                     r.kicks FROM foliot.reserved r WHERE r.id = j.id
    UNION ALL SELECT 3, NULL, b.id, b.tube, b.pri, b.due, b.delay, b.reserves, b.timeouts, b.releases, b.buries, b.kicks
              FROM foliot.buried b WHERE b.id = j.id
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
              FROM foliot.leaving l WHERE l.id = j.id) s
  WHERE j.id = CASE WHEN of_name = '' THEN job_id
                    ELSE (SELECT k.id FROM foliot.job k WHERE k.tube = foliot.tube_id(of_name) AND k.key = of_key
                              AND k.part = foliot.lasting_partition())
             END
$$;

-- Shows the first job of a tube in this state: delayed, ready or buried.
CREATE OR REPLACE FUNCTION foliot.show_first(of_name bytea, in_state bigint)
RETURNS TABLE (state bigint, shown foliot.shown_job) LANGUAGE plpgsql AS $$
DECLARE
  of_tube integer := foliot.tube_id(of_name);
  due_floor bigint := foliot.due_floor(coalesce(nullif(current_setting('foliot.now', true), '')::bigint,
                                                (foliot.time_of(NULL))[1]));
  first_id bigint;
BEGIN
  FOR tries IN 1 .. 10 LOOP
    IF in_state = foliot.state_delayed() THEN
      SELECT e.id INTO first_id FROM (
        (SELECT d.due, d.id FROM foliot.delayed d WHERE d.tube = of_tube AND d.part = ANY (foliot.turning_partitions())
         ORDER BY d.due, d.id LIMIT 1)
        UNION ALL
        (SELECT d.due, d.id FROM foliot.delayed d
         WHERE d.tube = of_tube AND d.part = foliot.lasting_partition() AND d.due >= due_floor
         ORDER BY d.due, d.id LIMIT 1)) e ORDER BY e.due, e.id LIMIT 1;
    ELSIF in_state = foliot.state_ready() THEN
      SELECT r.id INTO first_id FROM foliot.best_ready(of_tube, 1) r;
    ELSE
      SELECT b.id INTO first_id FROM foliot.buried b WHERE b.tube = of_tube ORDER BY b.seq LIMIT 1;
    END IF;
    EXIT WHEN first_id IS NULL;
    RETURN QUERY SELECT p.* FROM foliot.show(first_id, '', '') p WHERE p.state = in_state;
    EXIT WHEN FOUND;  -- else it has just changed
  END LOOP;
END $$;

-- A sentence about an invariant that does not hold, or null. To be called in a transaction that keeps one snapshot, and has
-- locked the tables before it.
CREATE OR REPLACE FUNCTION foliot.check_jobs() RETURNS text LANGUAGE sql STABLE AS $$
  WITH places AS (
    SELECT 'delayed' AS state, id, tube, pri, reserves FROM foliot.delayed
    UNION ALL SELECT 'ready', id, tube, pri, reserves FROM foliot.ready
    UNION ALL SELECT 'reserved', id, tube, pri, reserves FROM foliot.reserved
    UNION ALL SELECT 'buried', id, tube, pri, reserves FROM foliot.buried
    UNION ALL SELECT 'leaving', id, tube, pri, reserves FROM foliot.leaving)
  SELECT * FROM (
    SELECT format('job %s has no state', j.id) FROM foliot.job j WHERE NOT EXISTS (
      SELECT FROM foliot.delayed p WHERE p.id = j.id UNION ALL SELECT FROM foliot.ready p WHERE p.id = j.id
      UNION ALL SELECT FROM foliot.reserved p WHERE p.id = j.id UNION ALL SELECT FROM foliot.buried p WHERE p.id = j.id
      UNION ALL SELECT FROM foliot.leaving p WHERE p.id = j.id)
    UNION ALL
    SELECT format('job %s is %s', p.id, string_agg(p.state, ' and ' ORDER BY p.state))
    FROM places p GROUP BY p.id HAVING count(*) > 1
    UNION ALL
    SELECT format('job %s lies before the floor of its tube', r.id)
    FROM foliot.ready r JOIN foliot.ready_floor f ON f.tube = r.tube WHERE r.part = foliot.lasting_partition()
      AND (r.pri, r.id) < (f.pri, f.id)
    UNION ALL
    SELECT format('job %s is %s, but its text is missing', p.id, p.state)
    FROM places p WHERE NOT EXISTS (SELECT FROM foliot.job j WHERE j.id = p.id)
    UNION ALL
    SELECT format('job %s is %s in another tube', p.id, p.state)
    FROM places p JOIN foliot.job j ON j.id = p.id WHERE j.tube <> p.tube
    UNION ALL
    SELECT format('job %s is in a tube that is not known', j.id)
    FROM foliot.job j WHERE NOT EXISTS (SELECT FROM foliot.tube t WHERE t.id = j.tube)
    UNION ALL
    SELECT format('job %s is reserved, but has had no reservation', p.id) FROM places p
    WHERE p.state = 'reserved' AND p.reserves < 1
    UNION ALL
    SELECT format('job %s is reserved by a session that is over', r.id) FROM foliot.reserved r
    WHERE NOT EXISTS (SELECT FROM foliot.node n WHERE n.session = r.session)
    UNION ALL
    SELECT format('job %s has an id that was not given yet', j.id) FROM foliot.job j, foliot.job_id s
    WHERE j.id > s.last_value
    UNION ALL
    SELECT format('job %s is in a tube that has moved to another database', j.id)
    FROM foliot.job j JOIN foliot.tube t ON t.id = j.tube JOIN foliot.away a ON a.tube = t.name
    WHERE a.sends_until < 'infinity'
    UNION ALL
    SELECT format('tube %s is paused, but not known', p.tube) FROM foliot.pause p
    WHERE NOT EXISTS (SELECT FROM foliot.tube t WHERE t.id = p.tube)) wrong LIMIT 1
$$;
