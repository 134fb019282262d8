-- Functions for applications, which put and change jobs in their own transactions.
--
-- The functions that docs/serve/sql.md describes are stable: put(), put_schedule(), put_policy(), cancel(), cancel_by_key(), reschedule(),
-- reschedule_by_key(), tell() and due() (due.sql) keep their names, parameters and answers in later versions. The others are
-- their steps.
--
-- Called by: applications. They run with the rights of the schema's owner, so a role needs no right to a table, but must
-- have been granted each function that it calls. Locks: those of a change of a waiting job (tables.sql), until the
-- application's transaction ends, which may be long. So these functions leave no lock on a job that a worker has, because
-- its worker could not finish it; and nodes pass over jobs that are locked for long (patient.sql).
--
-- `jit = off`: with `enable_seqscan = off` a read of a table without an index seems to cost very much, so each call that has
-- one would be compiled, for some 20 ms.

-- Fails with this message about a wrong argument.
CREATE OR REPLACE FUNCTION foliot.refuse(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'foliot: %', what USING ERRCODE = 'invalid_parameter_value';
END $$;

-- As much of a wrong text as a message shows: it may be what a user of the application has sent.
CREATE OR REPLACE FUNCTION foliot.shown_start(wrong text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN length(wrong) <= 80 THEN wrong ELSE left(wrong, 80) || '... (' || length(wrong) || ' characters)' END
$$;

-- The time of a call, in the form of time_of(). It is the present time, because the transaction may be old. The clock of
-- reservations is 0, so no reservation is over: only nodes end reservations.
CREATE OR REPLACE FUNCTION foliot.time_of_call() RETURNS bigint[] LANGUAGE sql VOLATILE AS $$
  SELECT ARRAY[floor(t.ms), ceil(t.ms), 0]::bigint[] FROM (SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms) t
$$;

-- The bytes of a valid name of a tube; fails for others. STABLE, so that the planner can use it with an index.
CREATE OR REPLACE FUNCTION foliot.checked_tube(name text) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF name IS NULL OR name !~ '^[A-Za-z0-9+/;.$_()][-A-Za-z0-9+/;.$_()]{0,199}$' THEN
    PERFORM foliot.refuse(format('the name of a tube must have 1 to 200 letters, digits or -+/;.$_(), and not begin with '
                                 'a -; got %s', coalesce(foliot.shown_start(quote_literal(name)), 'NULL')));
  END IF;
  RETURN convert_to(name, 'UTF8');
END $$;
-- The bytes of a valid key; fails for others. Clients of nodes must be able to name the key, too: there a command has `=`
-- and the key as a word, and `-` means no key.
CREATE OR REPLACE FUNCTION foliot.checked_key(key text) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF key !~ '^[\x21-\x7e]{1,128}$' OR key = '-' THEN
    PERFORM foliot.refuse(format('a key must have 1 to 128 visible ASCII characters, without a space, and not be - alone; '
                                 'got %s of them: %s', length(key), foliot.shown_start(to_json(key)::text)));
  END IF;
  RETURN convert_to(key, 'UTF8');
END $$;

-- A length of time in ms, rounded up.
CREATE OR REPLACE FUNCTION foliot.checked_length(what text, length interval, shortest bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  ms numeric := ceil(extract(epoch FROM length) * 1000);
BEGIN
  IF ms IS NULL OR ms NOT BETWEEN shortest AND 4294967295000 THEN
    PERFORM foliot.refuse(format('%s must be from %s ms to 4294967295 s; got %s', what, shortest,
                                 coalesce(length::text, 'NULL')));
  END IF;
  RETURN ms;
END $$;

-- The due time of an operation: [due_by_time(), the time in ms] or [due_by_delay(), the delay in ms].
CREATE OR REPLACE FUNCTION foliot.checked_due(delay interval, at timestamptz) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  IF at IS NULL THEN RETURN ARRAY[foliot.due_by_delay(), foliot.checked_length('delay', delay, 0)]; END IF;
  IF delay <> interval '0' THEN PERFORM foliot.refuse('a job has a delay or a time, not both'); END IF;
  IF at NOT BETWEEN '1970-01-01 00:00Z' AND '2262-01-01 00:00Z' THEN
    PERFORM foliot.refuse(format('the time of a job must be from 1970 to 2261; got %s', at));
  END IF;
  RETURN ARRAY[foliot.due_by_time(), ceil(extract(epoch FROM at) * 1000)::bigint];
END $$;

-- Locks a job and deletes the row of its state, as lift() does. `state` is state_gone() if there is no such job. A job that
-- a worker has stays as it is, and is not locked.
CREATE OR REPLACE FUNCTION foliot.take_waiting(job_id bigint, OUT state bigint, OUT placed foliot.place)
LANGUAGE plpgsql AS $$
DECLARE
  lifted record;
BEGIN
  LOOP
    state := foliot.state_reserved();
    IF EXISTS (SELECT FROM foliot.reserved r WHERE r.id = job_id) THEN RETURN; END IF;
    BEGIN
      PERFORM FROM foliot.job j WHERE j.id = job_id FOR UPDATE;
      IF NOT FOUND THEN
        IF current_setting('transaction_isolation') <> 'read committed' AND foliot.was_truncated('job') THEN
          RAISE EXCEPTION 'job % may have changed since the transaction began: try again', job_id
            USING ERRCODE = 'serialization_failure';
        END IF;
        state := foliot.state_gone();
        RETURN;
      END IF;
      lifted := foliot.lift(job_id, 0);
      IF lifted.state = foliot.state_leaving() THEN
        RAISE EXCEPTION 'job % is on its way to another database: try again', job_id USING ERRCODE = 'lock_not_available';
      END IF;
      -- A worker has just reserved it. The error ends the subtransaction, and with it the lock.
      IF lifted.state = foliot.state_reserved() THEN RAISE EXCEPTION 'reserved' USING ERRCODE = 'FL002'; END IF;
      state := lifted.state;
      placed := lifted.placed;
      RETURN;
    EXCEPTION
      WHEN SQLSTATE 'FL002' THEN RETURN;
      -- The job's row has just been moved to another partition (rotation.sql), where the next statement sees it.
      WHEN serialization_failure THEN
        IF current_setting('transaction_isolation') <> 'read committed' THEN RAISE; END IF;
    END;
  END LOOP;
END $$;

-- For a transaction that keeps one snapshot: fails with 40001 if the job has ended since that. The error at the end releases
-- the lock, for which the job's worker would wait.
CREATE OR REPLACE FUNCTION foliot.demand_present(job_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') = 'read committed' THEN RETURN; END IF;
  PERFORM FROM foliot.job j WHERE j.id = job_id FOR KEY SHARE;
  RAISE EXCEPTION 'present' USING ERRCODE = 'FL006';
EXCEPTION
  WHEN SQLSTATE 'FL006' THEN RETURN;
END $$;

-- Cancels a waiting job, or, with a due time, reschedules it. Returns false if there is no such job, or a worker has it.
-- `is_anywhere`: only its id tells in which database the job is.
CREATE OR REPLACE FUNCTION foliot.change_for_application(job_id bigint, due bigint[], is_anywhere boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  times bigint[] := foliot.time_of_call();
  taken record := foliot.take_waiting(job_id);
  p foliot.place;
BEGIN
  IF taken.state = foliot.state_gone() AND is_anywhere THEN PERFORM foliot.demand_own_job(job_id); END IF;
  IF taken.state IN (foliot.state_reserved(), foliot.state_gone()) THEN RETURN false; END IF;
  IF due IS NULL THEN
    DELETE FROM foliot.job j WHERE j.id = job_id;
    RETURN true;
  END IF;
  p := taken.placed;
  p.due := foliot.due_of(due[1], due[2], times);
  p.delay := foliot.delay_of(due[1], due[2], times);
  PERFORM foliot.settle(p, times[1]);
  RETURN true;
END $$;

-- The id of the job with this key; null if there is none.
CREATE OR REPLACE FUNCTION foliot.job_of(tube text, key text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT j.id FROM foliot.job j WHERE j.tube = foliot.tube_id(foliot.checked_tube($1)) AND j.key = foliot.checked_key($2)
    AND j.part = foliot.lasting_partition()
$$;

-- Does what change_for_application() does for the job with this key.
CREATE OR REPLACE FUNCTION foliot.change_key_for_application(tube text, key text, due bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  meant bigint;
BEGIN
  PERFORM foliot.checked_key(key);  -- job_of() does not check it if the tube is not known
  LOOP
    meant := foliot.job_of(tube, key);
    IF meant IS NULL THEN
      PERFORM foliot.demand_tube(foliot.checked_tube(tube));
      RETURN false;
    END IF;
    IF foliot.change_for_application(meant, due, false) THEN RETURN true; END IF;
    -- A worker has the job, or another one has just replaced it.
    IF meant IS NOT DISTINCT FROM foliot.job_of(tube, key) THEN RETURN false; END IF;
  END LOOP;
END $$;

-- Puts a job that is due then; `job` is its id. With a key, if the tube has a job with that key: `existing` = 'keep' keeps
-- that job and returns its id, 'replace' replaces it, 'change' gives it this body and due time, and all else of it stays, and
-- 'refuse' puts nothing. `job` is NULL if nothing was put: also where a worker has the job that was to be replaced or changed.
-- `is_new`: whether there was none with this key.
CREATE OR REPLACE FUNCTION foliot.put_for_application(
  tube_name bytea, key_bytes bytea, body bytea, due_time bigint[], priority bigint, ttr_ms bigint, existing text,
  OUT job bigint, OUT is_new boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  times bigint[] := foliot.time_of_call();
  in_tube integer;
  old bigint;
  taken record;
BEGIN
  is_new := false;
  PERFORM foliot.demand_tube(tube_name);
  PERFORM foliot.demand_new_snapshots();
  PERFORM foliot.demand_new_ids();
  PERFORM foliot.make_tubes(ARRAY[tube_name]);
  SELECT t.id INTO in_tube FROM foliot.tube t WHERE t.name = tube_name;
  IF current_setting('transaction_isolation') <> 'read committed' THEN  -- see tube_names.sql
    PERFORM FROM foliot.tube t WHERE t.id = in_tube FOR KEY SHARE;
  END IF;
  LOOP
    job := NULL;  -- not the number of a turn before, whose job another transaction's has kept out
    IF key_bytes IS NOT NULL THEN
      SELECT j.id INTO old FROM foliot.job j WHERE j.tube = in_tube AND j.key = key_bytes
        AND j.part = foliot.lasting_partition();
      IF FOUND THEN
        IF existing NOT IN ('replace', 'change') THEN
          PERFORM foliot.demand_present(old);
          job := CASE existing WHEN 'keep' THEN old END;
          RETURN;
        END IF;
        PERFORM foliot.demand_room();
        taken := foliot.take_waiting(old);
        IF taken.state = foliot.state_reserved() THEN RETURN; END IF;
        IF existing = 'change' AND taken.state <> foliot.state_gone() THEN
          UPDATE foliot.job j SET body = put_for_application.body WHERE j.id = old;
          PERFORM foliot.settle(
            ROW(old, in_tube, (taken.placed).pri, foliot.due_of(due_time[1], due_time[2], times),
                foliot.delay_of(due_time[1], due_time[2], times), (taken.placed).reserves, (taken.placed).timeouts,
                (taken.placed).releases, (taken.placed).buries, (taken.placed).kicks)::foliot.place, times[1]);
          job := old;
          RETURN;
        END IF;
        DELETE FROM foliot.job j WHERE j.id = old;
      END IF;
    END IF;
    PERFORM foliot.demand_room();
    job := nextval('foliot.job_id');
    INSERT INTO foliot.job
    VALUES (put_for_application.job, in_tube, key_bytes, times[1], ttr_ms, put_for_application.body,
            foliot.part_for_job(key_bytes, foliot.due_of(due_time[1], due_time[2], times), times[1]))
    ON CONFLICT (tube, key, part) WHERE key IS NOT NULL DO NOTHING;
    is_new := FOUND;
    EXIT WHEN is_new;  -- else another transaction has just put a job with this key
  END LOOP;
  PERFORM foliot.settle(ROW(job, in_tube, priority, foliot.due_of(due_time[1], due_time[2], times),
                            foliot.delay_of(due_time[1], due_time[2], times), 0, 0, 0, 0, 0)::foliot.place, times[1]);
END $$;

-- Puts a job; returns its id. With a key, if the tube has a job with that key: `existing` = 'keep' keeps that job and
-- returns its id, 'replace' replaces it, unless a worker has it, and 'refuse' puts nothing. NULL: nothing was put.
CREATE OR REPLACE FUNCTION foliot.put(
  tube text, body bytea, delay interval DEFAULT '0', at timestamptz DEFAULT NULL, priority bigint DEFAULT 1024,
  ttr interval DEFAULT '60 s', key text DEFAULT NULL, existing text DEFAULT 'keep') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  tube_name bytea := foliot.checked_tube(put.tube);
  key_bytes bytea := foliot.checked_key(put.key);
  due_time bigint[] := foliot.checked_due(put.delay, put.at);
  ttr_ms bigint := foliot.checked_length('ttr', put.ttr, 1);
BEGIN
  IF put.body IS NULL OR octet_length(put.body) > 16777216 THEN
    PERFORM foliot.refuse(format('a body must have at most 16777216 bytes; got %s',
                                 coalesce(octet_length(put.body)::text, 'NULL')));
  END IF;
  IF put.priority IS NULL OR put.priority NOT BETWEEN 0 AND 4294967295 THEN
    PERFORM foliot.refuse(format('a priority must be from 0 to 4294967295; got %s', coalesce(put.priority::text, 'NULL')));
  END IF;
  IF put.existing IS NULL OR put.existing NOT IN ('keep', 'replace', 'refuse') THEN
    PERFORM foliot.refuse(format('existing must be keep, replace or refuse; got %s',
                                 coalesce(foliot.shown_start(put.existing), 'NULL')));
  END IF;
  RETURN (foliot.put_for_application(tube_name, key_bytes, put.body, due_time, put.priority, ttr_ms, put.existing)).job;
END $$;

-- The same with a body of text, in UTF-8. It runs with the rights of its caller, so the role needs the other one, too.
CREATE OR REPLACE FUNCTION foliot.put(
  tube text, body text, delay interval DEFAULT '0', at timestamptz DEFAULT NULL, priority bigint DEFAULT 1024,
  ttr interval DEFAULT '60 s', key text DEFAULT NULL, existing text DEFAULT 'keep') RETURNS bigint
LANGUAGE sql AS $$
  SELECT foliot.put(tube, pg_catalog.convert_to(body, 'UTF8'), delay, at, priority, ttr, key, existing)
$$;

-- Makes a schedule of the tube, or changes the plan of the one that is there, which keeps what it has done. Returns 'made' or
-- 'changed'; NULL: a node takes a turn of it at this moment, and nothing has changed. A node follows the plan once the
-- transaction has ended, or marks the schedule as refused, with the reason.
--
-- A schedule is a job in the server's own tube `-foliot.schedules`: its key is the tube and the name, its body the plan
-- (server/schedules/schedule_record.hpp). Only what is no plan at all is refused here: the rules of plans are the server's.
CREATE OR REPLACE FUNCTION foliot.put_schedule(tube text, name text, plan jsonb) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  tube_name bytea := foliot.checked_tube(put_schedule.tube);
  body bytea;
  done record;
BEGIN
  IF put_schedule.name IS NULL OR put_schedule.name !~ '^[A-Za-z0-9+/;.$_()][-A-Za-z0-9+/;.$_()]{0,99}$' THEN
    PERFORM foliot.refuse(format('the name of a schedule must have 1 to 100 letters, digits or -+/;.$_(), and not begin with '
                                 'a -; got %s', coalesce(foliot.shown_start(quote_literal(put_schedule.name)), 'NULL')));
  END IF;
  IF length(put_schedule.tube) + length(put_schedule.name) > 199 THEN
    PERFORM foliot.refuse(format('the names of the tube and of the schedule must have at most 199 characters together; got %s',
                                 length(put_schedule.tube) + length(put_schedule.name)));
  END IF;
  IF put_schedule.plan IS NULL OR jsonb_typeof(put_schedule.plan) <> 'object' OR NOT put_schedule.plan ? 'rules' THEN
    PERFORM foliot.refuse(format('a plan must be an object with rules, such as {"rules": ["0 9 * * MON-FRI"]}; got %s',
                                 coalesce(foliot.shown_start(put_schedule.plan::text), 'NULL')));
  END IF;
  body := convert_to(put_schedule.plan::text, 'UTF8');
  IF octet_length(body) > 1048576 THEN
    PERFORM foliot.refuse(format('a plan must have at most 1048576 bytes; got %s', octet_length(body)));
  END IF;
  PERFORM foliot.demand_tube(tube_name);  -- its jobs and its record are put in one transaction
  done := foliot.put_for_application(
    convert_to('-foliot.schedules', 'UTF8'), tube_name || convert_to(':' || put_schedule.name, 'UTF8'), body,
    ARRAY[foliot.due_by_delay(), 0], 0, 30000, 'change');
  RETURN CASE WHEN done.job IS NULL THEN NULL WHEN done.is_new THEN 'made' ELSE 'changed' END;
END $$;

-- The milliseconds of a length of time in a policy, rounded up: a text such as '1h30m' (text/duration_text.hpp), or a number of
-- seconds, as the member `name`. NULL is NULL. Fails for others, and for what is not from 0 to
-- `most`.
CREATE OR REPLACE FUNCTION foliot.checked_policy_length(name text, value jsonb, most bigint) RETURNS bigint LANGUAGE plpgsql
STABLE AS $$
DECLARE
  shown text := value #>> '{}';
  ms numeric;
BEGIN
  IF value IS NULL THEN RETURN NULL; END IF;
  IF jsonb_typeof(value) = 'number' AND shown ~ '^[0-9]{1,10}$' THEN
    ms := shown::numeric * 1000;
  ELSIF jsonb_typeof(value) = 'string' AND shown ~ '^([0-9]{1,19}([.][0-9]{1,18})?(d|h|m|s|ms|us|ns))+$'
        AND length(shown) <= 200 THEN
    SELECT ceil(sum(part[1]::numeric * CASE part[2] WHEN 'd' THEN 86400000 WHEN 'h' THEN 3600000 WHEN 'm' THEN 60000
                                       WHEN 's' THEN 1000 WHEN 'ms' THEN 1 WHEN 'us' THEN 0.001 ELSE 0.000001 END))
      INTO ms FROM regexp_matches(shown, '([0-9]+(?:[.][0-9]+)?)(ms|us|ns|d|h|m|s)', 'g') part;
    IF ms = 0 AND shown <> '0s' THEN ms := NULL; END IF;
  END IF;
  IF ms IS NULL OR ms > most THEN
    PERFORM foliot.refuse(format('%s must be a length of time such as "1h30m", or a whole number of seconds, and at most %s s; '
                                 'got %s', name, most / 1000, foliot.shown_start(value::text)));
  END IF;
  RETURN ms::bigint;
END $$;

-- Fails if a member of the policy is no number from `lowest` to `most`, whole ones unless `is_fraction`. Null is none.
CREATE OR REPLACE FUNCTION foliot.check_policy_number(name text, value jsonb, lowest bigint, most bigint, is_fraction boolean)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF value IS NULL OR jsonb_typeof(value) = 'null' THEN RETURN; END IF;
  IF jsonb_typeof(value) <> 'number' OR (value #>> '{}')::numeric NOT BETWEEN lowest AND most
     OR NOT is_fraction AND value #>> '{}' !~ '^[0-9]+$' THEN
    PERFORM foliot.refuse(format('%s must be a %snumber from %s to %s; got %s', name,
                                 CASE WHEN is_fraction THEN '' ELSE 'whole ' END, lowest, most,
                                 foliot.shown_start(value::text)));
  END IF;
END $$;

-- Fails if this is no delay of a policy.
CREATE OR REPLACE FUNCTION foliot.check_policy_delay(value jsonb) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  longest constant bigint := 31536000000;  -- longest_retry_delay
  listed jsonb;
  unknown text;
  first bigint;
BEGIN
  IF jsonb_typeof(value) IN ('string', 'number') THEN
    PERFORM foliot.checked_policy_length('delay', value, longest);
    RETURN;
  END IF;
  IF jsonb_typeof(value) = 'object' THEN
    SELECT k INTO unknown FROM jsonb_object_keys(value) k WHERE k <> ALL (ARRAY['listed', 'first', 'factor', 'most', 'jitter'])
      LIMIT 1;
    IF FOUND THEN
      PERFORM foliot.refuse(format('delay has the members listed, first, factor, most, jitter; got %s',
                                   foliot.shown_start(unknown)));
    END IF;
    value := jsonb_strip_nulls(value);
    listed := value -> 'listed';
    IF listed IS NOT NULL AND value ?| ARRAY['first', 'factor', 'most'] THEN
      PERFORM foliot.refuse('listed of delay excludes first, factor and most');
    END IF;
    PERFORM foliot.check_policy_number('factor of delay', value -> 'factor', 1, 100, true);
    PERFORM foliot.check_policy_number('jitter of delay', value -> 'jitter', 0, 1, true);
    first := coalesce(foliot.checked_policy_length('first of delay', value -> 'first', longest), 0);
    IF foliot.checked_policy_length('most of delay', value -> 'most', longest) < first THEN
      PERFORM foliot.refuse('most of delay must not be shorter than first');
    END IF;
    IF listed IS NULL THEN RETURN; END IF;
  ELSE
    listed := value;
  END IF;
  IF jsonb_typeof(listed) <> 'array' OR jsonb_array_length(listed) NOT BETWEEN 1 AND 100 THEN
    PERFORM foliot.refuse(format('listed delays must be an array of 1 to 100 lengths of time such as "10s"; got %s',
                                 foliot.shown_start(listed::text)));
  END IF;
  PERFORM foliot.checked_policy_length('delay', each, longest) FROM jsonb_array_elements(listed) each;
END $$;

-- Fails if nodes would refuse this policy of the tube, an object without members that are null.
CREATE OR REPLACE FUNCTION foliot.check_policy(tube text, policy jsonb) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  bound constant bigint := 1000000;  -- greatest_policy_bound
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['tries', 'most_reserved', 'most_reserved_of_group', 'most_per_second'] LOOP
    PERFORM foliot.check_policy_number(name, policy -> name, 0, bound, false);
  END LOOP;
  PERFORM foliot.check_policy_number('burst', policy -> 'burst', 1, bound, false);
  FOREACH name IN ARRAY ARRAY['counts_releases', 'counts_timeouts'] LOOP
    IF policy ? name AND jsonb_typeof(policy -> name) <> 'boolean' THEN
      PERFORM foliot.refuse(format('%s must be true or false; got %s', name, foliot.shown_start((policy -> name)::text)));
    END IF;
  END LOOP;
  IF policy ? 'burst' AND coalesce((policy ->> 'most_per_second')::bigint, 0) = 0 THEN
    PERFORM foliot.refuse('burst needs most_per_second');
  END IF;
  IF policy ? 'delay' THEN PERFORM foliot.check_policy_delay(policy -> 'delay'); END IF;
  IF policy ? 'expires' THEN
    PERFORM foliot.checked_policy_length('expires', policy -> 'expires', 4294967295000);
  END IF;
  IF coalesce(policy ->> 'dead_letters', '') = '' THEN
    IF jsonb_typeof(policy -> 'dead_letters') = 'string' OR NOT policy ? 'dead_letters' THEN RETURN; END IF;
  END IF;
  IF jsonb_typeof(policy -> 'dead_letters') <> 'string' THEN
    PERFORM foliot.refuse(format('dead_letters must be the name of a tube; got %s',
                                 foliot.shown_start((policy -> 'dead_letters')::text)));
  END IF;
  PERFORM foliot.checked_tube(policy ->> 'dead_letters');
  IF policy ->> 'dead_letters' = tube THEN PERFORM foliot.refuse('dead_letters must be another tube than its own'); END IF;
  IF coalesce((policy ->> 'tries')::bigint, 0) = 0 THEN PERFORM foliot.refuse('dead_letters needs tries from 1 on'); END IF;
END $$;

-- Gives a tube a policy, in the place of the one that it has. Returns 'made' or 'changed'; NULL: a program that is none of
-- foliot's has reserved the record. Nodes act by it within some seconds of the end of the transaction.
--
-- A policy is a job in the server's own tube `-foliot.policies`: its key is the tube, its body the policy
-- (server/policies/policy_record.hpp), and it is due when no job is claimed any more. What a node would refuse is refused here:
-- a node that starts with a record that it cannot read acts by a part of it only. Of 10,000 policies and more no other one is
-- made; transactions at the same time may exceed that.
CREATE OR REPLACE FUNCTION foliot.put_policy(tube text, policy jsonb) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  members text[] := ARRAY['tries', 'counts_releases', 'counts_timeouts', 'delay', 'dead_letters', 'expires', 'most_reserved',
                          'most_reserved_of_group', 'most_per_second', 'burst'];
  tube_name bytea := foliot.checked_tube(put_policy.tube);
  body bytea;
  unknown text;
  done record;
  present bigint;
BEGIN
  IF put_policy.policy IS NULL OR jsonb_typeof(put_policy.policy) <> 'object' THEN
    PERFORM foliot.refuse(format('a policy must be an object, such as {"tries": 5, "delay": "10s"}; got %s',
                                 coalesce(foliot.shown_start(put_policy.policy::text), 'NULL')));
  END IF;
  SELECT k INTO unknown FROM jsonb_object_keys(put_policy.policy) k WHERE k <> ALL (members) LIMIT 1;
  IF FOUND THEN
    PERFORM foliot.refuse(format('a policy has the members %s; got %s', array_to_string(members, ', '),
                                 foliot.shown_start(unknown)));
  END IF;
  body := convert_to(put_policy.policy::text, 'UTF8');
  IF octet_length(body) > 16384 THEN
    PERFORM foliot.refuse(format('a policy must have at most 16384 bytes; got %s', octet_length(body)));
  END IF;
  PERFORM foliot.check_policy(put_policy.tube, jsonb_strip_nulls(put_policy.policy));
  done := foliot.put_for_application(
    convert_to('-foliot.policies', 'UTF8'), tube_name, body,
    ARRAY[foliot.due_by_time(), 9223372036854], 0, 60000, 'change');  -- jobs::latest_due()
  IF done.is_new THEN
    SELECT count(*) INTO present FROM foliot.delayed d
      WHERE d.tube = (SELECT t.id FROM foliot.tube t WHERE t.name = convert_to('-foliot.policies', 'UTF8'));
    IF present > 10000 THEN
      PERFORM foliot.refuse('10000 tubes have policies, and no more can: delete one that is not needed');
    END IF;
  END IF;
  RETURN CASE WHEN done.job IS NULL THEN NULL WHEN done.is_new THEN 'made' ELSE 'changed' END;
END $$;

-- Ends a job that no worker has. Returns false if there is no such job, or a worker has it.
CREATE OR REPLACE FUNCTION foliot.cancel(job bigint) RETURNS boolean LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
  SELECT foliot.change_for_application(job, NULL, true)
$$;
CREATE OR REPLACE FUNCTION foliot.cancel_by_key(tube text, key text) RETURNS boolean LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
  SELECT foliot.change_key_for_application(tube, key, NULL)
$$;

-- Gives a job that no worker has a new due time. Returns false if there is no such job, or a worker has it.
CREATE OR REPLACE FUNCTION foliot.reschedule(job bigint, delay interval DEFAULT '0', at timestamptz DEFAULT NULL)
RETURNS boolean LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
  SELECT foliot.change_for_application(job, foliot.checked_due(delay, at), true)
$$;
CREATE OR REPLACE FUNCTION foliot.reschedule_by_key(tube text, key text, delay interval DEFAULT '0',
                                                    at timestamptz DEFAULT NULL)
RETURNS boolean LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
  SELECT foliot.change_key_for_application(tube, key, foliot.checked_due(delay, at))
$$;

-- Tells the nodes that a tube has new jobs. Without it nodes find them themselves, which may take a second. To be called
-- after the commit: a NOTIFY in a transaction that has written delays the commits of all others.
CREATE OR REPLACE FUNCTION foliot.tell(tube text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
    RAISE EXCEPTION 'foliot.tell() must be called after the commit, in a transaction that has written nothing'
      USING ERRCODE = 'active_sql_transaction',
            DETAIL = 'It would hold up the commits of all other transactions that tell something.';
  END IF;
  PERFORM pg_notify('foliot', encode(foliot.checked_tube(tell.tube), 'hex'));
END $$;

-- By default all roles may execute a function, also roles that only read the figures.
REVOKE EXECUTE ON FUNCTION
  foliot.put(text, bytea, interval, timestamptz, bigint, interval, text, text),
  foliot.put(text, text, interval, timestamptz, bigint, interval, text, text),
  foliot.put_schedule, foliot.put_policy, foliot.cancel, foliot.cancel_by_key, foliot.reschedule, foliot.reschedule_by_key,
  foliot.tell FROM PUBLIC;
