#!/bin/sh
# Prints the krew manifest of a release: fill.sh VERSION OWNER/REPOSITORY FOLDER, where FOLDER holds the four archives.
set -eu
version=$1 repository=$2 folder=$3
sum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}
set -- -e "s|{{VERSION}}|$version|" -e "s|{{REPOSITORY}}|$repository|" -e '/^#/d'
for platform in linux-x64 linux-arm64 darwin-x64 darwin-arm64; do
  name=SHA256_$(echo "$platform" | tr 'a-z-' 'A-Z_')
  hash=$(sum "$folder/kubectl-portcullis-$platform.tar.gz")
  set -- "$@" -e "s|{{$name}}|$hash|"
done
sed "$@" "$(dirname "$0")/portcullis.yaml"
