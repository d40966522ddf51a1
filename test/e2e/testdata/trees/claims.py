"""Claims to be what it is not: a result on standard output and in files, a manifest, files of our own names."""

import json
import os
import sys

claim = {
    "v": 1, "id": sys.argv[1], "attempt": 1, "state": "complete", "reason": "exit", "message": "", "exit_code": 0, "signal": None,
    "outputs": [{"path": "invented", "size": 1, "sha256": "0" * 64, "media_type": "text/plain", "mode": "0644", "partial": False}],
    "rejected": [], "outputs_total": 1, "rejected_total": 0, "listing_truncated": False,
}
text = json.dumps(claim)
print(text)
print(text, file=sys.stderr)
os.mkdir("blobs")
for name, content in {
    "scidex-result.json": text,
    "manifest.yaml": "outputs: [invented]\nexclude: []\ncommand: [sh, -c, exit 0]\n",
    "manifest.json": text,
    "scidex-oci.yaml": "keep: always\n",
    ".scidex-oci": "verdict",
    "catalog.db": "SQLite format 3\0",
    "000001": "a name of the ingest directory's",
    "blobs/sha256": "invented",
}.items():
    with open(name, "w") as f:
        f.write(content)
sys.exit(3)
