# The wire protocol and the server; included by CMakeLists.txt.
fl_library(wire_reader wire_reader.c)
target_link_libraries(wire_reader PUBLIC flwire PkgConfig::CMOCKA)
fl_library(ws_client ws_client.c)
target_link_libraries(ws_client PUBLIC flwire PkgConfig::CMOCKA)
fl_library(live_core live_core.c process.c)
target_link_libraries(live_core PUBLIC flcore PkgConfig::CMOCKA)

# With scripted clocks.
fl_c_test(test_wire_json flwire)
fl_c_test(test_wire wire_reader core_script)
fl_c_test(test_timeline wire_reader core_script)
fl_c_test(test_lock_waits wire_reader core_script)
fl_c_test(test_wire_vectors wire_reader flcore_fake)
target_compile_definitions(test_wire_vectors PRIVATE FL_VECTORS="${PROJECT_SOURCE_DIR}/tests/vectors")
fl_c_test(test_server_auth flwire)
fl_c_test(test_server_client flwire core_script)
fl_c_test(test_server_request flwire)
# Of the server's own sources the one that needs no network, with the other core.
fl_c_test(test_schedule core_script)
target_sources(test_schedule PRIVATE ${PROJECT_SOURCE_DIR}/server/schedule.c)
target_include_directories(test_schedule PRIVATE ${PROJECT_SOURCE_DIR}/server)

# Between processes.
fl_c_test(test_discovery flwire)
fl_c_test(test_fork_guard flserver)

# Over a real network, with a real thread that is watched.
fl_c_test(test_server flserver wire_reader ws_client live_core)
fl_c_test(test_server_life flserver ws_client live_core)

# A recording that grows, read back.
fl_c_test(test_recorder flserver live_core)
