-- Pages of tubes and of jobs.
--
-- A page reads a bounded number of rows, whatever is stored: what is not read then is on the next page, which begins where
-- this one says. Only dead rows can be many, at which nothing looks at the clock: then a page is refused, as counts are
-- (counts.sql).
--
-- Functions: page_of_tubes(), page_of_jobs(), and their steps. Tables: tube, job, those of the four states, pause, node.
-- Called by: batches of nodes.
-- Locks: the tables of jobs that are read (ACCESS SHARE) before the snapshot of the search: a partition that was truncated
-- after the snapshot would look empty.

-- How many tubes without jobs, or how many jobs of other tubes, are passed over for a page.
CREATE OR REPLACE FUNCTION foliot.most_searched() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 10000::bigint $$;

-- The first `most` tubes with jobs whose names begin with `prefix` and come behind `after`. `next` is the name behind which the
-- next page begins; null if this is the last page. The arrays are null if there are too many dead rows. In the snapshot of
-- the statement that calls this.
CREATE OR REPLACE FUNCTION foliot.find_tubes_behind(prefix bytea, after bytea, most bigint, until timestamptz,
                                                    OUT ids integer[], OUT names bytea[], OUT next bytea)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  -- One comparison: the scan of an index begins at the first of two. Names have at most 200 bytes.
  begins_at bytea := CASE WHEN after >= prefix THEN after || '\x00' ELSE prefix END;
  ends_at bytea := prefix || decode(repeat('ff', 201), 'hex');
  wanted bigint;
  searched bigint := 0;
  step record;
BEGIN
  IF (SELECT bool_or(foliot.has_too_many_gone(t.name, until))
      FROM unnest('{buried, delayed, reserved, ready}'::text[]) t (name)) THEN
    RETURN;
  END IF;
  ids := '{}';
  names := '{}';
  LOOP
    wanted := greatest(most - cardinality(names), 20);
    SELECT count(*) AS rows, (array_agg(s.name ORDER BY s.name DESC))[1] AS last,
           coalesce(array_agg(s.id ORDER BY s.name) FILTER (WHERE s.has_jobs), '{}') AS ids,
           coalesce(array_agg(s.name ORDER BY s.name) FILTER (WHERE s.has_jobs), '{}') AS names INTO step
    FROM (SELECT t.id, t.name, coalesce(  -- for EXISTS the planner may read whole tables
                   (SELECT true FROM foliot.ready r WHERE r.tube = t.id LIMIT 1),
                   (SELECT true FROM foliot.delayed d WHERE d.tube = t.id LIMIT 1),
                   (SELECT true FROM foliot.buried b WHERE b.tube = t.id LIMIT 1),
                   (SELECT true FROM foliot.reserved r WHERE r.tube = t.id LIMIT 1), false) AS has_jobs
          FROM (SELECT n.id, n.name FROM foliot.tube n WHERE n.name >= begins_at AND n.name < ends_at
                ORDER BY n.name LIMIT wanted) t) s;
    ids := ids || step.ids;
    names := names || step.names;
    searched := searched + step.rows;
    IF cardinality(names) >= most THEN
      ids := ids[:most];
      names := names[:most];
      next := names[most];
      RETURN;
    END IF;
    IF step.rows < wanted THEN RETURN; END IF;
    IF searched >= foliot.most_searched() OR clock_timestamp() >= until THEN
      next := step.last;
      RETURN;
    END IF;
    begins_at := step.last || '\x00';
  END LOOP;
END $$;

