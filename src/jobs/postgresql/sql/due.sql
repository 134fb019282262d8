-- What is due next: delayed jobs in the order of their due times and ids, in pages.
--
-- A page is searched for a limited time, which it shares with the counts and lists of its batch (counts.sql). Then it is
-- refused: a page that lacks jobs would be wrong. The search looks at the clock after every 10 tubes.
--
-- Functions: list_due(), due(), and their step. Tables: delayed, tube. Sequence: due_floor.
-- Called by: batches of nodes (list_due()); applications and people (due(), which application.sql and docs/serve/sql.md
-- describe).
-- Locks: delayed (ACCESS SHARE) before the snapshot of the search: a partition that was truncated after the snapshot would
-- look empty.

-- The first `most` delayed jobs behind (since, after) in this order, of the tubes whose names begin with `prefix`. The arrays
-- are NULL if the time was over before all of these tubes were searched, or would be, because there are too many dead rows.
-- In the snapshot of the statement that calls this.
--
-- Where all or many tubes are meant, it first walks along the index of due times, which all tubes share, over a limited
-- number of rows: that fills the page if many of the jobs belong to it. Else it searches the tubes one by one in the index
-- of each, no further than the last job of a page that is full. The rows of the lasting partition begin at the floor
-- (due_times.sql). Where each statement has a snapshot of its own, the floor is that of the present time, because the
-- transaction may be old.
CREATE OR REPLACE FUNCTION foliot.find_due(prefix bytea, since bigint, after bigint, most bigint, until timestamptz,
                                           OUT ids bigint[], OUT tubes bytea[], OUT dues bigint[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  due_floor bigint := foliot.due_floor(coalesce(nullif(current_setting('foliot.now', true), '')::bigint,
    CASE WHEN current_setting('transaction_isolation') = 'read committed' THEN (foliot.time_of_call())[1]
         ELSE (foliot.time_of(NULL))[1] END));
  -- Where the rows of the lasting partition begin: one comparison, because the scan of an index begins at the first of two.
  far_since bigint := greatest(since, due_floor - 1);
  far_after bigint := CASE WHEN since >= due_floor THEN after ELSE foliot.greatest_bigint() END;
  many_tubes bigint := 100;
  tubes_at_once bigint := 10;
  are_many boolean := (SELECT count(*) FROM (SELECT t.name FROM foliot.tube t WHERE t.name >= prefix
                                             ORDER BY t.name LIMIT many_tubes) s
                       WHERE substring(s.name FROM 1 FOR length(prefix)) = prefix) = many_tubes;
  walk bigint := CASE WHEN prefix = '' THEN most WHEN are_many THEN greatest(most, foliot.step_of_counts() / 2) ELSE 0 END;
  walked bigint;
  last_name bytea := '';
  last_due bigint := foliot.greatest_bigint();
  are_more boolean;
  some_ids integer[];
  some_names bytea[];
BEGIN
  IF foliot.has_too_many_gone('delayed', until) THEN RETURN; END IF;
  WITH first AS MATERIALIZED (
      SELECT a.* FROM (
        (SELECT d.due, d.id, d.tube FROM foliot.delayed d
         WHERE d.part = ANY (foliot.turning_partitions()) AND (d.due, d.id) > (since, after)
         ORDER BY d.due, d.id LIMIT walk)
        UNION ALL
        (SELECT d.due, d.id, d.tube FROM foliot.delayed d
         WHERE d.part = foliot.lasting_partition() AND (d.due, d.id) > (far_since, far_after)
         ORDER BY d.due, d.id LIMIT walk)) a
      ORDER BY a.due, a.id LIMIT walk),
    page AS (
      SELECT f.due, f.id, n.name
      FROM first f, LATERAL (SELECT t.name FROM foliot.tube t WHERE t.id = f.tube OFFSET 0) n  -- a plain join reads all names
      WHERE substring(n.name FROM 1 FOR length(prefix)) = prefix
      ORDER BY f.due, f.id LIMIT most)
  SELECT (SELECT count(*) FROM first), coalesce(array_agg(p.id ORDER BY p.due, p.id), '{}'),
         coalesce(array_agg(p.name ORDER BY p.due, p.id), '{}'), coalesce(array_agg(p.due ORDER BY p.due, p.id), '{}')
  INTO walked, ids, tubes, dues FROM page p;
  IF walked < walk OR cardinality(ids) = most THEN RETURN; END IF;  -- there is no more, or the page is full
  ids := '{}';
  tubes := '{}';
  dues := '{}';
  LOOP
    SELECT coalesce(array_agg(s.id ORDER BY s.name), '{}'), coalesce(array_agg(s.name ORDER BY s.name), '{}')
    INTO some_ids, some_names
    FROM (SELECT t.id, t.name FROM foliot.tube t WHERE t.name > last_name AND t.name >= prefix
          ORDER BY t.name LIMIT tubes_at_once) s;
    SELECT ids || coalesce(array_agg(p.id), '{}'), tubes || coalesce(array_agg(p.name), '{}'),
           dues || coalesce(array_agg(p.due), '{}')
    INTO ids, tubes, dues
    FROM (
      SELECT e.due, e.id, s.name FROM unnest(some_ids, some_names) s (id, name), LATERAL (
        (SELECT d.due, d.id FROM foliot.delayed d
         WHERE d.tube = s.id AND d.part = ANY (foliot.turning_partitions()) AND (d.due, d.id) > (since, after)
           AND d.due <= last_due
         ORDER BY d.due, d.id LIMIT most)
        UNION ALL
        (SELECT d.due, d.id FROM foliot.delayed d
         WHERE d.tube = s.id AND d.part = foliot.lasting_partition() AND (d.due, d.id) > (far_since, far_after)
           AND d.due <= last_due
         ORDER BY d.due, d.id LIMIT most)) e
      WHERE substring(s.name FROM 1 FOR length(prefix)) = prefix
      ORDER BY e.due, e.id LIMIT most) p;
    last_name := some_names[cardinality(some_names)];
    are_more := cardinality(some_ids) = tubes_at_once AND substring(last_name FROM 1 FOR length(prefix)) = prefix;
    IF NOT are_more OR cardinality(ids) >= 2 * most THEN  -- keeps the soonest; to do that for each piece would take long
      SELECT coalesce(array_agg(p.id ORDER BY p.due, p.id), '{}'), coalesce(array_agg(p.name ORDER BY p.due, p.id), '{}'),
             coalesce(array_agg(p.due ORDER BY p.due, p.id), '{}')
      INTO ids, tubes, dues
      FROM (SELECT k.* FROM unnest(dues, ids, tubes) k (due, id, name) ORDER BY k.due, k.id LIMIT most) p;
      IF cardinality(dues) = most THEN last_due := dues[most]; END IF;
    END IF;
    EXIT WHEN NOT are_more;
    IF clock_timestamp() >= until THEN
      ids := NULL;
      tubes := NULL;
      dues := NULL;
      RETURN;
    END IF;
  END LOOP;
END $$;

-- The same for a node. If the counts and lists before it have used up the time of the batch, it is refused at once.
CREATE OR REPLACE FUNCTION foliot.list_due(prefix bytea, since bigint, after bigint, most bigint,
                                           OUT ids bigint[], OUT tubes bytea[], OUT dues bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  is_first boolean := coalesce(current_setting('foliot.has_counted', true), '') = '';
  until timestamptz := foliot.count_until();
BEGIN
  IF NOT is_first AND clock_timestamp() >= until THEN RETURN; END IF;
  LOCK TABLE foliot.delayed IN ACCESS SHARE MODE;  -- before the snapshot
  SELECT f.ids, f.tubes, f.dues INTO ids, tubes, dues FROM foliot.find_due(prefix, since, after, most, until) f;
  PERFORM foliot.end_count(until);
END $$;

-- For applications and people. Other kinds of joins would read whole tables.
CREATE OR REPLACE FUNCTION foliot.due(prefix text DEFAULT '', since timestamptz DEFAULT NULL, after bigint DEFAULT 0,
                                      most integer DEFAULT 100)
RETURNS TABLE (job bigint, tube text, state text, due timestamptz) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  since_ms bigint := 0;
  page record;
BEGIN
  IF prefix IS NULL OR octet_length(prefix) > 200 THEN
    PERFORM foliot.refuse(format('a prefix of names of tubes must have at most 200 bytes; got %s',
                                 coalesce(octet_length(prefix)::text, 'NULL')));
  END IF;
  IF after IS NULL OR after < 0 THEN
    PERFORM foliot.refuse(format('after must be the id of a job, or 0; got %s', coalesce(after::text, 'NULL')));
  END IF;
  IF most IS NULL OR most NOT BETWEEN 1 AND 1000 THEN
    PERFORM foliot.refuse(format('most must be from 1 to 1000; got %s', coalesce(most::text, 'NULL')));
  END IF;
  IF since IS NOT NULL THEN since_ms := (foliot.checked_due('0', since))[2]; END IF;
  LOCK TABLE foliot.delayed IN ACCESS SHARE MODE;  -- before the snapshot
  SELECT f.* INTO page
  FROM foliot.find_due(convert_to(prefix, 'UTF8'), since_ms, after, most, clock_timestamp() + foliot.patience_of_counts()) f;
  IF page.ids IS NULL THEN
    RAISE EXCEPTION 'foliot: the tubes whose names begin with % cannot all be searched in time', quote_literal(prefix)
      USING ERRCODE = 'program_limit_exceeded',
            DETAIL = 'There are too many such tubes, or too many dead rows of delayed jobs.';
  END IF;
  RETURN QUERY SELECT p.id, encode(p.name, 'escape'), 'delayed', to_timestamp(p.due / 1000.0)
  FROM unnest(page.ids, page.tubes, page.dues) WITH ORDINALITY p (id, name, due, place) ORDER BY p.place;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.due FROM PUBLIC;
