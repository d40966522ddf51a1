"""What makes containers beside scidex-oci: runc and crun of the bundle of `spec`, bubblewrap, and podman."""

import json
import os
import re
import resource
import subprocess
import tarfile
from pathlib import Path

from measure import Failed, take


class Peers:
    """The commands that run `true`, by name, of the peers that start here. {} in a command is the number of the container."""

    def __init__(self, bench, samples):
        self.bundle, self.work, self.scratch = bench.scratch / "bundle", bench.scratch / "work", bench.scratch
        if not self.bundle.exists():
            take([bench.tool, "--root", bench.root("spec"), "spec", "--bundle", str(self.bundle), *bench.request, "--", "true"])
            self.work.mkdir()
        self.samples, self.commands = samples, {}

    def add(self, *names):
        for name in names:
            self.add_command(name, self.bwrap() if name == "bwrap" else self.oci(name))

    def add_command(self, name, command):
        """Keep the command if it succeeds once."""
        try:
            take([word.replace("{}", "0") for word in command])
            self.commands[name] = command
        except Failed as why:
            self.samples.missing[name] = str(why)

    def oci(self, program):
        return [program, "--root", str(self.scratch / program), "run", "--bundle", str(self.bundle), f"bench-{os.getpid()}-{{}}"]

    def bwrap(self):
        """The same root, binds, tmpfs, environment and ids; bwrap has no control groups, system call filter, rlimits and masks."""
        config = json.loads((self.bundle / "config.json").read_text())
        user, variables = config["process"]["user"], config["process"]["env"]
        words = ["bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--hostname", config["hostname"]]
        words += ["--uid", str(user["uid"]), "--gid", str(user["gid"]), "--cap-drop", "ALL", "--clearenv"]
        words += [word for variable in variables for word in ("--setenv", *variable.split("=", 1))]
        words += ["--ro-bind", config["root"]["path"], "/"]
        words += [word for mount in config["mounts"] for word in self.bwrap_mount(mount)]
        return [*words, "--chdir", config["process"]["cwd"], "true"]

    def bwrap_mount(self, mount):
        place, kind = mount["destination"], mount["type"]
        if place == "/work":  # that of the bundle belongs to an id that bwrap does not map
            return "--bind", str(self.work), place
        if place == "/dev" or kind == "proc":
            return f"--{place[1:]}", place
        if kind == "bind":
            return "--ro-bind", mount["source"], place
        if kind == "tmpfs":
            size = next(option[5:] for option in mount["options"] if option.startswith("size="))
            return "--size", size, "--tmpfs", place
        if kind == "devpts":  # --dev makes it
            return ()
        raise Failed(f"bwrap has no option for a mount of type {kind}")


class Podman:
    """podman with a storage of its own and an image of nothing but `true`. It cleans up at the end of a with statement."""

    def __init__(self, scratch):
        self.scratch, self.group = scratch, f"/{scratch.name}"
        self.command = ["podman", "--log-level=error", "--storage-driver=overlay", "--root", str(scratch / "graph")]
        self.command += ["--runroot", str(scratch / "run/storage"), "--tmpdir", str(scratch / "run/tmp")]

    def __enter__(self):
        return self

    def run(self):
        group = ["--cgroup-parent", self.group] if os.getuid() == 0 else []
        return [*self.command, "run", "--rm", "--network=none", *group, "localhost/true", "true"]

    def load(self):
        """Configure it, and import the image."""
        config = self.scratch / "containers.conf"
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        # Root without CAP_SYS_RESOURCE may not have the limits that podman sets by default.
        text = f'[containers]\ndefault_ulimits = ["nofile={files}:{files}", "nproc=1024:1024"]\n'
        text += '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\nlock_type = "file"\n'
        config.write_text(text)
        os.environ["CONTAINERS_CONF"] = str(config)
        image = self.scratch / "true.tar"
        libraries = re.findall(r"(/\S+)", subprocess.run(["ldd", "/usr/bin/true"], check=True, capture_output=True, text=True).stdout)
        with tarfile.open(image, "w", dereference=True) as archive:
            for file in ("/usr/bin/true", *libraries):
                archive.add(file)
        take([*self.command, "import", "--quiet", "--change", "ENV PATH=/usr/bin", str(image), "localhost/true"])

    def __exit__(self, *_):
        """Remove a mount and control groups of root's, and an ordinary user's process and files of other ids."""
        graph, pause = self.scratch / "graph", self.scratch / "run/tmp/pause.pid"
        remove = ["sh", "-c", '! mountpoint -q "$1/overlay" || umount "$1/overlay"; rm -rf "$1"', "sh", str(graph)]
        if graph.exists():
            subprocess.run(remove if os.getuid() == 0 else [*self.command, "unshare", *remove], check=True)
        if pause.exists():
            os.kill(int(pause.read_text()), 15)
        for parent in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()):
            for made in (parent / self.group[1:] / "conmon", parent / self.group[1:]):
                if made.is_dir():
                    made.rmdir()
