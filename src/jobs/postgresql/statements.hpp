// The SQL functions that the store calls: sql/*.sql has them.
#pragma once

#include "call.hpp"

namespace foliot::jobs::detail::statements {

inline constexpr sql_statement announce{"announce", "SELECT foliot.announce($1, $2, $3, $4, $5)"};
inline constexpr sql_statement end_session{"end_session", "SELECT foliot.end_session($1)::integer::bigint"};
inline constexpr sql_statement beat{"beat", "SELECT foliot.beat($1, $2, $3, $4)::integer::bigint"};
inline constexpr sql_statement rotate{"rotate", "SELECT foliot.rotate()::integer::bigint"};
inline constexpr sql_statement begin_batch{"begin_batch", "SELECT * FROM foliot.begin_batch($1, $2, $3, $4, $5, $6)"};
inline constexpr sql_statement end_batch{"end_batch", "SELECT * FROM foliot.end_batch($1, $2)"};
inline constexpr sql_statement has_happened{"has_happened", "SELECT foliot.has_happened($1, $2)::integer::bigint"};
inline constexpr sql_statement put_plain{"put_plain", "SELECT foliot.put_plain($1, $2, $3, $4, $5, $6, $7)"};
inline constexpr sql_statement put_keyed{"put_keyed", "SELECT foliot.put_keyed($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement claim{"claim", "SELECT * FROM foliot.claim($1, $2, $3, $4, $5, $6)"};
inline constexpr sql_statement claim_job{"claim_job", "SELECT * FROM foliot.claim_job($1, $2, $3, $4)"};
inline constexpr sql_statement finish{"finish", "SELECT foliot.finish($1, $2, $3, $4)"};
inline constexpr sql_statement change_held{"change_held", "SELECT foliot.change_held($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr sql_statement change_waiting{"change_waiting",
                                              "SELECT foliot.change_waiting($1, $2, $3, $4, $5, $6, $7)"};
inline constexpr sql_statement kick{"kick", "SELECT foliot.kick($1, $2, $3, $4)"};
inline constexpr sql_statement clear_tube{"clear_tube", "SELECT foliot.clear_tube($1, $2)"};
inline constexpr sql_statement pause{"pause", "SELECT 0::bigint FROM foliot.pause($1, $2, $3, $4)"};
// Of a patient batch.
inline constexpr sql_statement put_or_pass{"put_or_pass",
                                           "SELECT foliot.put_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr sql_statement claim_job_or_pass{"claim_job_or_pass",
                                                 "SELECT * FROM foliot.claim_job_or_pass($1, $2, $3, $4)"};
inline constexpr sql_statement change_waiting_or_pass{
    "change_waiting_or_pass", "SELECT foliot.change_waiting_or_pass($1, $2, $3, $4, $5, $6, $7)"};
inline constexpr sql_statement pause_or_pass{"pause_or_pass", "SELECT foliot.pause_or_pass($1, $2, $3, $4)"};
inline constexpr sql_statement peek{"peek", "SELECT state, (shown).* FROM foliot.peek($1, $2, $3)"};
inline constexpr sql_statement peek_first{"peek_first", "SELECT state, (shown).* FROM foliot.peek_first($1, $2)"};
inline constexpr sql_statement count_jobs{"count_jobs", "SELECT foliot.count_jobs($1)"};
inline constexpr sql_statement list_tubes{"list_tubes", "SELECT foliot.list_tubes()"};
inline constexpr sql_statement check_jobs{"check_jobs", "SELECT foliot.check_jobs()::bytea"};
inline constexpr sql_statement one_snapshot{"one_snapshot",
                                            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"};
/// A part that is truncated would look empty to an older snapshot.
inline constexpr sql_statement keep_parts{"keep_parts", "LOCK TABLE foliot.ready, foliot.delayed IN ACCESS SHARE MODE"};
/// The settings of connect() are for short statements.
inline constexpr sql_statement long_statement{
    "long_statement",
    "SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true), "
    "set_config('enable_sort', 'on', true)"};

}  // namespace foliot::jobs::detail::statements
