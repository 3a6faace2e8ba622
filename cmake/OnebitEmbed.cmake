# onebit_embed(<out.cpp> <name>=<file> ...): writes a source that defines each name, in onebit::experiments::assets, as
# a std::string_view of the contents of its file; empty if the file is given as "". The source is written again when one
# of the files changes.
function(onebit_embed out)
  set(text "#include \"experiments/report/assets.hpp\"\n\nnamespace onebit::experiments::assets {\n")
  foreach(pair ${ARGN})
    string(REGEX MATCH "^([^=]+)=(.*)$" _ "${pair}")
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    set(bytes "")
    if(file)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      file(READ ${file} hex HEX)
      string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
      # Compilers accept longer literals than lines, so a literal is split over several lines
      string(REGEX REPLACE "((\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f]))" "\\1\"\n\"" bytes "${bytes}")
    endif()
    string(APPEND text "\nstatic constexpr char ${name}_bytes[] =\n\"${bytes}\";\nconst std::string_view ${name}(${name}_bytes, sizeof(${name}_bytes) - 1);\n")
  endforeach()
  string(APPEND text "\n}  // namespace onebit::experiments::assets\n")
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
