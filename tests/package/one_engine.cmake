# A program that names no engine has foliot's alone in it. Run by ctest.
#
#   NM       the tool that lists symbols
#   ONE      a statically linked program with a service, which names no engine
#   ALL      one that names some
cmake_minimum_required(VERSION 3.25)

# Sets `found` to whether the program has the code of the engine.
function(find_engine program engine)
  execute_process(COMMAND ${NM} ${program} RESULT_VARIABLE status OUTPUT_VARIABLE symbols ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cannot read the symbols of ${program}: ${error}")
  endif()
  string(FIND "${symbols}" "${engine}_engine" place)
  if(place EQUAL -1)
    set(found FALSE PARENT_SCOPE)
  else()
    set(found TRUE PARENT_SCOPE)
  endif()
endfunction()

foreach(engine IN ITEMS foliot global_heap hashed_wheel)
  find_engine(${ALL} ${engine})
  if(NOT found)
    message(FATAL_ERROR "${ALL} has no engine '${engine}': is its symbol called otherwise?")
  endif()
endforeach()
find_engine(${ONE} foliot)
if(NOT found)
  message(FATAL_ERROR "${ONE} has not even foliot's engine: is it a program with a service?")
endif()
foreach(engine IN ITEMS global_heap bucket_heaps quad_heap_lazy goim epoll_heap red_black_tree hashed_wheel hierarchical_wheel linux_wheel erlang_wheel)
  find_engine(${ONE} ${engine})
  if(found)
    message(FATAL_ERROR "${ONE} names no engine, and has the code of '${engine}'")
  endif()
endforeach()
