# foliot_schema(TARGET FOLDER): compiles FOLDER/sql/*.sql into the library, by FOLDER/schema_text.cpp.in.
function(foliot_schema target folder)
  set(sql ${PROJECT_SOURCE_DIR}/${folder}/sql)
  set(function_files constants.sql floors.sql batch.sql due_times.sql ballast.sql put_and_claim.sql changes.sql tubes.sql
      counts.sql tube_names.sql rotation.sql restore.sql admit.sql metrics.sql keys.sql patient.sql application.sql map.sql
      due.sql public.sql)
  set(schema_functions)
  foreach(name IN LISTS function_files)
    file(READ ${sql}/${name} text)
    string(APPEND schema_functions "      R\"foliot(${text})foliot\",\n")
  endforeach()
  file(READ ${sql}/tables.sql schema_tables)
  foreach(name IN LISTS function_files ITEMS tables.sql)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sql}/${name})
  endforeach()
  set(made ${PROJECT_BINARY_DIR}/${folder}/schema_text.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/${folder}/schema_text.cpp.in ${made} @ONLY)
  target_sources(${target} PRIVATE ${made})
endfunction()
