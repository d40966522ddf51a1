"""Writes the tar of a root on its standard input as an OCI archive: argv is the file to write, the image's name and
the digest of its package list. Prints what it wrote as one JSON object. The same input gives the same bytes."""

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
from datetime import datetime, timezone

# As in Go, which names platforms.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x"}
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
BLOCK = 1 << 20


def compress(source, target):
    """Compress a stream; return the digest and the size of what came. zstd writes the same with
    any number of threads but one."""
    zstd = subprocess.Popen(["zstd", "-q", "-6", "-T2"], stdin=subprocess.PIPE, stdout=target)
    digest, size = hashlib.sha256(), 0
    while block := source.read(BLOCK):
        digest.update(block)
        size += len(block)
        zstd.stdin.write(block)
    zstd.stdin.close()
    if zstd.wait() != 0:
        raise SystemExit("zstd failed")
    return digest.hexdigest(), size


def digest_of(file):
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest(), file.tell()


class Archive:
    def __init__(self, file):
        self.tar = tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT)

    def add(self, name, content, size):
        entry = tarfile.TarInfo(name)
        entry.size, entry.mtime, entry.mode = size, EPOCH, 0o644
        self.tar.addfile(entry, content)

    def blob(self, media_type, value):
        """Add JSON as a blob and return its descriptor."""
        data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        self.add(f"blobs/sha256/{digest}", io.BytesIO(data), len(data))
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def json(self, name, value):
        data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        self.add(name, io.BytesIO(data), len(data))


def main():
    path, name, packages = sys.argv[1:]
    created = datetime.fromtimestamp(EPOCH, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    notes = {"org.opencontainers.image.created": created, "org.scidex.packages": packages}
    with tempfile.TemporaryFile(dir=os.path.dirname(path) or ".") as layer, open(path, "wb") as file:
        diff_id, unpacked = compress(sys.stdin.buffer, layer)
        if unpacked < 10 * BLOCK:
            raise SystemExit("there is no root to write")
        digest, size = digest_of(layer)
        layer.seek(0)
        archive = Archive(file)
        archive.json("oci-layout", {"imageLayoutVersion": "1.0.0"})
        archive.add(f"blobs/sha256/{digest}", layer, size)
        config = archive.blob(
            "application/vnd.oci.image.config.v1+json",
            {
                "architecture": ARCHITECTURES[platform.machine()],
                "os": "linux",
                "created": created,
                "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"], "Cmd": ["python3"], "Labels": notes},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
                "history": [{"created": created, "created_by": f"scidex-oci scripts/build-rootfs {name}"}],
            },
        )
        manifest = archive.blob(
            "application/vnd.oci.image.manifest.v1+json",
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": config,
                "layers": [
                    {"mediaType": "application/vnd.oci.image.layer.v1.tar+zstd", "digest": f"sha256:{digest}", "size": size}
                ],
                "annotations": notes,
            },
        )
        named = {**manifest, "annotations": {"org.opencontainers.image.ref.name": name}}
        archive.json(
            "index.json",
            {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [named]},
        )
        archive.tar.close()
        file.flush()
        os.fsync(file.fileno())
        total = file.tell()
    print(json.dumps({"archive_bytes": total, "tar_bytes": unpacked, "manifest": manifest["digest"], "diff_id": f"sha256:{diff_id}"}))


main()
