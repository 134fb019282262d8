// Jobs with due times, and the stores that keep them.
#pragma once

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/jobs/transitions.hpp>
#include <foliot/jobs/tube_policy.hpp>
