# The plain start of programs that bench/load.lua times: a Lua module of its own, in no product and never installed.
add_library(bench_plain MODULE bench/plain.c)
target_link_libraries(bench_plain PRIVATE procage_flags procage_lua_headers)
set_target_properties(bench_plain PROPERTIES PREFIX "" OUTPUT_NAME plain LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)

# What bench/mediated.lua runs.
add_executable(bench_calls bench/calls.c)
target_link_libraries(bench_calls PRIVATE procage_flags)
set_target_properties(bench_calls PROPERTIES OUTPUT_NAME calls RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)

# A host program with threads and a large heap, on the C interface.
add_executable(bench_threads bench/threads.c)
target_link_libraries(bench_threads PRIVATE procage_flags procage Threads::Threads)
set_target_properties(bench_threads PROPERTIES OUTPUT_NAME threads BUILD_RPATH_USE_ORIGIN ON
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)

# What bench/workload.lua runs.
add_executable(bench_loops bench/loops.c)
target_link_libraries(bench_loops PRIVATE procage_flags)
set_target_properties(bench_loops PROPERTIES OUTPUT_NAME loops RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
