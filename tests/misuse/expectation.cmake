# foliot_expectation(file compiler_id result): what this compiler has to say about a misuse; empty if
# the file expects nothing of it.
function(foliot_expectation file compiler_id result)
  set(${result} "" PARENT_SCOPE)
  file(STRINGS ${file} lines LIMIT_COUNT 2)
  foreach(line IN LISTS lines)
    if(line MATCHES "^// expect: (.+)$")
      set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    elseif(compiler_id MATCHES "Clang" AND line MATCHES "^// expect with clang: (.+)$")
      set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
