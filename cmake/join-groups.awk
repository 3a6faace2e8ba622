# Prints "GROUP FILE" for the source files of a room that can be compiled together: those of one folder, at most `most` of
# them, whose unnamed namespaces declare no name twice. A new file only changes the groups of its folder.
function folder_of(file,    parts) { return split(file, parts, "/") > 1 ? parts[1] : "top" }

# The name that a line at the left margin declares; "" if it declares none.
function declared(line) {
  if (line !~ /^[A-Za-z\[]/ || line ~ /^(template|namespace|using namespace|static_assert)/) return ""
  if (match(line, /^(struct|class|enum class|enum|using) +[A-Za-z_0-9]+/)) {
    line = substr(line, 1, RLENGTH)
  } else {
    sub(/^\[\[[a-z_]*\]\] */, "", line)
    sub(/[({=;\[].*/, "", line)
  }
  sub(/ +$/, "", line)
  sub(/.*[^A-Za-z_0-9]/, "", line)
  return line
}

function place(file,    group, name, fits) {
  for (group = 1; ; ++group) {
    fits = count[folder, group] < most
    for (name in names) fits = fits && !((folder, group, name) in taken)
    if (fits) break
  }
  ++count[folder, group]
  for (name in names) taken[folder, group, name] = 1
  print folder "-" group, file
}

FNR == 1 {
  if (file != "") place(file)
  file = FILENAME
  folder = folder_of(file)
  delete names
  unnamed = 0
}
/^namespace \{/ { unnamed = 1 }
/^}  \/\/ namespace$/ { unnamed = 0 }
unnamed && (name = declared($0)) != "" { names[name] = 1 }
END { if (file != "") place(file) }
