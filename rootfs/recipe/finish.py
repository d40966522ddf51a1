"""Makes an image of a Debian that has just been installed; runs in its root, as root.

argv: the name of the image, the packages it is for, those to do without, and patterns of paths to leave out (each
a list of words). Removes what none of the packages needs, dpkg and apt too, records the rest as SPDX, and compiles
Python's modules. Nothing here depends on the time, the machine or the order of a directory.
"""

import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

STATUS = Path("/var/lib/dpkg/status")
INFO = Path("/var/lib/dpkg/info")
SPDX = Path("/usr/share/scidex/packages.spdx.json")
# Made by the installation, or of use to nothing but another one.
REFUSE = (
    "/etc/.pwd.lock /etc/X11 /etc/apt /etc/cron.d /etc/cron.daily /etc/dpkg /etc/fstab /etc/group- /etc/gshadow "
    "/etc/hostname /etc/init.d /etc/machine-id /etc/pam.d /etc/passwd- /etc/resolv.conf /etc/security /etc/shadow "
    "/etc/shadow- /etc/subgid /etc/subuid /etc/systemd /usr/share/debconf /var/backups /var/cache /var/lib /var/log"
)
EMPTY = "/boot /home /media /mnt /opt /run /srv /tmp /var/tmp"
CHUNKS = 4


def paragraphs(text):
    """Yield Debian's control paragraphs, each a dictionary of its fields."""
    for paragraph in text.split("\n\n"):
        fields, name = {}, None
        for line in paragraph.splitlines():
            if line[:1] in (" ", "\t"):
                fields[name] += "\n" + line
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def names(field):
    """Yield, for every dependency of a field, the names of its alternatives without versions."""
    for group in field.split(","):
        if group.strip():
            yield [one.split()[0].split(":")[0] for one in group.split("|")]


def needed(installed, roots, without):
    """Return the packages that the roots need, leaving out some and what only those need."""
    provided = defaultdict(list)
    for name, fields in sorted(installed.items()):
        for (virtual,) in names(fields.get("Provides", "")):
            provided[virtual].append(name)
    keep, left = set(), list(roots)
    while left:
        name = left.pop()
        if name in keep or name in without:
            continue
        keep.add(name)
        fields = installed[name]
        for group in [*names(fields.get("Pre-Depends", "")), *names(fields.get("Depends", ""))]:
            here = [one for one in group if one in installed]
            here += [provider for one in group for provider in provided[one]]
            if not here:
                raise SystemExit(f"{name} needs {' or '.join(group)}, which is not installed")
            left.append(here[0])
    return keep


def files_of(package, fields):
    qualified = INFO / f"{package}:{fields['Architecture']}.list"
    listed = qualified if qualified.exists() else INFO / f"{package}.list"
    # /bin/x and /usr/bin/x are one.
    return {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in listed.read_text().splitlines()}


def remove_others(installed, keep):
    kept = set().union(*(files_of(name, installed[name]) for name in keep))
    dropped = set().union(*(files_of(name, installed[name]) for name in installed.keys() - keep))
    for path in sorted(dropped - kept, reverse=True):  # what is in a directory before the directory
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        elif os.path.isdir(path) and not os.listdir(path):
            os.rmdir(path)


def remove_refuse():
    for path in REFUSE.split():
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
    for path in EMPTY.split():
        for entry in os.scandir(path) if os.path.isdir(path) else ():
            shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)
    for directory in ("/var/cache", "/var/lib/dpkg", "/var/log"):
        os.makedirs(directory, exist_ok=True)


def remove_matching(patterns):
    for directory, directories, files in os.walk("/usr", topdown=False):
        paths = [os.path.join(directory, name) for name in files]
        matching = [path for path in paths if any(fnmatchcase(path, pattern) for pattern in patterns)]
        for path in matching:
            os.unlink(path)
        if matching and not os.listdir(directory):
            os.rmdir(directory)


def remove_dangling():
    """Links to what is gone: alternatives, and what led to them."""
    for top in ("/etc", "/usr"):
        for directory, directories, files in os.walk(top):
            for name in directories + files:
                path = os.path.join(directory, name)
                if os.path.islink(path) and not os.path.exists(path):
                    os.unlink(path)


