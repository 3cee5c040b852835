#!/bin/sh
# Puts together the root file system of the image: rootfs.sh APP TARGET. APP holds the built program and production modules.
# A missing library shows only when the process starts, so everything ldd names is copied, and a name it cannot find ends the build.
set -eu
app=$1
target=$2
# The package of this platform, which npm has checked against the lock file; npm leaves it out when it does not match, and this ends the build.
node=$(readlink -f "$app/node_modules/.bin/node")
test -x "$node" || { echo "rootfs.sh: npm ci left out the Node of the lock file" >&2; exit 1; }

mkdir -p "$target/nodejs/bin" "$target/app" "$target/etc/ssl/certs" "$target/tmp" "$target/var/lib/portcullis"
cp "$node" "$target/nodejs/bin/node"

libraries=$(ldd "$node")
if echo "$libraries" | grep 'not found' >&2; then exit 1; fi
# Where the loader looks without a cache: the path it was found at.
echo "$libraries" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$target$(dirname "$library")"
  cp -L "$library" "$target$library"
done

for part in package.json LICENSE bin dist node_modules; do
  cp -R "$app/$part" "$target/app/$part"
done
# The binary is in /nodejs already. Its package and npm's shims are of no use at run time, nor is the demo with its simulator.
rm -rf "$target/app/node_modules"/node-linux-* "$target/app/node_modules/.bin"
rm -rf "$target/app/dist/sim" "$target/app/dist/bin"/demo*.js

cp /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs/ca-certificates.crt"
echo 'hosts: files dns' >"$target/etc/nsswitch.conf"
echo 'nonroot:x:65532:65532:nonroot:/var/lib/portcullis:/sbin/nologin' >"$target/etc/passwd"
echo 'nonroot:x:65532:' >"$target/etc/group"
chmod 1777 "$target/tmp"
chown 65532:65532 "$target/var/lib/portcullis" 2>/dev/null || true
