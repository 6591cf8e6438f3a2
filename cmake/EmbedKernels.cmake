# embed_kernels(DIR OUT): write one .cpp with the text of every .cu and .cuh below DIR, so that the
# program is one file. A new kernel file is picked up without a line here.
function(embed_kernels directory out)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${directory}/*.cu" "${directory}/*.cuh")
  set(generated "${PROJECT_BINARY_DIR}/generated/embedded_kernels.cpp")
  add_custom_command(
    OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" -DDIRECTORY=${directory} -DOUTPUT=${generated}
            -P "${PROJECT_SOURCE_DIR}/cmake/WriteKernelTable.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/WriteKernelTable.cmake"
    COMMENT "Embedding kernel sources" VERBATIM)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()
