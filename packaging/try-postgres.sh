#!/usr/bin/env bash
# Two gateways that share one index in PostgreSQL, to try it on this machine: a database of its own in a temporary
# directory, by the system's programs, reached by a unix socket only. Ctrl-C ends everything and leaves nothing behind.
# Usage: packaging/try-postgres.sh [KUBECONFIG] [further flags of serve]
set -eu
kubeconfig=${1:-$HOME/.kube/config}
[ $# -eq 0 ] || shift
portcullis=$(cd "$(dirname "$0")/.." && pwd)/bin/portcullis.mjs
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$programs" ] || programs=$(dirname "$(command -v initdb || true)")
if [ ! -x "$programs/initdb" ]; then
  echo 'no PostgreSQL is installed (Debian: apt-get install postgresql)' >&2
  exit 1
fi

place=$(mktemp -d "${TMPDIR:-/tmp}/portcullis-try.XXXXXX")
gateways=()
database() { "$programs/$1" "${@:2}"; }
if [ "$(id -u)" = 0 ]; then
  # PostgreSQL refuses to run as root; Debian's package has made a user for it.
  database() { setpriv --reuid=postgres --regid=postgres --init-groups "$programs/$1" "${@:2}"; }
fi
finish() {
  trap - EXIT
  trap '' INT TERM
  for pid in ${gateways[@]+"${gateways[@]}"}; do kill "$pid" 2>/dev/null || true; done
  wait
  [ ! -e "$place/postgres/data/postmaster.pid" ] || database pg_ctl -D "$place/postgres/data" -m immediate stop >"$place/stop.log"
  rm -rf "$place"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$place/postgres"
(umask 077 && head -c 24 /dev/urandom | base64 >"$place/password" && cp "$place/password" "$place/postgres/password")
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$place"
  chown -R postgres "$place/postgres"
fi
database initdb -D "$place/postgres/data" -U portcullis -A scram-sha-256 --pwfile="$place/postgres/password" \
  -E UTF8 --locale=C.UTF-8 -N >"$place/initdb.log"
# In a session of its own, so that Ctrl-C does not end it before the gateways.
database pg_ctl -D "$place/postgres/data" -l "$place/postgres/log" -w start \
  -o "-c listen_addresses='' -c unix_socket_directories=$place/postgres" >"$place/start.log"

url="postgres:///postgres?host=$place/postgres&user=portcullis"
for replica in one two; do
  node "$portcullis" serve --identity self --kubeconfig "$kubeconfig" --data-dir "$place/$replica" \
    --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0 \
    --index-store "$url" --index-store-password-file "$place/password" "$@" >"$place/$replica.out" 2>"$place/$replica.log" &
  gateways+=($!)
  until server=$(grep -om1 'https://127.0.0.1:[0-9]*' "$place/$replica.out"); do
    kill -0 $! 2>/dev/null || { cat "$place/$replica.out" "$place/$replica.log" >&2; exit 1; }
    sleep 0.1
  done
  node "$portcullis" kubeconfig --server "$server" --certificate-authority "$place/$replica/ca.crt" \
    --token "$(cat "$place/$replica/self.token")" --all --index --output "$place/$replica.kubeconfig" >/dev/null
  echo "replica $replica: kubectl --kubeconfig $place/$replica.kubeconfig --context portcullis-all get deployments -A"
done
echo 'Both answer from one index. Ctrl-C ends them and the database, and removes everything.'
wait -n
echo 'a gateway has ended:' >&2
tail -n 5 "$place"/*.log >&2
