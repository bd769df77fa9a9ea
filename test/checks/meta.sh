#!/bin/bash
# META.json is what the PGXN Meta Spec 1.0.0 asks for: required fields, their forms, licence, versions, and files that exist.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v python3 > /dev/null || exit 77
python3 -B - META.json <<'END'
import json, os, re, sys

wrong = []
def check(right, text):
    if not right:
        wrong.append(text)

try:
    meta = json.load(open(sys.argv[1]))
except ValueError as error:
    sys.exit(f"meta: {sys.argv[1]} is not JSON: {error}")
term = re.compile(r"[^\s/\\\x00-\x1f]{2,}")
semver = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-?[A-Za-z][0-9A-Za-z-]*)?")
licences = "agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit " \
    "mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted unknown".split()
known = "name abstract description version maintainer license provides prereqs release_status generated_by meta-spec no_index resources tags".split()
for field in ("name", "abstract", "version", "maintainer", "license", "provides", "meta-spec"):
    check(field in meta, f"required field {field} is missing")
for field in meta:
    check(field in known or field.lower().startswith("x_"), f"there is no field {field}")
check(term.fullmatch(str(meta.get("name"))), "name has blanks, slashes or fewer than two characters")
for field in ("abstract", "description", "generated_by"):
    check(isinstance(meta.get(field, "x"), str) and meta.get(field, "x"), f"{field} is no text")
check(semver.fullmatch(str(meta.get("version"))), "version is no semantic version")
maintainer = meta.get("maintainer")
check(maintainer and all(isinstance(one, str) and one for one in (maintainer if isinstance(maintainer, list) else [maintainer])), "maintainer is no text or list of texts")
licence = meta.get("license")
check(licence and all(one in licences for one in (licence if isinstance(licence, list) else [licence])), f"license {licence} is not one of the list")
check(meta.get("release_status", "stable") in ("stable", "testing", "unstable"), "release_status is not stable, testing or unstable")
spec = meta.get("meta-spec", {})
check(spec.get("version") == "1.0.0", "meta-spec.version is not 1.0.0")
check(set(spec) <= {"version", "url"}, "meta-spec has other fields than version and url")
for name, provided in meta.get("provides", {}).items():
    check(term.fullmatch(name), f"provides: {name} is no name")
    check(set(provided) <= {"file", "version", "abstract", "docfile"}, f"provides.{name} has unknown fields")
    check(semver.fullmatch(str(provided.get("version"))), f"provides.{name}.version is no semantic version")
    for field in ("file", "docfile"):
        if field == "file" or field in provided:
            check(os.path.isfile(str(provided.get(field))), f"provides.{name}.{field} names {provided.get(field)}, which is not there")
check(meta.get("provides"), "provides is empty")
for phase, kinds in meta.get("prereqs", {}).items():
    check(phase in ("configure", "build", "test", "runtime", "develop"), f"prereqs: there is no phase {phase}")
    for kind, needed in kinds.items():
        check(kind in ("requires", "recommends", "suggests", "conflicts"), f"prereqs.{phase}: there is no kind {kind}")
        for name, version in needed.items():
            check(version == 0 or semver.fullmatch(re.sub(r"^[<>=!]+\s*", "", str(version))), f"prereqs.{phase}.{kind}: {name} {version} is no version")
tags = meta.get("tags", [])
check(isinstance(tags, list) and all(isinstance(tag, str) and 0 < len(tag) <= 255 and not re.search(r"[/\\\x00-\x1f]", tag) for tag in tags), "tags are no list of short texts without slashes")
for text in wrong:
    print(f"meta: META.json: {text}")
sys.exit(bool(wrong))
END
