// Clients of a job server: for tasks and for threads. Those by TLS are in client/tls_endpoint.hpp.
#pragma once

#include <foliot/client/blocking_client.hpp>
#include <foliot/client/client_error.hpp>
#include <foliot/client/commands.hpp>
#include <foliot/client/endpoint.hpp>
#include <foliot/client/job_client.hpp>
#include <foliot/client/job_record.hpp>
#include <foliot/client/reply.hpp>
