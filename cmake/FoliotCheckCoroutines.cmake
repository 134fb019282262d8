# foliot_check_coroutines(target...): before each build of a target, foliot-check-coroutines looks for the coroutines in
# its sources that g++ 12 miscompiles. One of them ends the build with a message that says what to write. A source that
# the build generates is read if it is there. Headers are looked for in the target's include directories. Needs Python
# 3.10.
function(foliot_check_coroutines)
  foreach(target IN LISTS ARGN)
    add_custom_target(${target}_check_coroutines
      COMMAND "${FOLIOT_CHECK_COROUTINES}" --quiet --skip-missing
        "$<$<BOOL:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>>:-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,;-I>>"
        "$<FILTER:$<TARGET_PROPERTY:${target},SOURCES>,INCLUDE,[.](cpp|cc|cxx|hpp|hh|hxx|h|ipp)$>"
      WORKING_DIRECTORY "$<TARGET_PROPERTY:${target},SOURCE_DIR>"
      COMMAND_EXPAND_LISTS VERBATIM)
    add_dependencies(${target} ${target}_check_coroutines)
  endforeach()
endfunction()
