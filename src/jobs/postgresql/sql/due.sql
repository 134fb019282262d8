-- What is due next: delayed jobs in the order of their due times and ids, in pages.

-- The first `most` delayed jobs behind (since, after) in this order, of the tubes whose names begin with `prefix`. The arrays
-- are NULL if the time was over before all of these tubes were searched. In the snapshot of the statement that calls this.
--
-- Where all or many tubes are meant, it first walks along the index of due times, which all tubes share, over a limited
-- number of rows: that fills the page if many of the jobs belong to it. Else it searches the tubes one by one in the index
-- of each, no further than the last job of a page that is full. The rows of the last part begin at the floor
-- (due_times.sql).
CREATE OR REPLACE FUNCTION foliot.find_due(prefix bytea, since bigint, after bigint, most bigint, until timestamptz,
                                           OUT ids bigint[], OUT tubes bytea[], OUT dues bigint[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  due_floor bigint := foliot.due_floor(coalesce(nullif(current_setting('foliot.now', true), '')::bigint,
                                                (foliot.time_of(NULL))[1]));
  tubes_at_once bigint := 100;
  are_many boolean := (SELECT count(*) FROM (SELECT t.name FROM foliot.tube t WHERE t.name >= prefix
                                             ORDER BY t.name LIMIT tubes_at_once) s
                       WHERE substring(s.name FROM 1 FOR length(prefix)) = prefix) = tubes_at_once;
  walk bigint := CASE WHEN prefix = '' THEN most WHEN are_many THEN greatest(most, foliot.step_of_counts() / 2) ELSE 0 END;
  walked bigint;
  last_name bytea := '';
  last_due bigint := 9223372036854775807;
  some_ids integer[];
  some_names bytea[];
BEGIN
  WITH first AS MATERIALIZED (
      SELECT a.* FROM (
        (SELECT d.due, d.id, d.tube FROM foliot.delayed d WHERE d.part IN (0, 1, 2) AND (d.due, d.id) > (since, after)
         ORDER BY d.due, d.id LIMIT walk)
        UNION ALL
        (SELECT d.due, d.id, d.tube FROM foliot.delayed d
         WHERE d.part = 9 AND d.due >= due_floor AND (d.due, d.id) > (since, after)
         ORDER BY d.due, d.id LIMIT walk)) a
      ORDER BY a.due, a.id LIMIT walk),
    page AS (
      SELECT f.due, f.id, t.name FROM first f JOIN foliot.tube t ON t.id = f.tube
      WHERE substring(t.name FROM 1 FOR length(prefix)) = prefix
      ORDER BY f.due, f.id LIMIT most)
  SELECT (SELECT count(*) FROM first), array_agg(p.id ORDER BY p.due, p.id), array_agg(p.name ORDER BY p.due, p.id),
         array_agg(p.due ORDER BY p.due, p.id)
  INTO walked, ids, tubes, dues FROM page p;
  IF walked < walk OR cardinality(ids) = most THEN  -- there is no more, or the page is full
    ids := coalesce(ids, '{}');
    tubes := coalesce(tubes, '{}');
    dues := coalesce(dues, '{}');
    RETURN;
  END IF;
  ids := '{}';
  tubes := '{}';
  dues := '{}';
  LOOP
    SELECT array_agg(s.id ORDER BY s.name), array_agg(s.name ORDER BY s.name) INTO some_ids, some_names
    FROM (SELECT t.id, t.name FROM foliot.tube t WHERE t.name > last_name AND t.name >= prefix
          ORDER BY t.name LIMIT tubes_at_once) s;
    EXIT WHEN some_ids IS NULL;
    SELECT coalesce(array_agg(p.id ORDER BY p.due, p.id), '{}'), coalesce(array_agg(p.name ORDER BY p.due, p.id), '{}'),
           coalesce(array_agg(p.due ORDER BY p.due, p.id), '{}')
    INTO ids, tubes, dues
    FROM (
      SELECT u.* FROM (
        SELECT e.due, e.id, s.name FROM unnest(some_ids, some_names) s (id, name), LATERAL (
          (SELECT d.due, d.id FROM foliot.delayed d
           WHERE d.tube = s.id AND d.part IN (0, 1, 2) AND (d.due, d.id) > (since, after) AND d.due <= last_due
           ORDER BY d.due, d.id LIMIT most)
          UNION ALL
          (SELECT d.due, d.id FROM foliot.delayed d
           WHERE d.tube = s.id AND d.part = 9 AND d.due >= due_floor AND (d.due, d.id) > (since, after)
             AND d.due <= last_due
           ORDER BY d.due, d.id LIMIT most)) e
        WHERE substring(s.name FROM 1 FOR length(prefix)) = prefix
        UNION ALL
        SELECT k.due, k.id, k.name FROM unnest(dues, ids, tubes) k (due, id, name)) u
      ORDER BY u.due, u.id LIMIT most) p;
    last_name := some_names[cardinality(some_names)];
    EXIT WHEN cardinality(some_ids) < tubes_at_once OR substring(last_name FROM 1 FOR length(prefix)) <> prefix;
    IF cardinality(dues) = most THEN last_due := dues[most]; END IF;
    IF clock_timestamp() >= until THEN
      ids := NULL;
      tubes := NULL;
      dues := NULL;
      RETURN;
    END IF;
  END LOOP;
END $$;

-- The same for a node.
CREATE OR REPLACE FUNCTION foliot.list_due(prefix bytea, since bigint, after bigint, most bigint,
                                           OUT ids bigint[], OUT tubes bytea[], OUT dues bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := foliot.count_until();
BEGIN
  LOCK TABLE foliot.delayed IN ACCESS SHARE MODE;  -- before the snapshot
  SELECT f.ids, f.tubes, f.dues INTO ids, tubes, dues FROM foliot.find_due(prefix, since, after, most, until) f;
  PERFORM foliot.end_count(until);
END $$;

-- For applications and people: see application.sql, and docs/serve/sql.md.
CREATE OR REPLACE FUNCTION foliot.due(prefix text DEFAULT '', since timestamptz DEFAULT NULL, after bigint DEFAULT 0,
                                      most integer DEFAULT 100)
RETURNS TABLE (job bigint, tube text, state text, due timestamptz) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
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
    RAISE EXCEPTION 'foliot: so many tubes have names that begin with % that they were not all searched in time',
      quote_literal(prefix) USING ERRCODE = 'program_limit_exceeded';
  END IF;
  RETURN QUERY SELECT p.id, encode(p.name, 'escape'), 'delayed', to_timestamp(p.due / 1000.0)
  FROM unnest(page.ids, page.tubes, page.dues) WITH ORDINALITY p (id, name, due, place) ORDER BY p.place;
END $$;
REVOKE EXECUTE ON FUNCTION foliot.due FROM PUBLIC;
