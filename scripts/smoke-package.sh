#!/usr/bin/env bash
# Installs the packed tarball into an empty folder, as a user would, and runs it: on the pinned Node the version and
# the demo, on an old Node the clear error.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$root"
tarball=$(npm pack --silent --ignore-scripts --pack-destination "$work" | tail -n 1)
mkdir "$work/app"
cd "$work/app"
echo '{"name":"smoke","version":"1.0.0","private":true,"type":"module"}' >package.json
npm install --silent --no-fund --no-audit "$work/$tarball"

# The pages are in it: two documents, and every file that they name.
pages="$work/app/node_modules/nanobot-channel-realtime/web/dist"
for page in talk operate; do
  grep -oE '\./assets/[A-Za-z0-9._-]+' "$pages/$page.html" | while read -r file; do
    [ -s "$pages/$file" ] || { echo "$page.html names $file, which is not in the package" && exit 1; }
  done
done
ls "$pages"/assets/*.js "$pages"/assets/*.css >/dev/null
echo "pages: $(du -ch "$pages"/assets/* | tail -n 1 | cut -f1) in all"

node="$root/node_modules/.bin/node"
bin="$work/app/node_modules/nanobot-channel-realtime/bin/nanobot-realtime.js"

version=$("$node" "$bin" --version)
echo "version: $version"
[ "$version" = "$("$node" -p "require('$root/package.json').version")" ]

"$node" "$bin" demo --fast | tee demo.txt
grep -q 'ended by agent hangup' demo.txt
ls demo-output/*/call.wav demo-output/*/call.json demo-output/*/call.html

"$node" --input-type=module -e "
  const { RealtimeVoiceChannel } = await import('nanobot-channel-realtime');
  const testing = await import('nanobot-channel-realtime/testing');
  if (RealtimeVoiceChannel.wantsToolGateway !== true) throw new Error('the channel does not opt in');
  for (const name of ['FakeCarrier', 'FakeModel', 'FakeGateway', 'FakeClock']) {
    if (typeof testing[name] !== 'function') throw new Error('testing lacks ' + name);
  }
  console.log('imports: ok');
"

# An old Node: the one on this machine if it is old enough, else one from the registry.
old=$(command -v node)
case "$("$old" --version)" in
  v1[0-9].* | v20.* | v21.*) ;;
  *)
    mkdir "$work/old" && cd "$work/old" && echo '{"name":"old","version":"1.0.0","allowScripts":{"node":true}}' >package.json
    npm install --silent --no-fund --no-audit node@20
    old="$work/old/node_modules/.bin/node"
    ;;
esac
if "$old" "$bin" demo --fast >old.txt 2>&1; then
  echo "an old Node ($("$old" --version)) should have been refused" && exit 1
fi
grep -q 'needs Node 22.19 or newer' old.txt
echo "old Node $("$old" --version): refused, and told what to do"