def checksums():
    """Return the SHA-256 of the .deb of every name, version and architecture that apt knows."""
    known = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    return {(p["Package"], p["Version"], p["Architecture"]): p["SHA256"] for p in paragraphs(known) if "SHA256" in p}


def source_of(fields):
    """Return the name and the version of the source package."""
    name, _, version = fields.get("Source", fields["Package"]).partition(" ")
    return name, version.strip("()") or fields["Version"]


def spdx_package(fields, known):
    name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
    source, source_version = source_of(fields)
    package = {
        "SPDXID": f"SPDXRef-Package-{name.replace('+', '-plus-')}-{architecture}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from the Debian source package {source} {source_version}",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{escape(name)}@{escape(version)}?arch={architecture}"
                f"&distro=bookworm&upstream={escape(source)}%40{escape(source_version)}",
            }
        ],
    }
    if (name, version, architecture) in known:
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": known[name, version, architecture]}]
    return package


def escape(text):
    return "".join(c if c.isalnum() or c in ".-_~" else f"%{ord(c):02X}" for c in text)


def spdx(image, fields_of_all, known):
    """Return the SPDX 2.3 document, whose namespace follows from its contents."""
    packages = [spdx_package(fields, known) for fields in fields_of_all]
    top = {
        "SPDXID": "SPDXRef-Image",
        "name": image,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "CONTAINER",
    }
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": image,
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scidex-oci-build-rootfs"]},
        "packages": [top, *packages],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": top["SPDXID"]},
            *(
                {"spdxElementId": top["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": p["SPDXID"]}
                for p in packages
            ),
        ],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).digest()
    document["documentNamespace"] = f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=5)}"
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def compile_modules():
    """Write the compiled form of all modules. It is never compared with the source, whose time an image may change.

    What Python writes depends on what the same process did before, and on whether it had its own modules from a
    source or compiled: each process has its fixed share, and sees nothing that another one writes.
    """
    for cache in sorted(Path("/usr").rglob("__pycache__")):
        shutil.rmtree(cache)
    modules = sorted(str(path) for path in Path("/usr").glob("lib/python3*/**/*.py"))
    shares = [(Path(f"/tmp/compiled.{number}"), modules[number::CHUNKS]) for number in range(CHUNKS)]
    for worker in [compiler(aside, share) for aside, share in shares]:
        worker.wait()  # a module that is a template or for another Python cannot be compiled: it stays a source
    for aside, share in shares:
        for module in map(Path, share):
            name = f"{module.stem}.{sys.implementation.cache_tag}.pyc"
            compiled = aside / module.parent.relative_to("/") / name
            if compiled.exists():
                (module.parent / "__pycache__").mkdir(exist_ok=True)
                shutil.move(compiled, module.parent / "__pycache__" / name)
        shutil.rmtree(aside)


def compiler(aside, modules):
    """Start a process that compiles the modules to a directory aside."""
    words = "/usr/bin/python3 -B -s -m compileall -q --invalidation-mode unchecked-hash -i -".split()
    env = {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": str(aside)}
    process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    process.stdin.write("\n".join(modules))
    process.stdin.close()
    return process


def main():
    image, roots, without = sys.argv[1], sys.argv[2].split(), set(sys.argv[3].split())
    everything = {fields["Package"]: fields for fields in paragraphs(STATUS.read_text())}
    known = checksums()
    keep = needed(everything, roots, without)
    remove_others(everything, keep)
    subprocess.run(["/usr/sbin/ldconfig", "-X"], check=True)  # its auxiliary cache goes with /var/cache
    remove_refuse()
    remove_matching(sys.argv[4].split())
    remove_dangling()
    kept = [everything[name] for name in sorted(keep)]
    STATUS.write_text("".join("".join(f"{key}: {value}\n" for key, value in f.items()) + "\n" for f in kept))
    SPDX.parent.mkdir(parents=True)
    SPDX.write_text(spdx(image, kept, known))
    compile_modules()


main()
