-- The rights that the role of the connection lacks, as one text, such as "DELETE on foliot.pause; EXECUTE on foliot.rotate";
-- empty: none.
--
-- A query, and no part of the schema: a node sends it whenever it connects (sql_connection.cpp), also over a schema of another
-- version. It needs no right itself, because the catalogs are open to every role; a name like foliot.job is not, without the
-- right to use the schema. Objects that the schema does not have are left out. Locks: none.

WITH needed (kind, rights, names) AS (VALUES
  -- The one list of what a node needs: a kind of object, the rights, and the objects that need each of them.
  -- docs/serve/nodes.md grants these rights, and a test opens a node with no others.
  ('schema', 'USAGE', 'foliot'),
  ('table', 'SELECT INSERT UPDATE DELETE', 'job ready delayed reserved buried pause node heard batch once'),
  ('table', 'SELECT INSERT', 'tube'),
  ('table', 'SELECT', 'map database tube_place away leaving ready_floor'),
  ('sequence', 'USAGE SELECT', 'job_id'),
  ('sequence', 'USAGE', 'session burial'),
  ('sequence', 'SELECT', 'part_of_job part_of_ready part_of_delayed part_of_reserved part_of_batch part_of_heard '
                         'turns_until refusing_puts due_floor floor_raised'),
  ('function', 'EXECUTE', 'recognize rotate set_turns give_up_ballast raise_floors note_gone_met')),
things AS (  -- the objects of the schema, and the schema itself
  SELECT 'schema' AS kind, s.nspname AS name, s.oid FROM pg_namespace s WHERE s.nspname = 'foliot'
  UNION ALL
  SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, c.relname, c.oid
  FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
  WHERE s.nspname = 'foliot' AND c.relkind IN ('r', 'p', 'S')
  UNION ALL
  SELECT 'function', f.proname, f.oid
  FROM pg_proc f JOIN pg_namespace s ON s.oid = f.pronamespace WHERE s.nspname = 'foliot'),
lacked AS (  -- one row for each right on each object
  SELECT n.kind, t.name, a.right_, a.place
  FROM needed n
  CROSS JOIN LATERAL regexp_split_to_table(n.names, ' ') w (name)
  JOIN things t ON t.kind = n.kind AND t.name = w.name
  CROSS JOIN LATERAL regexp_split_to_table(n.rights, ' ') WITH ORDINALITY a (right_, place)
  WHERE NOT CASE n.kind WHEN 'schema' THEN has_schema_privilege(t.oid, a.right_)
                        WHEN 'table' THEN has_table_privilege(t.oid, a.right_)
                        WHEN 'sequence' THEN has_sequence_privilege(t.oid, a.right_)
                        ELSE has_function_privilege(t.oid, a.right_) END),
of_things AS (  -- one for each object
  SELECT CASE l.kind WHEN 'schema' THEN 'schema foliot' ELSE 'foliot.' || l.name END AS name,
         string_agg(l.right_, ', ' ORDER BY l.place) AS rights
  FROM lacked l GROUP BY l.kind, l.name),
together AS (  -- one for all objects on which the same rights are lacking
  SELECT o.rights || ' on ' || string_agg(o.name, ', ' ORDER BY o.name) AS line FROM of_things o GROUP BY o.rights)
SELECT coalesce(string_agg(t.line, '; ' ORDER BY t.line), '') FROM together t
