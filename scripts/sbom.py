#!/usr/bin/env python3
"""scripts/sbom.py NAME GO.SUM BINARY...: prints what the binaries of a release are made of as SPDX 2.3.

Go modules and the toolchain are what `go version -m` reads from the binaries themselves. What C brought comes on standard
input, a line `NAME VERSION PURL [MODULE]` each: it is in the binaries that have the module, or in all. A build from vendored
modules records no sums: they come from go.sum.
"""

import datetime
import hashlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

MODULE = "github.com/scidex-ai/scidex-oci"


def modules(binary):
    """Yield the toolchain and the modules in the binary as (name, version, purl)."""
    listing = subprocess.run(["go", "version", "-m", binary], check=True, capture_output=True, text=True).stdout
    first, *lines = listing.splitlines()
    go = first.rpartition(": go")[2]
    yield "std", go, f"pkg:golang/std@{go}"
    for fields in (line.split("\t")[1:] for line in lines):
        if fields[0] == "=>":
            raise SystemExit(f"sbom: {fields[1]} takes the place of another module, which is not understood here")
        if fields[0] == "dep":
            yield fields[1], fields[2], f"pkg:golang/{escape(fields[1])}@{escape(fields[2])}"


def escape(text):
    """Percent-encode what a package URL keeps for itself; a slash divides the parts of a name."""
    return "".join(c if c.isascii() and c.isalnum() or c in "/.-_~" else f"%{ord(c):02X}" for c in text)


def sums(path):
    """Return the sums of modules, "h1:...", by name and version."""
    lines = (line.split() for line in Path(path).read_text().splitlines())
    return {(name, version): value for name, version, value in lines}


def package(number, part, known):
    name, version, purl = part
    told = {
        "SPDXID": f"SPDXRef-Package-{number}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ],
    }
    if (name, version) in known:
        told["sourceInfo"] = f"go.sum: {known[name, version]}"
    elif purl.startswith("pkg:golang/") and name != "std":
        raise SystemExit(f"sbom: go.sum does not know {name} {version}")
    return told


def described(number, binary):
    """Return a binary as a package of its own."""
    return {
        "SPDXID": f"SPDXRef-Binary-{number}",
        "name": Path(binary).name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
        "sourceInfo": MODULE,
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(Path(binary).read_bytes()).hexdigest()}],
    }


def document(name, parts_of, known):
    """Return the document of the binaries and their parts. Its namespace follows from its contents."""
    numbers = {part: number for number, part in enumerate(dict.fromkeys(part for parts in parts_of.values() for part in parts), 1)}
    packages, relationships = [], []
    for number, (binary, parts) in enumerate(parts_of.items(), 1):
        top = described(number, binary)
        packages.append(top)
        relationships.append(relate("SPDXRef-DOCUMENT", "DESCRIBES", top["SPDXID"]))
        relationships += [relate(top["SPDXID"], "STATIC_LINK", f"SPDXRef-Package-{numbers[part]}") for part in parts]
    packages += [package(number, part, known) for part, number in numbers.items()]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    told = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scidex-oci-sbom"]},
        "packages": packages,
        "relationships": relationships,
    }
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).digest()
    told["documentNamespace"] = f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=5)}"
    return told


def relate(element, relationship, other):
    return {"spdxElementId": element, "relationshipType": relationship, "relatedSpdxElement": other}


def main():
    name, go_sum, *binaries = sys.argv[1:]
    others = [line.split() for line in sys.stdin]
    parts_of = {}
    for binary in binaries:
        parts = list(modules(binary))
        names = {part[0] for part in parts}
        parts_of[binary] = parts + [tuple(other[:3]) for other in others if names.issuperset(other[3:])]
    print(json.dumps(document(name, parts_of, sums(go_sum)), indent=1, sort_keys=True))


main()
