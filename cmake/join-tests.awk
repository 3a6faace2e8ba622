# Joins test files into one source: the #include lines at the top of all of them, then the rest of each in a namespace
# of its own, because helpers of two files may have the same name.
FNR == 1 {
  if (NR > 1) { rest = rest "}\n" }
  top = 1
}
top && /^#include/ { print; next }
top && !/^(\/\/.*)?$/ {
  top = 0
  rest = rest sprintf("namespace unit%d {\n#line %d \"%s\"\n", ++unit, FNR, FILENAME)
}
!top { rest = rest $0 "\n" }
END { printf "%s}\n", rest }
