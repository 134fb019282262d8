// What is wrong with a request, or with the server, as an exception says it: as a problem for the client.
//
//   try { … } catch (...) { wrong = problem_of_exception(); }
//
// Thread safety: any task.
#pragma once

#include "problem.hpp"

namespace foliot::program::http {

/// The problem of the exception that is being handled. Throws the exception again if it is none that a request or a
/// busy server explains: it ends the connection. Precondition: the caller is in a handler of exceptions.
[[nodiscard]] problem problem_of_exception();

}  // namespace foliot::program::http
