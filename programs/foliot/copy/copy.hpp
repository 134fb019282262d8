// `foliot copy`: moves all jobs of a running beanstalk server to another one.
//
// Each job is put at the target and then deleted at the source. So nothing is lost, whatever ends in between: a job
// whose deletion was not acknowledged is at both servers, and the next run finds it at the source. What a run does with
// jobs that it may have put before: see target.hpp.
//
// Nothing is early. A delayed job is only looked at until it has been put, with what is left of its delay rounded up to
// a whole second, which is all that beanstalkd tells; between two foliots it keeps its due time. A look at the job goes
// right in front of its deletion, and shows if a client of the source has changed it meanwhile; then it is put again as
// it was at its end. If a worker of the source has got the job, the copy at the target is taken back.
//
// Ready jobs are moved in the order in which workers get them. Delayed and buried jobs are found near the ids of others
// and moved in groups. Jobs that workers of the source have reserved cannot be moved; they stay until they are given
// back, and a later run takes them.
//
// The source is not trusted: lists have bounds, bodies that are too many are dropped as they come, and answers that
// cannot both be true end the run with a failure that names them.
//
// Memory: the bodies of one group, at most 64 MiB unless one body is larger, a few times while they are passed on.
#pragma once

#include <cstdint>

#include "copy/server_place.hpp"

namespace foliot::program {

struct copy_options {
  client::endpoint from;
  client::endpoint to;
  /// Whether to go on until the workers of the source have no reserved jobs any more.
  bool waits = false;
};

/// Moves the jobs, and prints how many it has moved. Throws failure: with exit_code::bad_input where jobs are left.
void copy(const copy_options& options);

}  // namespace foliot::program
