# Stubs and reserved words are written when the package is built: the quantities come from a program that is linked to
# the core, the calls from the Python sources. The program runs on this machine, in the emulator of the toolchain, or, where
# neither can be, has run elsewhere: its output is ROOFSLATE_QUANTITIES then.
add_executable(roofslate_quantities cpp/tools/list_quantities.cpp)
target_link_libraries(roofslate_quantities PRIVATE roofslate_core)
set(quantities "${ROOFSLATE_QUANTITIES}")
if(quantities)
  set_target_properties(roofslate_quantities PROPERTIES EXCLUDE_FROM_ALL ON)
elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(FATAL_ERROR "programs for ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR} do not run here: set CMAKE_CROSSCOMPILING_EMULATOR, "
    "or build the target roofslate_quantities for this machine, and give what it prints as -DROOFSLATE_QUANTITIES=<file>")
else()
  set(quantities "${CMAKE_CURRENT_BINARY_DIR}/quantities.txt")
  add_custom_command(OUTPUT "${quantities}" COMMAND roofslate_quantities > "${quantities}" DEPENDS roofslate_quantities)
endif()

set(generated __init__.pyi typing.py registry/reserved.py) # also in .gitignore
set(folder "${CMAKE_CURRENT_BINARY_DIR}/stubs/roofslate")
if(ROOFSLATE_STUBS_IN_SOURCE)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/python/roofslate")
endif()
list(TRANSFORM generated PREPEND "${folder}/" OUTPUT_VARIABLE stubs)
set(tools "${CMAKE_CURRENT_SOURCE_DIR}/python/tools")
add_custom_command(OUTPUT ${stubs} VERBATIM DEPFILE "${CMAKE_CURRENT_BINARY_DIR}/stubs.d" # the sources that were read
  COMMAND "${Python_EXECUTABLE}" "${tools}/stubs.py" --quantities "${quantities}" --into "${folder}"
    --depfile "${CMAKE_CURRENT_BINARY_DIR}/stubs.d"
  DEPENDS "${quantities}" "${tools}/stubs.py" "${tools}/interface.py")
add_custom_target(roofslate_stubs ALL DEPENDS ${stubs})
if(NOT ROOFSLATE_STUBS_IN_SOURCE)
  foreach(file IN LISTS generated)
    get_filename_component(subfolder ${file} DIRECTORY)
    install(FILES "${folder}/${file}" DESTINATION roofslate/${subfolder} COMPONENT python)
  endforeach()
endif()
