# embed_texts(OUT HEADER FUNCTION ELEMENT DIRECTORY PATTERN...): writes a .cpp with the text of every
# file below DIRECTORY that matches a PATTERN, so that the program is one file. A new file is picked
# up without a line here. HEADER declares `std::span<const ELEMENT> FUNCTION()`; ELEMENT is a name
# and a text. FUNCTION is qualified by its namespace.
function(embed_texts out header function element directory)
  list(TRANSFORM ARGN PREPEND "${directory}/" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  get_filename_component(name "${header}" NAME_WE)
  set(generated "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/WriteTextTable.cmake")
  add_custom_command(
    OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DDIRECTORY=${directory}" "-DPATTERNS=${patterns}"
            "-DHEADER=${header}" "-DFUNCTION=${function}" "-DELEMENT=${element}"
            "-DOUTPUT=${generated}" -P "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${directory}" VERBATIM)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()
