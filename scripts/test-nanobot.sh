#!/usr/bin/env bash
# Proves the Python package against the real nanobot: a virtual environment of its own, the current nanobot-ai, our wheel;
# types, lint, Python's own tests, then calls. Where there is no Python 3.11 or no registry it says so and is content.
#
#   NANOBOT_VERSION=0.3.5 npm run test:nanobot      another version than the current one
#   NANOBOT_VENV=/some/folder npm run test:nanobot  keeps the environment, and uses it again
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n-- %s\n' "$*"; }
skip() {
  printf 'The tests against the real nanobot are skipped: %s\n' "$*"
  exit 0
}

find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$name" >/dev/null &&
      "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  return 1
}

base_python=$(find_python) || skip "there is no Python 3.11 or newer with venv"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${NANOBOT_VENV:-$work/venv}
python=$venv/bin/python

say "A virtual environment, and nanobot-ai in it"
[ -x "$python" ] || "$base_python" -m venv "$venv"
pip() { "$python" -m pip --disable-pip-version-check --quiet "$@"; }
if ! pip install ${NANOBOT_VENV:+--upgrade} "nanobot-ai${NANOBOT_VERSION:+==$NANOBOT_VERSION}" >"$work/pip.log" 2>&1; then
  tail -n 3 "$work/pip.log"
  # A version that somebody asked for by name is no reason to be content.
  [ -z "${NANOBOT_VERSION:-}" ] || exit 1
  skip "nanobot-ai could not be installed; is the Python registry reachable?"
fi
pip install hatchling build mypy ruff pytest >"$work/pip.log" 2>&1 || {
  tail -n 3 "$work/pip.log"
  skip "the tools of the tests could not be installed"
}
printf 'nanobot-ai %s on %s\n' "$("$python" -c 'import nanobot; print(nanobot.__version__)')" "$("$python" --version)"

say "Our wheel: built, without a file of nanobot's, installed and uninstalled"
"$python" -m build --wheel --no-isolation --outdir "$work/dist" python >"$work/build.log" 2>&1 || {
  cat "$work/build.log"
  exit 1
}
wheel=$(echo "$work"/dist/*.whl)
"$python" scripts/check-wheel.py "$wheel"
remove_ours() {
  pip uninstall --yes nanobot-channel-realtime
  find "$venv" -path '*nanobot/channels/realtime*' -name '*.pyc' -delete
  find "$venv" -path '*nanobot/channels/realtime*' -type d -empty -delete
}
# An environment that is used again has it from the last time.
remove_ours >"$work/pip.log" 2>&1
before=$(cd "$venv" && find . -path '*nanobot/*' -not -name '*.pyc' | sort | sha256sum)
pip install --no-deps "$wheel"
remove_ours
after=$(cd "$venv" && find . -path '*nanobot/*' -not -name '*.pyc' | sort | sha256sum)
[ "$before" = "$after" ] || {
  echo "Uninstalling left something in nanobot's folders."
  exit 1
}
pip install --no-deps "$wheel"

say "Python: format, lint, types, tests"
(
  cd python
  "$venv/bin/ruff" format --check --quiet .
  "$venv/bin/ruff" check --quiet .
  "$python" -m mypy --no-error-summary
  too_long=$(find src shim tests -name '*.py' -exec awk 'END { if (NR > 300) print FILENAME }' {} \;)
  [ -z "$too_long" ] || {
    echo "Longer than 300 lines: $too_long"
    exit 1
  }
  "$python" -m pytest -p no:cacheprovider
)

say "Calls against the real nanobot"
NANOBOT_TEST_PYTHON=$python NANOBOT_TEST_WHEELS=$work/dist node_modules/.bin/vitest run --config vitest.nanobot.config.ts
