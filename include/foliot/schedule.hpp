// Recurring times: rules such as those of cron, in time zones, with what changes of clocks do to them. The library is
// foliot::schedule; it depends on the standard library alone.
#pragma once

#include <foliot/schedule/rule.hpp>
#include <foliot/schedule/timetable.hpp>
#include <foliot/schedule/timetable_cursor.hpp>
#include <foliot/schedule/zone.hpp>
