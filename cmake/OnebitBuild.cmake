# The compile settings that all rooms share, and the functions that declare a room.

# ccache caches compilations with precompiled headers only with these sloppiness settings.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(sloppiness CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  foreach(language CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${sloppiness} ${CCACHE_PROGRAM})
    endif()
  endforeach()
endif()

if(ONEBIT_HAS_CUDA AND NOT ONEBIT_EMULATES_CUDA)
  list(PREPEND CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/keep-ptxas.sh)
endif()

# Flags of the C++ compiler, which nvcc also passes to it for host code. -ffp-contract=off: results must be the same on
# every machine, so a*b+c always rounds twice. The other flags change no result: no code reads errno or floating-point
# traps, so sqrt and selections may be vectorised; no other library replaces a function of the rooms, so position-
# independent code may inline them.
set(ONEBIT_HOST_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-semantic-interposition)
if(ONEBIT_NATIVE)
  list(APPEND ONEBIT_HOST_FLAGS -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND ONEBIT_HOST_FLAGS -march=${ONEBIT_ARCH})
endif()

add_library(onebit_build INTERFACE)
target_compile_features(onebit_build INTERFACE cxx_std_20)
target_include_directories(onebit_build INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(onebit_build INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${ONEBIT_HOST_FLAGS};-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wno-unknown-pragmas>"
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed> # clang may leave an "omp simd" loop scalar, which is not an error
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${ONEBIT_WERROR}>>:-Werror>)

if(ONEBIT_JOIN_SOURCES GREATER 1) # a parameter may have the name of a function in another of the joined files
  target_compile_options(onebit_build INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-shadow;-Wshadow=local> $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
endif()

# Optimisation beyond -O2 pays off in the kernels, because the launchers' inner loops are written to be vectorised.
string(REPLACE "-O2" "-O3" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

# For code whose speed does not matter: it compiles in half the time. It takes longer to optimise a sanitizer's checks
# than to run them unoptimised.
set(ONEBIT_LITTLE_SPEED $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>)
set(ONEBIT_NO_SPEED ${ONEBIT_LITTLE_SPEED})
if(ONEBIT_SANITIZE)
  set(ONEBIT_NO_SPEED $<$<COMPILE_LANGUAGE:CXX>:-O0>)
endif()

if(ONEBIT_EMULATES_CUDA)
  target_compile_definitions(onebit_build INTERFACE ONEBIT_CUDA)
  target_include_directories(onebit_build INTERFACE ${PROJECT_SOURCE_DIR}/tests/emulator) # replaces CUDA's headers
elseif(ONEBIT_HAS_CUDA)
  target_compile_definitions(onebit_build INTERFACE ONEBIT_CUDA)
  list(JOIN ONEBIT_HOST_FLAGS "," host_flags)
  # -std: CMake before 3.26 does not know that nvcc supports C++20. -fmad=false and -ftz=true: the CPU's kernels neither
  # fuse multiplications with additions nor keep denormals, and CUDA's must do the same. -Xptxas=-v prints each kernel's
  # resources for scripts/check-registers. -warn-spills: with ONEBIT_WERROR a spill is an error, because
  # -Werror=all-warnings includes ptxas's warnings.
  target_compile_options(onebit_build INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-fmad=false;-ftz=true;-Xptxas=-v,-warn-spills;-Xcompiler=${host_flags},-Wall,-Wextra,-Wno-unknown-pragmas>"
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${ONEBIT_WERROR}>>:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()

if(ONEBIT_SANITIZE)
  if(ONEBIT_HAS_CUDA AND NOT ONEBIT_EMULATES_CUDA)
    message(FATAL_ERROR "ONEBIT_SANITIZE needs ONEBIT_CUDA=OFF or EMULATED")
  endif()
  target_compile_options(onebit_build INTERFACE -fsanitize=${ONEBIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(onebit_build INTERFACE -fsanitize=${ONEBIT_SANITIZE})
  if(ONEBIT_EMULATES_CUDA AND ONEBIT_SANITIZE MATCHES "thread")
    target_compile_options(onebit_build INTERFACE "SHELL:-mllvm -tsan-distinguish-volatile=1") # tests/emulator/volatile.cpp
  endif()
endif()

# If a precompiled header contained its parts' timestamps, it would differ after every checkout, and ccache would miss.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(onebit_build INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# In a precompiled header, gcc does not remember which headers are system headers, and warns about them. clang still
# gives the first of the two warnings that are off here.
if(ONEBIT_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(onebit_build INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
endif()

# onebit_add_cuda(<target> a.cu ...)
function(onebit_add_cuda target)
  if(ONEBIT_EMULATES_CUDA AND ARGN)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  endif()
  target_sources(${target} PRIVATE ${ARGN})
endfunction()

# onebit_sources(<to> <glob> ...): sets <to> to the matching files below this folder, as paths relative to it. New files
# are found without a change to any CMakeLists.txt.
macro(onebit_sources to)
  file(GLOB_RECURSE ${to} CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARGN})
endmacro()

# onebit_join_sources(<list> <name> [files that stay alone ...]): replaces the files in the list by joined ones, which
# include several of them and are named after <name>.
function(onebit_join_sources list name)
  if(NOT ${list} OR NOT ONEBIT_JOIN_SOURCES GREATER 1)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/join-groups.awk)
  set(alone kernels.cpp ${ARGN}) # kernels.cpp takes as long to compile as the rest of its room
  set(here ${${list}})
  list(FILTER here INCLUDE REGEX "\\.cpp$")
  list(REMOVE_ITEM here ${alone})
  list(REMOVE_ITEM ${list} ${here})
  list(SORT here)
  execute_process(COMMAND awk -v most=${ONEBIT_JOIN_SOURCES} -f ${PROJECT_SOURCE_DIR}/cmake/join-groups.awk ${here}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  file(RELATIVE_PATH room ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}) # ccache would miss with absolute paths
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  set(groups "")
  foreach(line ${lines})
    string(REGEX MATCH "^([^ ]+) (.+)$" line "${line}")
    list(APPEND groups ${CMAKE_MATCH_1})
    string(APPEND includes_${CMAKE_MATCH_1} "#include \"${room}/${CMAKE_MATCH_2}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/${name}_${group}.cpp)
    file(CONFIGURE OUTPUT ${joined} CONTENT "${includes_${group}}")
    list(APPEND ${list} ${joined})
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

set(ONEBIT_STANDARD "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/standard.hpp>") # see ONEBIT_PCH

# onebit_room(<name> [NO_SPEED] [FOLDERS a ...] [EXCEPT a.cpp ...] [ALONE a.cpp ...] [STUB a.cpp ...] [FUZZED a.cpp ...]
# DEPENDS other-rooms-or-libraries ...): declares the library of all sources in a room's folder, or only in its
# subfolders FOLDERS. EXCEPT: files that are built elsewhere. ALONE: files that are never joined with others. FUZZED:
# files, given by name or as globs, that read input from outside. With ONEBIT_FUZZ they have libFuzzer's counters, in
# test programs too. -fsanitize=fuzzer-no-link would do the same, but rejects precompiled headers that were built with
# other flags. STUB: files compiled instead of the .cu files if there is no nvcc. NO_SPEED: the room's speed does not
# matter.
function(onebit_room name)
  cmake_parse_arguments(ROOM "NO_SPEED" "" "FOLDERS;EXCEPT;ALONE;FUZZED;STUB;DEPENDS" ${ARGN})
  list(TRANSFORM ROOM_FOLDERS APPEND /)
  if(NOT ROOM_FOLDERS)
    set(ROOM_FOLDERS "./")
  endif()
  list(TRANSFORM ROOM_FOLDERS APPEND *.cpp OUTPUT_VARIABLE cpp_globs)
  list(TRANSFORM ROOM_FOLDERS APPEND *.cu OUTPUT_VARIABLE cu_globs)
  onebit_sources(sources ${cpp_globs})
  onebit_sources(cuda ${cu_globs})
  list(REMOVE_ITEM sources ${ROOM_EXCEPT} ${ROOM_STUB})
  list(REMOVE_ITEM cuda ${ROOM_EXCEPT})
  set(fuzzed "")
  if(ONEBIT_FUZZ AND ROOM_FUZZED)
    onebit_sources(fuzzed ${ROOM_FUZZED})
    list(REMOVE_ITEM sources ${fuzzed})
  endif()
  onebit_join_sources(sources ${name} ${ROOM_ALONE})
  onebit_join_sources(fuzzed ${name}-fuzzed ${ROOM_ALONE})
  set_source_files_properties(${fuzzed} PROPERTIES COMPILE_OPTIONS
    "-fsanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table;-fno-builtin-memcmp;-fno-builtin-strcmp")
  add_library(onebit_${name} STATIC ${sources} ${fuzzed})
  add_library(onebit::${name} ALIAS onebit_${name})
  set_target_properties(onebit_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON) # python/capi/ links rooms into a library
  target_link_libraries(onebit_${name} PUBLIC onebit_build ${ROOM_DEPENDS})
  if(ONEBIT_HAS_CUDA)
    onebit_add_cuda(onebit_${name} ${cuda})
  else()
    target_sources(onebit_${name} PRIVATE ${ROOM_STUB})
  endif()
  if(ROOM_NO_SPEED)
    target_compile_options(onebit_${name} PRIVATE ${ONEBIT_NO_SPEED})
  endif()
  # The rooms whose speed matters and that this library needs, itself included; see onebit_link_first.
  set(fast "")
  foreach(library ${ROOM_DEPENDS})
    if(library MATCHES "^onebit::")
      get_target_property(theirs ${library} ONEBIT_FAST_ROOMS)
      list(APPEND fast ${theirs})
    endif()
  endforeach()
  if(NOT ROOM_NO_SPEED)
    list(APPEND fast onebit_${name})
  endif()
  list(REMOVE_DUPLICATES fast)
  set_target_properties(onebit_${name} PROPERTIES ONEBIT_FAST_ROOMS "${fast}")
  # One precompiled header for each level of optimisation, because a file is compiled at its header's level.
  if(ONEBIT_PCH AND name STREQUAL "device")
    target_precompile_headers(onebit_device PRIVATE ${ONEBIT_STANDARD})
  elseif(ONEBIT_PCH AND ROOM_NO_SPEED)
    target_precompile_headers(onebit_${name} REUSE_FROM onebit_no_speed)
  elseif(ONEBIT_PCH)
    target_precompile_headers(onebit_${name} REUSE_FROM onebit_device)
  endif()
endfunction()

# onebit_link_first(<target> <room>): puts the fast rooms that a room's library needs before the target's own files in the
# linker's command. Of an inline function that several files contain, a linker takes the first copy. Otherwise kernels
# would call the copies of files that are not optimised: some sanitized tests took ten times as long.
function(onebit_link_first target room)
  get_target_property(rooms ${room} ONEBIT_FAST_ROOMS)
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  list(JOIN files " " files)
  target_link_options(${target} PRIVATE "SHELL:-Wl,--whole-archive ${files} -Wl,--no-whole-archive")
endfunction()
