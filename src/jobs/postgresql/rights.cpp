#include "rights.hpp"

#include "database_connection.hpp"

namespace foliot::jobs::detail {

namespace {

/// Returns one text with the rights that are missing. Each row of `needed` has a kind of object, the rights that a node
/// needs on such objects, and their names in the schema foliot.
constexpr const char* look =
    "WITH needed (kind, rights, names) AS (VALUES "
    "('schema', 'USAGE', 'foliot'), "
    "('table', 'SELECT INSERT UPDATE DELETE', 'job ready delayed reserved buried pause node heard batch'), "
    "('table', 'SELECT INSERT', 'tube'), "
    "('table', 'SELECT', 'map database tube_place away leaving ready_floor'), "
    "('sequence', 'USAGE SELECT', 'job_id'), "
    "('sequence', 'USAGE', 'session burial'), "
    "('sequence', 'SELECT', 'part_of_job part_of_ready part_of_delayed part_of_reserved part_of_batch part_of_heard "
    "turns_until refusing_puts due_floor floor_raised'), "
    "('function', 'EXECUTE', 'recognize rotate set_turns give_up_ballast raise_floors note_gone_met')), "
    // The catalogs are open to every role; a name like foliot.job is not, without the right to use the schema.
    "things AS ("
    "SELECT 'schema' AS kind, s.nspname AS name, s.oid FROM pg_namespace s WHERE s.nspname = 'foliot' "
    "UNION ALL SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, c.relname, c.oid "
    "FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace "
    "WHERE s.nspname = 'foliot' AND c.relkind IN ('r', 'p', 'S') "
    "UNION ALL SELECT 'function', f.proname, f.oid "
    "FROM pg_proc f JOIN pg_namespace s ON s.oid = f.pronamespace WHERE s.nspname = 'foliot'), "
    "lacked AS ("
    "SELECT n.kind, t.name, a.right_, a.place "
    "FROM needed n CROSS JOIN LATERAL regexp_split_to_table(n.names, ' ') w (name) "
    "JOIN things t ON t.kind = n.kind AND t.name = w.name "
    "CROSS JOIN LATERAL regexp_split_to_table(n.rights, ' ') WITH ORDINALITY a (right_, place) "
    "WHERE NOT CASE n.kind WHEN 'schema' THEN has_schema_privilege(t.oid, a.right_) "
    "WHEN 'table' THEN has_table_privilege(t.oid, a.right_) "
    "WHEN 'sequence' THEN has_sequence_privilege(t.oid, a.right_) "
    "ELSE has_function_privilege(t.oid, a.right_) END), "
    "of_things AS ("
    "SELECT CASE l.kind WHEN 'schema' THEN 'schema foliot' ELSE 'foliot.' || l.name END AS name, "
    "string_agg(l.right_, ', ' ORDER BY l.place) AS rights FROM lacked l GROUP BY l.kind, l.name), "
    "together AS (SELECT o.rights || ' on ' || string_agg(o.name, ', ' ORDER BY o.name) AS line "
    "FROM of_things o GROUP BY o.rights) "
    "SELECT coalesce(string_agg(t.line, '; ' ORDER BY t.line), '') FROM together t";

}  // namespace

std::string missing_rights(database_connection& over, instant deadline) {
  return std::string(over.execute_text(look, deadline).bytes(0, 0));
}

}  // namespace foliot::jobs::detail
