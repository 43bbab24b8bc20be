"""Refuses a wheel that would overwrite a file of nanobot's, or lays more into its folders than the channel's own."""

import sys
import zipfile
from importlib.metadata import files

ours = set(zipfile.ZipFile(sys.argv[1]).namelist())
theirs = {str(path) for path in files("nanobot-ai") or []}
problems = sorted(ours & theirs)
problems += sorted(
    name
    for name in ours
    if name.startswith("nanobot/") and not name.startswith("nanobot/channels/realtime/")
)
inside = {name for name in ours if name.startswith("nanobot/channels/realtime/")}
wanted = {
    f"nanobot/channels/realtime/{name}.py"
    for name in ("__init__", "manifest", "runtime")
}
if problems or inside != wanted or not theirs:
    sys.exit(f"Not like this: {problems or sorted(inside ^ wanted)}")
print(f"{len(ours)} files, none of nanobot's {len(theirs)}")
