# Turns a package catalogue (the format of `apt-cache dumpavail` and /var/lib/dpkg/status) into rows for COPY:
#
#   source <TAB> package <TAB> source package    from Source; without one the package's own name
#   needs  <TAB> package <TAB> needed package    from Depends, Pre-Depends and Recommends; of alternatives (a | b) each
#   tag    <TAB> package <TAB> tag               from Tag
#
# Versions, architectures and white space are dropped. A package of several releases gives its rows more than once.

function take_needs(list,    n, i, part, name) {
    n = split(list, part, /[,|]/)
    for (i = 1; i <= n; i++) {
        name = part[i]
        gsub(/\([^)]*\)|\[[^]]*\]|<[^>]*>|[ \t]/, "", name)
        sub(/:.*/, "", name)
        if (name != "") print "needs\t" package "\t" name
    }
}

# facet::{a,b} is short for facet::a, facet::b.
function take_tags(list,    n, i, part, facet, m, j, value) {
    gsub(/[ \t]/, "", list)
    while (match(list, /[a-z0-9-]+::\{[^}]*\}/)) {
        part[0] = substr(list, RSTART, RLENGTH)
        facet = part[0]
        sub(/::.*/, "", facet)
        m = split(substr(part[0], length(facet) + 4, length(part[0]) - length(facet) - 4), value, ",")
        for (j = 1; j <= m; j++) print "tag\t" package "\t" facet "::" value[j]
        list = substr(list, 1, RSTART - 1) substr(list, RSTART + RLENGTH)
    }
    n = split(list, part, ",")
    for (i = 1; i <= n; i++) if (part[i] != "") print "tag\t" package "\t" part[i]
}

function finish_field() {
    if (field == "Package") package = content
    else if (field == "Source") { sub(/ .*/, "", content); source = content }
    else if (field == "Depends" || field == "Pre-Depends" || field == "Recommends") take_needs(content)
    else if (field == "Tag") take_tags(content)
    field = ""
}

function finish_package() {
    if (package != "") print "source\t" package "\t" (source != "" ? source : package)
    package = source = ""
}

/^[ \t]/ { content = content $0; next }
{ finish_field() }
/^$/ { finish_package(); next }
{
    at = index($0, ":")
    field = substr($0, 1, at - 1)
    content = substr($0, at + 1)
    sub(/^[ \t]+/, "", content)
}
END { finish_field(); finish_package() }
