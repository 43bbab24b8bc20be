#!/bin/sh
# Runs a command with TEST_POSTGRES_URL set to a PostgreSQL server of its own, on a free loopback port, in a
# temporary folder; both are gone afterwards. Without PostgreSQL's programs the command runs all the same, and
# the tests say what they skipped.
#
#   scripts/with-postgres.sh npx vitest run test/store
set -eu

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
  echo "with-postgres: no PostgreSQL server programs found; running without one" >&2
  exec "$@"
fi

# The server refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  user=$(id -un postgres 2>/dev/null || echo nobody)
  as() { setpriv --reuid "$user" --regid "$(id -gn "$user")" --clear-groups env HOME="$dir" "$@"; }
else
  user=$(id -un)
  as() { "$@"; }
fi

dir=$(mktemp -d)
if [ "$(id -u)" = 0 ]; then chown "$user" "$dir"; fi
stop() {
  as "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cd "$dir"
as "$bin/initdb" -D "$dir/data" -U voice -A trust -E UTF8 --locale=C >"$dir/initdb.log" 2>&1 || {
  cat "$dir/initdb.log" >&2
  exit 1
}
# A free port can be taken by another before the server binds it: try a few.
port=""
for _ in 1 2 3 4 5; do
  try=$(node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
  if as "$bin/pg_ctl" -D "$dir/data" -w -t 30 -l "$dir/server.log" \
    -o "-p $try -c listen_addresses=127.0.0.1 -c unix_socket_directories=''" start >/dev/null 2>&1; then
    port=$try
    break
  fi
done
if [ -z "$port" ]; then
  cat "$dir/server.log" >&2
  exit 1
fi
cd "$OLDPWD"

TEST_POSTGRES_URL="postgres://voice@127.0.0.1:$port/postgres"
export TEST_POSTGRES_URL
"$@"
