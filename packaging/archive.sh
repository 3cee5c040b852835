#!/bin/sh
# Makes an archive that runs on a machine without Node and without npm: archive.sh TARBALL OS CPU OUT.tar.gz
# TARBALL is what `npm pack` made. OS and CPU are npm's words: linux or darwin, x64 or arm64.
# The archive holds the program, its packages and Node itself, each by the version and hash of the lock file in the tarball. krew unpacks no symbolic
# links, so there are none.
set -eu
tarball=$1 os=$2 cpu=$3 out=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$folder/kubectl-portcullis

tar -xzf "$tarball" -C "$folder"
mv "$folder/package" "$here"
npm ci --prefix "$here" --omit=dev --os "$os" --cpu "$cpu" --ignore-scripts --no-audit --no-fund
set -- "$here"/node_modules/node-*/bin/node
test $# -eq 1 && test -f "$1" || { echo "archive.sh: not one Node for $os $cpu: $*" >&2; exit 1; }
mv "$1" "$here/node"
rm -rf "$here"/node_modules/node-* "$here/npm-shrinkwrap.json"
find "$here/node_modules" -name .bin -prune -exec rm -rf {} +
# Under this name the program calls itself `kubectl portcullis`.
mv "$here/bin/portcullis.mjs" "$here/bin/kubectl-portcullis.mjs"
cat >"$here/kubectl-portcullis" <<'LAUNCHER'
#!/bin/sh
# Runs the program with the Node beside it, also when called by a link.
file=$0
while [ -L "$file" ]; do
  link=$(readlink "$file")
  case $link in /*) file=$link ;; *) file=$(dirname "$file")/$link ;; esac
done
here=$(cd "$(dirname "$file")" && pwd)
exec "$here/node" "$here/bin/kubectl-portcullis.mjs" "$@"
LAUNCHER
chmod 755 "$here/kubectl-portcullis" "$here/node"
links=$(find "$here" -type l)
test -z "$links" || { echo "archive.sh: krew unpacks no links: $links" >&2; exit 1; }
tar -czf "$out" -C "$folder" kubectl-portcullis
