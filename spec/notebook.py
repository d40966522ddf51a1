"""Executes the notebook argv[1] in the working directory and saves it there under its own name, also when a
cell fails or the run is ended: with the outputs so far."""
import os
import re
import signal
import sys
import tempfile
import time

source = sys.argv[1]
target = os.path.basename(source)


def stop(code, message):
    sys.stderr.write(f"{target}: {message}\n")
    sys.exit(code)


try:
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    from traitlets.config import Config
except ImportError as error:
    stop(127, f"Python here cannot run notebooks ({error}): install nbclient, nbformat and ipykernel")

# To bind a TCP port, ZeroMQ asks netlink for the interfaces, and aborts where that is refused as it is here. So
# all goes over unix sockets, also the one to itself by which a kernel takes what its forked children print.
KERNEL = """
import os, zmq
from ipykernel.kernelapp import launch_new_instance
port = os.getpid()
tcp, unix, connect = f"tcp://127.0.0.1:{port}", f"ipc://@iopub-{port}", zmq.Socket.connect
zmq.Socket.bind_to_random_port = lambda socket, *_, **__: (socket.bind(unix), port)[1]
zmq.Socket.connect = lambda socket, address: connect(socket, unix if address == tcp else address)
launch_new_instance()
"""


class Kernel(AsyncKernelManager):
    def format_kernel_cmd(self, *args, **named):
        command = super().format_kernel_cmd(*args, **named)
        if command[1:3] == ["-m", "ipykernel_launcher"]:
            command[1:3] = ["-c", KERNEL]
        return command


notebook = None
saved, cost, ran = time.monotonic(), 0.0, 0


def save():
    global saved, cost
    start = time.monotonic()
    with open(target + ".part", "w", encoding="utf-8") as file:
        nbformat.write(notebook, file)
    os.replace(target + ".part", target)
    saved = time.monotonic()
    cost = saved - start


def position():
    return f"cell {ran} of {sum(cell.cell_type == 'code' for cell in notebook.cells)}"


def before(**_):
    global ran
    ran += 1
    sys.stderr.write(f"{target}: {position()}\n")


def after(**_):
    # Whatever kills us next, this is kept; saving a large notebook takes no more than a tenth of the time.
    if time.monotonic() - saved >= 10 * cost:
        save()


def kernel():
    wanted = notebook.metadata.get("kernelspec", {})
    name, here = wanted.get("name", "python3"), sorted(KernelSpecManager().find_kernel_specs())
    if name in here:
        return name
    language = wanted.get("language") or notebook.metadata.get("language_info", {}).get("name", "python")
    if language != "python" or "python3" not in here:
        stop(127, f"there is no kernel {name} here, only: {', '.join(here) or 'none'}")
    sys.stderr.write(f"{target}: there is no kernel {name} here, so python3 runs it\n")
    return "python3"


def client():
    return NotebookClient(
        notebook,
        kernel_name=kernel(),
        kernel_manager_class=Kernel,
        config=Config(Kernel={"transport": "ipc", "ip": os.path.join(tempfile.mkdtemp(), "kernel")}),
        timeout=None,  # the run has its own
        startup_timeout=10**6,
        record_timing=False,  # the same notebook twice is the same bytes
        resources={"metadata": {"path": os.getcwd()}},
        on_cell_execute=before,
        on_cell_executed=after,
    )


os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # nobody debugs here
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    notebook = nbformat.read(source, as_version=4)
except Exception as error:
    stop(1, f"this is no notebook: {error}")
try:
    client().execute()
except CellExecutionError as error:
    sys.stderr.write(re.sub("\x1b\\[[0-9;]*m", "", f"{error}\n"))  # a log is no terminal
    stop(1, f"{position()}: {error.ename}: {error.evalue}")
except (DeadKernelError, RuntimeError) as error:
    stop(1, f"{position()}: {error}")
finally:
    save()