-- What count_jobs() says of each of these tubes, one behind the other, but of at most so many rows of each state that a page
-- of 100 tubes costs what a step of a count does in each table. In the snapshot of the statement that calls this.
CREATE OR REPLACE FUNCTION foliot.count_tubes(ids integer[]) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  share bigint := greatest(foliot.step_of_counts() / greatest(cardinality(ids), 1), 100);
BEGIN
  RETURN (
    SELECT coalesce(array_agg(v.number ORDER BY s.place, v.at), '{}')
    FROM unnest(ids) WITH ORDINALITY s (id, place), LATERAL (
      SELECT (SELECT count(*) FROM (SELECT FROM foliot.ready r WHERE r.tube = s.id AND r.pri < 1024 LIMIT share) c) AS urgent,
             (SELECT count(*) FROM (SELECT FROM foliot.ready r WHERE r.tube = s.id AND r.pri >= 1024 LIMIT share) c) AS others,
             (SELECT count(*) FROM (SELECT FROM foliot.reserved r WHERE r.tube = s.id LIMIT share) c) AS reserved,
             (SELECT count(*) FROM (SELECT FROM foliot.delayed d WHERE d.tube = s.id LIMIT share) c) AS delayed,
             (SELECT count(*) FROM (SELECT FROM foliot.buried b WHERE b.tube = s.id LIMIT share) c) AS buried,
             (SELECT p.until FROM foliot.pause p WHERE p.tube = s.id) AS until
      OFFSET 0) n, LATERAL (VALUES
      (1, n.urgent), (2, n.urgent + n.others), (3, n.reserved), (4, n.delayed), (5, n.buried), (6, n.until),
      (7, (share IN (n.urgent, n.others, n.reserved, n.delayed, n.buried))::integer)) v (at, number));
END $$;

-- A page for a node; with `has_counts` <> 0 with the counts of its tubes.
CREATE OR REPLACE FUNCTION foliot.page_of_tubes(prefix bytea, after bytea, most bigint, has_counts bigint,
                                                OUT names bytea[], OUT counts bigint[], OUT next bytea)
LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := foliot.count_until();
BEGIN
  LOCK TABLE foliot.buried, foliot.delayed, foliot.reserved, foliot.ready IN ACCESS SHARE MODE;  -- before the snapshot
  SELECT f.names, f.next, CASE WHEN has_counts <> 0 THEN foliot.count_tubes(f.ids) ELSE '{}' END INTO names, next, counts
  FROM foliot.find_tubes_behind(prefix, after, most, until) f;
  PERFORM foliot.end_count(until);
END $$;

