// The statements by which the store calls the SQL functions of sql/*.sql. A connection prepares each under its name at
// the first use (database_connection.hpp). Numbers and truth values are cast to bigint: replies are read in binary
// (call.hpp), which has one form for each type.
//
// The functions keep their names, because nodes of an earlier version call them: foliot.close_session() ends a
// registration, foliot.beat() is a heartbeat.
#pragma once

#include "call.hpp"

namespace foliot::jobs::detail::statements {

// A node and its registration.
inline constexpr sql_statement admit{"admit", "SELECT 0::bigint FROM foliot.admit($1)"};
inline constexpr sql_statement announce{"announce", "SELECT foliot.announce($1, $2, $3, $4, $5)"};
inline constexpr sql_statement close_registration{"close_registration",
                                                  "SELECT foliot.close_session($1)::integer::bigint"};
inline constexpr sql_statement heartbeat{"heartbeat", "SELECT foliot.beat($1, $2, $3, $4)::integer::bigint"};
inline constexpr sql_statement rotate{"rotate", "SELECT foliot.rotate()::bigint"};
inline constexpr sql_statement give_up_ballast{"give_up_ballast", "SELECT foliot.give_up_ballast()::integer::bigint"};
inline constexpr sql_statement reservations_of{"reservations_of", "SELECT * FROM foliot.reservations_of($1, $2)"};
// A batch, and the operations in it.
inline constexpr sql_statement begin_batch{"begin_batch",
                                           "SELECT * FROM foliot.begin_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
inline constexpr sql_statement end_batch{"end_batch", "SELECT * FROM foliot.end_batch($1, $2, $3, $4)"};
inline constexpr sql_statement has_happened{"has_happened", "SELECT foliot.has_happened($1, $2, $3)::integer::bigint"};
inline constexpr sql_statement put_plain{"put_plain", "SELECT foliot.put_plain($1, $2, $3, $4, $5, $6, $7)"};
inline constexpr sql_statement put_keyed{"put_keyed", "SELECT foliot.put_keyed($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement make_tubes_before{"make_tubes_before",
                                                 "SELECT 0::bigint FROM foliot.make_tubes_before($1)"};
inline constexpr sql_statement claim_best{"claim_best", "SELECT * FROM foliot.claim_best($1, $2, $3, $4, $5, $6)"};
inline constexpr sql_statement claim_named{"claim_named", "SELECT * FROM foliot.claim_named($1, $2, $3, $4)"};
inline constexpr sql_statement finish{"finish", "SELECT foliot.finish($1, $2, $3, $4)"};
inline constexpr sql_statement change_held{"change_held", "SELECT foliot.change_held($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr sql_statement change_waiting{"change_waiting",
                                              "SELECT foliot.change_waiting($1, $2, $3, $4, $5, $6, $7)"};
inline constexpr sql_statement kick{"kick", "SELECT foliot.kick($1, $2, $3, $4)"};
inline constexpr sql_statement clear_tube{"clear_tube", "SELECT foliot.clear_tube($1, $2)"};
inline constexpr sql_statement pause{"pause", "SELECT 0::bigint FROM foliot.pause($1, $2, $3, $4)"};
// The same in a batch that passes over locked jobs (sql/patient.sql).
inline constexpr sql_statement put_or_pass{"put_or_pass",
                                           "SELECT foliot.put_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement claim_named_or_pass{"claim_named_or_pass",
                                                   "SELECT * FROM foliot.claim_named_or_pass($1, $2, $3, $4)"};
inline constexpr sql_statement change_waiting_or_pass{
    "change_waiting_or_pass", "SELECT foliot.change_waiting_or_pass($1, $2, $3, $4, $5, $6, $7)"};
inline constexpr sql_statement pause_or_pass{"pause_or_pass", "SELECT foliot.pause_or_pass($1, $2, $3, $4)"};
// And if the database has no room.
inline constexpr sql_statement claim_best_or_pass{"claim_best_or_pass",
                                                  "SELECT * FROM foliot.claim_best_or_pass($1, $2, $3, $4, $5, $6)"};
inline constexpr sql_statement change_held_or_pass{"change_held_or_pass",
                                                   "SELECT foliot.change_held_or_pass($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr sql_statement kick_or_pass{"kick_or_pass", "SELECT foliot.kick_or_pass($1, $2, $3, $4)"};
// With the fields and histories of jobs, if one of the call has any.
inline constexpr sql_statement put_plain_with_fields{"put_plain_with_fields",
                                                     "SELECT foliot.put_plain($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement put_keyed_with_fields{
    "put_keyed_with_fields", "SELECT foliot.put_keyed($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
inline constexpr sql_statement put_or_pass_with_fields{
    "put_or_pass_with_fields", "SELECT foliot.put_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
inline constexpr sql_statement change_held_with_histories{
    "change_held_with_histories", "SELECT foliot.change_held($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement change_held_with_histories_or_pass{
    "change_held_with_histories_or_pass", "SELECT foliot.change_held_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement show{"show",
                                    "SELECT state, (shown).*, foliot.version_of(shown, state, (foliot.time_of($5))[3]) "
                                    "FROM foliot.show($1, $2, $3, $4 <> 0)"};
inline constexpr sql_statement show_first{
    "show_first", "SELECT state, (shown).*, foliot.version_of(shown, state) FROM foliot.show_first($1, $2)"};
// With the versions that jobs must have, if one of the call expects one (sql/versions.sql).
inline constexpr sql_statement put_keyed_if{
    "put_keyed_if", "SELECT foliot.put_keyed_if($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};
inline constexpr sql_statement put_if_or_pass{
    "put_if_or_pass", "SELECT foliot.put_if_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};
inline constexpr sql_statement change_waiting_if{"change_waiting_if",
                                                 "SELECT foliot.change_waiting_if($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr sql_statement change_waiting_if_or_pass{
    "change_waiting_if_or_pass", "SELECT foliot.change_waiting_if_or_pass($1, $2, $3, $4, $5, $6, $7, $8)"};
// With the reservations that puts show, if one of the call shows one (sql/holders.sql).
inline constexpr sql_statement put_keyed_held{
    "put_keyed_held", "SELECT foliot.put_keyed_held($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
inline constexpr sql_statement put_held_or_pass{
    "put_held_or_pass",
    "SELECT foliot.put_held_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
inline constexpr sql_statement put_all_held{
    "put_all_held", "SELECT foliot.put_all_held($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
inline constexpr sql_statement put_all_held_or_pass{
    "put_all_held_or_pass",
    "SELECT foliot.put_all_held_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
// Operations that happen once, if one of the call does (sql/once.sql).
inline constexpr sql_statement begin_batch_once{
    "begin_batch_once", "SELECT * FROM foliot.begin_batch_once($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};
inline constexpr sql_statement put_once{
    "put_once", "SELECT foliot.put_once($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
inline constexpr sql_statement put_once_or_pass{
    "put_once_or_pass",
    "SELECT foliot.put_once_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
inline constexpr sql_statement put_all_once{
    "put_all_once", "SELECT foliot.put_all_once($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0)"};
inline constexpr sql_statement put_all_once_or_pass{
    "put_all_once_or_pass",
    "SELECT foliot.put_all_once_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"};
inline constexpr sql_statement claim_once{
    "claim_once",
    "SELECT what, opening, session, (shown).* FROM foliot.claim_once($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement claim_once_or_pass{
    "claim_once_or_pass",
    "SELECT what, opening, session, (shown).* FROM foliot.claim_once_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement once_of_tube{"once_of_tube", "SELECT * FROM foliot.once_of_tube($1, $2, $3)"};
inline constexpr sql_statement take_once{"take_once",
                                         "SELECT 0::bigint FROM foliot.take_once($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr sql_statement count_jobs{"count_jobs", "SELECT foliot.count_jobs($1)"};
inline constexpr sql_statement list_tubes{"list_tubes", "SELECT foliot.list_tubes()"};
// Pages (sql/lists.sql).
inline constexpr sql_statement page_of_tubes{"page_of_tubes", "SELECT * FROM foliot.page_of_tubes($1, $2, $3, $4)"};
inline constexpr sql_statement page_of_jobs{
    "page_of_jobs",
    "SELECT rank, id, state, version, node, (shown).* FROM foliot.page_of_jobs($1, $2, $3, $4, $5, $6, $7)"};
/// A registration that has ended has no name.
inline constexpr sql_statement list_nodes{"list_nodes",
                                          "SELECT n.name, h.since / 1000000, h.seen / 1000000 FROM foliot.node n JOIN "
                                          "foliot.heard h ON h.session = n.session "
                                          "WHERE n.name IS NOT NULL ORDER BY n.name LIMIT $1"};
inline constexpr sql_statement list_due{"list_due", "SELECT * FROM foliot.list_due($1, $2, $3, $4)"};
// The map, which the first of several databases has.
inline constexpr sql_statement read_databases{"read_databases", "SELECT * FROM foliot.read_databases()"};
inline constexpr sql_statement read_places{"read_places", "SELECT * FROM foliot.read_places()"};
// Changes of the map, and moves of tubes (database_map.hpp).
inline constexpr sql_statement membership{
    "membership", "SELECT m.number::bigint, convert_to(coalesce(m.id::text, ''), 'UTF8') FROM foliot.map m"};
inline constexpr sql_statement identity{
    "identity",
    "SELECT convert_to(format('%s %s', s.system_identifier, d.oid), 'UTF8') "
    "FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()"};
inline constexpr sql_statement has_job{"has_job", "SELECT (EXISTS (SELECT FROM foliot.job))::integer::bigint"};
inline constexpr sql_statement plan_database{"plan_database",
                                             "SELECT foliot.plan_database(convert_from($1, 'UTF8'))::bigint"};
inline constexpr sql_statement become_database{
    "become_database",
    "SELECT 0::bigint FROM foliot.become_database($1::smallint, convert_from($2, 'UTF8')::uuid, $3)"};
inline constexpr sql_statement last_id{"last_id", "SELECT s.last_value FROM foliot.job_id s"};
inline constexpr sql_statement place_database{
    "place_database", "SELECT 0::bigint FROM foliot.place_database($1::smallint, convert_from($2, 'UTF8'))"};
inline constexpr sql_statement rename_database{
    "rename_database", "SELECT 0::bigint FROM foliot.place_database($1::smallint, convert_from($2, 'UTF8'), true)"};
inline constexpr sql_statement remove_database{"remove_database",
                                               "SELECT 0::bigint FROM foliot.remove_database($1::smallint)"};
inline constexpr sql_statement plan_move{"plan_move", "SELECT foliot.plan_move($1, $2::smallint)::bigint"};
inline constexpr sql_statement leave{"leave", "SELECT foliot.leave($1, true)"};
inline constexpr sql_statement join{"join", "SELECT 0::bigint FROM foliot.join($1, $2)"};
inline constexpr sql_statement refuses_puts{"refuses_puts", "SELECT foliot.refuses_puts()::integer::bigint"};
inline constexpr sql_statement send_piece{
    "send_piece", "SELECT piece, is_left::integer::bigint FROM foliot.send_piece($1, $2, $3, true)"};
inline constexpr sql_statement sent_jobs{"sent_jobs", "SELECT * FROM foliot.sent_jobs()"};
inline constexpr sql_statement take_piece{"take_piece",
                                          "SELECT 0::bigint FROM foliot.take_piece($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr sql_statement forget_piece{"forget_piece", "SELECT 0::bigint FROM foliot.forget_piece($1)"};
inline constexpr sql_statement tell_of{"tell_of", "SELECT 0::bigint FROM pg_notify('foliot', encode($1, 'hex'))"};
inline constexpr sql_statement has_left{"has_left", "SELECT 0::bigint FROM foliot.has_left($1)"};
inline constexpr sql_statement end_move{"end_move", "SELECT 0::bigint FROM foliot.end_move($1)"};
// The check of a database, in one transaction.
inline constexpr sql_statement check_jobs{"check_jobs", "SELECT foliot.check_jobs()::bytea"};
inline constexpr sql_statement one_snapshot{"one_snapshot",
                                            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"};
/// Keeps the rotation from truncating a partition: that would look empty to the snapshot of the check.
inline constexpr sql_statement keep_partitions{
    "keep_partitions",
    "LOCK TABLE foliot.job, foliot.ready, foliot.delayed, foliot.reserved, foliot.buried IN ACCESS SHARE MODE"};
/// The check reads whole tables: it needs plans that the settings of a connection forbid (sql_connection.cpp).
inline constexpr sql_statement long_statement{
    "long_statement",
    "SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true), "
    "set_config('enable_sort', 'on', true)"};

}  // namespace foliot::jobs::detail::statements
