#!/bin/bash
# No file names a host of a package registry or mirror: scripts use what the machine is configured to use, and work where only
# a mirror can be reached.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# Words with dots are split here, so that this file does not name them.
registries='(deb|ftp|archive|ports|security|snapshot|packages|cdn-aws|httpredir)[.a-z]*\.(debian|ubuntu)\.(org|com)'
registries+='|(apt|yum|ftp|download)\.postgresql\.org|pypi\.(org|io)|pythonhosted\.org|npmjs\.(org|com)|nodesource\.com'
registries+='|(docker|ghcr|quay|gcr)\.io|crates\.io|cpan\.org|conda\.anaconda\.org|rubygems\.org|maven\.org'
registries+='|api\.pgxn\.org|(developer|repo)\.download\.nvidia\.com|mirror(s|list)?\.[a-z0-9-]+\.(org|com|net)'
found=$(grep -rnIEo "\b($registries)\b" . --exclude-dir=.git --exclude-dir=build --exclude-dir=__pycache__ || true)
[ -z "$found" ] && exit 0
echo "hosts: these files name hosts of package registries:"
echo "$found"
exit 1