-- The first `most` jobs in a state, or, if it is null, in any, behind (after_rank, after_id), as operations.hpp describes
-- list_jobs. `next_rank` and `next_id` are null if there are no more. In the snapshot of the statement that calls this.
CREATE OR REPLACE FUNCTION foliot.find_jobs_by_id(of_tube integer, prefixes bytea[], in_state bigint, after_id bigint,
                                                  most bigint, OUT ids bigint[], OUT next_id bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  is_of_all boolean := of_tube IS NULL AND '' = ANY (prefixes);
  walk bigint := CASE WHEN is_of_all THEN most ELSE foliot.most_searched() END;
  walked record;
BEGIN
  IF in_state IS NULL THEN
    WITH first AS MATERIALIZED (SELECT j.id, j.tube FROM foliot.job j WHERE j.id > after_id ORDER BY j.id LIMIT walk)
    SELECT count(*) AS rows, max(f.id) AS last, coalesce(array_agg(f.id ORDER BY f.id) FILTER (
             WHERE CASE WHEN is_of_all THEN true WHEN of_tube IS NOT NULL THEN f.tube = of_tube
                        ELSE (SELECT bool_or(substring(t.name FROM 1 FOR length(p.prefix)) = p.prefix)
                              FROM foliot.tube t, unnest(prefixes) p (prefix) WHERE t.id = f.tube) END), '{}') AS ids
    INTO walked FROM first f;
  ELSE
    WITH first AS MATERIALIZED (SELECT r.id, r.tube FROM foliot.reserved r WHERE r.id > after_id ORDER BY r.id LIMIT walk)
    SELECT count(*) AS rows, max(f.id) AS last, coalesce(array_agg(f.id ORDER BY f.id) FILTER (
             WHERE CASE WHEN is_of_all THEN true WHEN of_tube IS NOT NULL THEN f.tube = of_tube
                        ELSE (SELECT bool_or(substring(t.name FROM 1 FOR length(p.prefix)) = p.prefix)
                              FROM foliot.tube t, unnest(prefixes) p (prefix) WHERE t.id = f.tube) END), '{}') AS ids
    INTO walked FROM first f;
  END IF;
  ids := walked.ids[:most];
  next_id := CASE WHEN cardinality(ids) = most THEN ids[most] WHEN walked.rows = walk THEN walked.last END;
END $$;

-- The same for the jobs of a tube in one state, in its order. Rows of the lasting partitions of `delayed` and `ready` begin at
-- the floors (due_times.sql, floors.sql).
CREATE OR REPLACE FUNCTION foliot.find_jobs_in_order(of_tube integer, in_state bigint, after_rank bigint, after_id bigint,
                                                     most bigint, now_ms bigint, OUT ranks bigint[], OUT ids bigint[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  due_floor bigint;
  far_rank bigint;
  far_id bigint;
BEGIN
  IF in_state = foliot.state_delayed() THEN
    due_floor := foliot.due_floor(now_ms);
    far_rank := greatest(after_rank, due_floor - 1);
    far_id := CASE WHEN after_rank >= due_floor THEN after_id ELSE foliot.greatest_bigint() END;
    SELECT array_agg(e.due ORDER BY e.due, e.id), array_agg(e.id ORDER BY e.due, e.id) INTO ranks, ids
    FROM (
      SELECT a.due, a.id FROM (
        (SELECT d.due, d.id FROM foliot.delayed d
         WHERE d.tube = of_tube AND d.part = ANY (foliot.turning_partitions()) AND (d.due, d.id) > (after_rank, after_id)
         ORDER BY d.due, d.id LIMIT most)
        UNION ALL
        (SELECT d.due, d.id FROM foliot.delayed d
         WHERE d.tube = of_tube AND d.part = foliot.lasting_partition() AND (d.due, d.id) > (far_rank, far_id)
         ORDER BY d.due, d.id LIMIT most)) a
      ORDER BY a.due, a.id LIMIT most) e;
  ELSIF in_state = foliot.state_ready() THEN
    SELECT f.pri, f.id - 1 INTO far_rank, far_id FROM foliot.ready_floor f
    WHERE f.tube = of_tube AND (f.pri, f.id - 1) > (after_rank, after_id);
    far_rank := coalesce(far_rank, after_rank);
    far_id := coalesce(far_id, after_id);
    SELECT array_agg(e.pri ORDER BY e.pri, e.id), array_agg(e.id ORDER BY e.pri, e.id) INTO ranks, ids
    FROM (
      SELECT a.pri, a.id FROM (
        (SELECT r.pri, r.id FROM foliot.ready r
         WHERE r.tube = of_tube AND r.part <> foliot.lasting_partition() AND (r.pri, r.id) > (after_rank, after_id)
         ORDER BY r.pri, r.id LIMIT most)
        UNION ALL
        (SELECT r.pri, r.id FROM foliot.ready r
         WHERE r.tube = of_tube AND r.part = foliot.lasting_partition() AND (r.pri, r.id) > (far_rank, far_id)
         ORDER BY r.pri, r.id LIMIT most)) a
      ORDER BY a.pri, a.id LIMIT most) e;
  ELSE
    SELECT array_agg(e.seq ORDER BY e.seq), array_agg(e.id ORDER BY e.seq) INTO ranks, ids
    FROM (SELECT b.seq, b.id FROM foliot.buried b
          WHERE b.tube = of_tube AND b.seq >= after_rank AND (b.seq, b.id) > (after_rank, after_id)
          ORDER BY b.seq LIMIT most) e;
  END IF;
  ranks := coalesce(ranks, '{}');
  ids := coalesce(ids, '{}');
END $$;

-- These jobs, in this order, without their bodies and fields; then, if there are more, a row with the place behind which the
-- next page begins, and no job. A job on its way to another database is left out. In the snapshot of the statement that calls
-- this. The states are numbers, as in show().
CREATE OR REPLACE FUNCTION foliot.show_listed(ranks bigint[], ids bigint[], next_rank bigint, next_id bigint, now_ns bigint)
RETURNS TABLE (rank bigint, id bigint, state bigint, version bigint, node bytea, shown foliot.shown_job)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT u.rank, u.id, v.state, foliot.version_of(v.shown, v.state, now_ns), v.node, v.shown
  FROM unnest(ranks, ids) WITH ORDINALITY u (rank, id, at), LATERAL (
    SELECT s.state, n.name AS node,
           ROW(j.id, t.name, j.key, ''::bytea, s.pri, j.made, s.due, s.delay, j.ttr, s.expires, s.reserves, s.timeouts,
               s.releases, s.buries, s.kicks, NULL::bytea[])::foliot.shown_job AS shown
    FROM (
      SELECT 0::bigint AS state, NULL::bigint AS expires, NULL::bigint AS session, d.id, d.tube, d.pri, d.due, d.delay,
             d.reserves, d.timeouts, d.releases, d.buries, d.kicks FROM foliot.delayed d WHERE d.id = u.id
      UNION ALL SELECT 1, NULL, NULL, r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases, r.buries,
                       r.kicks FROM foliot.ready r WHERE r.id = u.id
      UNION ALL SELECT 2, r.expires, r.session, r.id, r.tube, r.pri, r.due, r.delay, r.reserves, r.timeouts, r.releases,
                       r.buries, r.kicks FROM foliot.reserved r WHERE r.id = u.id
      UNION ALL SELECT 3, NULL, NULL, b.id, b.tube, b.pri, b.due, b.delay, b.reserves, b.timeouts, b.releases, b.buries,
                       b.kicks FROM foliot.buried b WHERE b.id = u.id) s
    JOIN foliot.job j ON j.id = s.id JOIN foliot.tube t ON t.id = s.tube LEFT JOIN foliot.node n ON n.session = s.session) v
  ORDER BY u.at;
  IF next_id IS NULL THEN RETURN; END IF;
  RETURN QUERY SELECT next_rank, next_id, NULL::bigint, NULL::bigint, NULL::bytea, NULL::foliot.shown_job;
END $$;

-- A page for a node. An empty `of_name`: of all tubes whose names begin with one of the prefixes. A page that is refused
-- is one row of nulls.
CREATE OR REPLACE FUNCTION foliot.page_of_jobs(given bigint[], of_name bytea, prefixes bytea[], in_state bigint,
                                               after_rank bigint, after_id bigint, most bigint)
RETURNS TABLE (rank bigint, id bigint, state bigint, version bigint, node bytea, shown foliot.shown_job)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  times bigint[] := foliot.time_of(given);
  of_tube integer := foliot.tube_id(of_name);
  by_id boolean := coalesce(in_state = foliot.state_reserved(), true);
  until timestamptz := foliot.count_until();
  searched text := CASE in_state WHEN foliot.state_delayed() THEN 'delayed' WHEN foliot.state_ready() THEN 'ready'
                                 WHEN foliot.state_reserved() THEN 'reserved' WHEN foliot.state_buried() THEN 'buried'
                                 ELSE 'job' END;
BEGIN
  IF of_name <> '' AND of_tube IS NULL OR of_name = '' AND cardinality(prefixes) = 0 THEN RETURN; END IF;
  -- Before the snapshot.
  LOCK TABLE foliot.job, foliot.buried, foliot.delayed, foliot.reserved, foliot.ready IN ACCESS SHARE MODE;
  IF foliot.has_too_many_gone(searched, until) THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bytea, NULL::foliot.shown_job;
    RETURN;
  END IF;
  -- Found and shown by one statement, in one snapshot: what is listed as ready is shown as ready.
  IF by_id THEN
    RETURN QUERY SELECT s.*
      FROM foliot.find_jobs_by_id(of_tube, prefixes, in_state, after_id, most) f,
           LATERAL foliot.show_listed(array_fill(0::bigint, ARRAY[cardinality(f.ids)]), f.ids, 0::bigint, f.next_id, times[3]) s;
  ELSE
    RETURN QUERY SELECT s.*
      FROM foliot.find_jobs_in_order(of_tube, in_state, after_rank, after_id, most, times[1]) f,
           LATERAL foliot.show_listed(f.ranks, f.ids, f.ranks[most], f.ids[most], times[3]) s;
  END IF;
  PERFORM foliot.end_count(until);
END $$;
