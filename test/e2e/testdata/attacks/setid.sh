#!/bin/sh
# Carries set-id bits into the working directory with the tools that everybody has: the file that is
# copied has them, in data and in an archive.
#
# item: 10
. "${0%/*}/lib/attack.sh"

data=$(arena data)
umask 0

became() { [ -u "$1" ] || [ -g "$1" ]; }

# carried NAME COMMAND...: the command makes the file made, with the bits.
carried() {
  try=$1
  shift
  rm -rf made
  "$@" </dev/null >/dev/null 2>&1
  attempt "$try" became made
}

python3 - <<'PYTHON'
import io
import tarfile

with tarfile.open("archive.tar", "w") as archive:
    entry = tarfile.TarInfo("made")
    entry.mode = 0o6755
    archive.addfile(entry, io.BytesIO())
PYTHON

carried "cp -a" cp -a "$data/setid" made
carried "cp -p" cp -p "$data/setid" made
carried "cp --preserve=mode" cp --preserve=mode "$data/setid" made
carried "install -m" install -m 6755 "$data/kept" made
carried "mkdir -m" mkdir -m 6777 made
carried "tar -xp" tar --no-same-owner -xpf archive.tar
carried "tar --same-permissions over a pipe" sh -c 'tar --no-same-owner -xpf - <archive.tar'
carried "python's tarfile" python3 -c 'import tarfile; tarfile.TarFile.extraction_filter = None; tarfile.open("archive.tar").extractall()'
carried "python's shutil" python3 -c 'import shutil, sys; shutil.copystat(sys.argv[1], shutil.copyfile(sys.argv[1], "made"))' "$data/setid"
carried "chmod by name" sh -c 'touch made; chmod u+s,g+s made'
carried "chmod --reference" sh -c 'touch made; chmod --reference="$0" made' "$data/setid"
carried "a link" ln "$data/setid" made
carried "a rename" mv -f "$data/setid" made
report
