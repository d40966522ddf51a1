package sandbox

// attacks are what follows serve.py. Of each class the ordinary tiers run one for each place of the product that stops it, and
// scripts/soak runs all.
var attacks = []struct {
	name, module string
	landlock     bool   // only where the kernel has it
	always       bool   // in the ordinary tiers too
	refused      string // why nothing is forked from the template
	seen         string // why a run that was forked from it starts cold; empty: it is forked
	or           string // the reason where the other is not seen in time; empty: there is no other
	says         string // what the template said
}{
	{name: "as fork.c does it", always: true},

	// Drops that are skipped.
	{name: "keeps its capabilities", always: true, module: "def capabilities(): pass\n", seen: `CapEff is "000001ffffffffff"`},
	{name: "keeps its bounding set", module: "def bounding(): pass\n", seen: `CapBnd is "`},
	{name: "keeps inheritable capabilities", module: `
def capset(*sets): return call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", *sets))
def forked(order): capset(0xffffffff, 0xffffffff, 1 << 21, 0x1ff, 0x1ff, 0)
def capabilities(): capset(0, 0, 1 << 21, 0, 0, 0)
`, seen: `CapInh is "0000000000200000"`},
	{name: "stays root", module: `
def ids(order):
    os.setresgid(order.gid, order.gid, order.gid)
    os.setresuid(0, order.uid, order.uid)
`, seen: `Uid is "`},
	{name: "keeps a saved id", module: `
def ids(order):
    os.setresgid(order.gid, order.gid, order.gid)
    os.setresuid(order.uid, order.uid, 0)
`, seen: `Uid is "`},
	{name: "stays in root's group", module: "def ids(order): os.setresuid(order.uid, order.uid, order.uid)\n", seen: `Gid is "`},
	{name: "takes a group", module: "def groups(): os.setgroups([0])\n", seen: `Groups is "`},
	{name: "stays in the session", always: true, module: "def session(): pass\n", seen: "its session is"},
	{name: "has a mask of its own", module: "def umask(order): os.umask(0)\n", seen: `Umask is "0000"`},
	{name: "is not dumpable", module: "def dumpable(): python.prctl(4, 0, 0, 0, 0)\n", seen: "its files are of user"},
	{name: "stays in its directory", module: "def directory(): os.chdir('/')\n", seen: "its working directory is /\n"},

	// What it is started with.
	{name: "ignores a signal", always: true, module: "def dropped(order): signal.signal(15, signal.SIG_IGN)\n", seen: "SigIgn is"},
	{name: "catches a signal", module: "def dropped(order): signal.signal(15, lambda *_: None)\n", seen: "SigCgt is"},
	{name: "blocks signals", module: "def dropped(order): signal.pthread_sigmask(signal.SIG_BLOCK, [15])\n", seen: "SigBlk is"},
	{name: "has another personality", module: "def dropped(order): python.personality(0x20000)\n", seen: "personality is 00020000"},
	{name: "writes to its proc", module: `
def dropped(order):
    for name in "coredump_filter", "oom_score_adj", "timerslack_ns", "setgroups":
        try:
            open("/proc/self/" + name, "w").write("900")
        except OSError:
            continue # /proc is read-only
        os._exit(9)
`},
	{name: "is nice", module: "def dropped(order): os.nice(3)\n", seen: "its nice value is 3"},
	{name: "is a batch", module: "def dropped(order): os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n", seen: "its scheduling policy is 3"},
	{name: "is idle for disks", module: "def dropped(order): call('ioprio_set', 1, 0, 3 << 13)\n", seen: "its priority for disks is"},
	{name: "has lower limits", module: `
import resource
def dropped(order): resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))
`, seen: "limit resource"},
	{name: "is another program", module: `
def dropped(order):
    os.execv("/bin/sh", ["sh", "-c", r"printf 'ready\n\000' >&4; exec sleep 1000"])
`, seen: "exe is another file"},
	{name: "has a filter of its own", always: true, module: `
def dropped(order):
    program = (ctypes.c_ubyte * 8)(6, 0, 0, 0, 0, 0, 0xff, 0x7f)
    call("seccomp", 1, 0, struct.pack("HxxxxxxQ", 1, ctypes.addressof(program)))
`, seen: "Seccomp_filters is"},
	{name: "has an earlier filter of its own", module: `
program = (ctypes.c_ubyte * 8)(6, 0, 0, 0, 0, 0, 0xff, 0x7f)
call("seccomp", 1, 0, struct.pack("HxxxxxxQ", 1, ctypes.addressof(program)))
`, refused: "filters of system calls, not"},

	// Landlock, which the kernel does not show of another process.
	{name: "is not restricted", landlock: true, always: true, module: "def restrict(): pass\n", seen: "not restricted itself by Landlock: it makes the call"},
	{name: "is restricted by no rules", landlock: true, module: `
def keep_rules(order, honestly=keep_rules):
    os.dup2(0, RULES)
    honestly(order)
`, seen: "by other rules"},
	{name: "adds to its rules", landlock: true, always: true, module: `
def keep_rules(order, honestly=keep_rules):
    root = os.open("/", os.O_PATH)
    added = call("landlock_add_rule", RULES, 1, struct.pack("=Qi", 2, root), 0)
    made = call("landlock_create_ruleset", struct.pack("Q", 1), 8, 0)
    os.close(root)
    if (added, made) != (-38, -38):
        os._exit(9)
    honestly(order)
`},
	{name: "is restricted by rules in another place", landlock: true, module: `
def keep_rules(order, honestly=keep_rules):
    os.dup2(RULES, RULES + 1)
    honestly(order)
def restrict():
    call("close_range", RULES + 2, 0xffffffff, 2)
    call("landlock_restrict_self", RULES + 1, 0)
`, seen: "with descriptor 7"},
	{name: "may get other rules", landlock: true, module: "def own_descriptors(): call('close_range', RULES + 1, 0xffffffff, 0)\n", seen: "others may have its descriptors"},
	{name: "restricts one thread", landlock: true, always: true, module: `
import _thread
def keep_rules(order, honestly=keep_rules):
    _thread.start_new_thread(time.sleep, (1000,))
    honestly(order)
`, seen: "it has 2 threads"},
	{name: "is restricted too often", landlock: true, always: true, module: `
def keep_rules(order, honestly=keep_rules):
    for _ in range(16):
        call("landlock_restrict_self", RULES, 0)
    honestly(order)
`, seen: "the kernel has refused it"},

	// What it shares.
	{name: "shares memory", always: true, module: `
def ordered(order): global kept; kept = mmap.mmap(-1, 4096)
`, seen: "it shares memory"},
	{name: "shared memory before", always: true, module: "kept = mmap.mmap(-1, 4096)\n", refused: "it shares memory"},
	{name: "shares System V memory", module: `
python.shmat.restype = ctypes.c_void_p
python.shmat(python.shmget(0, 4096, 0o1600), None, 0)
`, refused: "it shares memory"},
	{name: "shares a memfd", module: `
fd = os.memfd_create("x")
os.ftruncate(fd, 4096)
def ordered(order): global kept; kept = mmap.mmap(fd, 4096)
kept = mmap.mmap(fd, 4096)
os.close(fd)
`, refused: "it shares memory"},
	{name: "reads a file of its template", module: `
fd = os.open("/tmp/spoken", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 4096)
kept = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
os.close(fd)
`, refused: "it shares memory"},
	{name: "shares descriptors", always: true, module: `
def own_descriptors(): pass
def fork_middle(): return call("clone", CLONE_FILES | signal.SIGCHLD, 0, 0, 0, 0)
def fork_child(): return call("clone", CLONE_FILES | signal.SIGCHLD, 0, 0, 0, 0)
def left(order, child):
    control.send(struct.pack("i", child))
    os._exit(0)
def make_only(order, honestly=make):
    told = os.pipe()
    if (pid := fork_middle()) == 0:
        own = os.dup2(CONTROL, 50)
        if join(order) == 0 and (child := fork_child()) == 0:
            become(order)
            return 0
        os.write(own, struct.pack("i", child))
        os._exit(0)
    time.sleep(1000)
make = make_only
`, seen: "its descriptors", or: "the template has ended"}, // as the fork has closed its connection

	// What it keeps.
	{name: "keeps a directory", always: true, module: "def dropped(order): os.open('/', os.O_PATH)\n", seen: "it has descriptor 3"},
	{name: "keeps the proc of its container", module: "def dropped(order): os.open('/proc', os.O_RDONLY)\n", seen: "it has descriptor 3"},
	{name: "keeps a namespace", module: "def joined(order): os.dup2(os.open('/proc/1/ns/mnt', os.O_RDONLY), 90)\n", seen: ""},
	{name: "lacks its input", module: "def dropped(order): os.close(0)\n", seen: "it has 3 descriptors, not 4"},
	{name: "has another output", module: "def dropped(order): os.dup2(os.open('/work/output', os.O_CREAT | os.O_WRONLY), 1); os.unlink('/work/output'); os.close(3)\n", seen: "is another file"},
	{name: "keeps the output in the template", module: `
def ordered(order): os.dup2(order.fds[2], 90)
`, seen: "the template has changed"},
	{name: "keeps a way to speak", module: `
def ordered(order): global kept; kept = socket.socketpair()
`, seen: "the template has changed"},
	{name: "had a way to speak", module: "kept = socket.socketpair()\n", refused: "open as descriptor"},
	{name: "takes a file out of /work", always: true, module: `
kept = []
def ordered(order): kept[:] = socket.socketpair()
def forked(order):
    os.umask(0)
    fd = os.open("/work/file", os.O_RDWR | os.O_CREAT, 0o666)
    socket.send_fds(kept[0], [b"x"], [fd])
    os.unlink("/work/file")
def answer(order, child):
    global stolen
    _, fds, _, _ = socket.recv_fds(kept[1], 1, 1)
    stolen = fds[0]
    for end in kept: end.close()
    return child
`, seen: "the template has changed"},
	{name: "maps a file of /work", module: `
kept = []
def ordered(order): kept[:] = socket.socketpair()
def forked(order):
    fd = os.open("/work/file", os.O_RDWR | os.O_CREAT, 0o666)
    os.ftruncate(fd, 4096)
    socket.send_fds(kept[0], [b"x"], [fd])
    os.unlink("/work/file")
def answer(order, child):
    global stolen
    _, fds, _, _ = socket.recv_fds(kept[1], 1, 1)
    stolen = mmap.mmap(fds[0], 4096)
    os.close(fds[0])
    for end in kept: end.close()
    return child
`, seen: "it shares memory"},
	{name: "stands in /work", module: `
kept = []
def ordered(order): kept[:] = socket.socketpair()
def forked(order): os.chmod("/work", 0o777); socket.send_fds(kept[0], [b"x"], [os.open("/work", os.O_RDONLY)])
def answer(order, child):
    _, fds, _, _ = socket.recv_fds(kept[1], 1, 1)
    os.fchdir(fds[0])
    os.close(fds[0])
    for end in kept: end.close()
    return child
`, seen: "the template has changed"},

	// Processes beside it.
	{name: "has a thread", module: `
import threading
def dropped(order): threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
`, seen: `Threads is "2"`},
	{name: "has a child", always: true, module: `
def dropped(order):
    if python.fork() == 0:
        os.closerange(3, 1024)
        time.sleep(1000)
`, seen: "its container has 3 processes"},
	{name: "has a sibling", module: `
def joined(order):
    if python.fork() == 0: time.sleep(1000)
`, seen: "not said that it is ready"},
	{name: "has an orphan", module: `
def joined(order):
    if python.fork() == 0:
        if python.fork() == 0: time.sleep(1000)
        os._exit(0)
`, seen: "not said that it is ready"},
	{name: "leaves a process", always: true, module: `
if python.fork() == 0: time.sleep(1000)
`, refused: "is left"},
	{name: "leaves a process of the supervisor", module: `
if call("clone", CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0: time.sleep(1000)
`, refused: "is left"},
	{name: "leaves a process later", module: `
def ordered(order):
    if python.fork() == 0:
        os.closerange(3, 1024)
        time.sleep(1000)
`, seen: "is left"},
	{name: "leaves a dead process", module: `
def ordered(order):
    if python.fork() == 0: os._exit(0)
`, seen: "is left"},
	{name: "stays in the container", always: true, module: `
def left(order, child):
    reply(child)
    time.sleep(1000)
`, seen: "has not ended"},
	{name: "writes when the run has ended", module: `
def left(order, child):
    reply(child)
    time.sleep(3)
    while True:
        open("/work/file", "w").write("forged")
`, seen: "has not ended"},
	{name: "has threads", module: `
import threading
threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
`, refused: "a module has started threads"},

	// Answers that are wrong.
	{name: "names itself", module: "def answer(order, child): return os.getpid()\n", seen: "ns/pid is"},
	{name: "names the supervisor", always: true, module: "def answer(order, child): return 1\n", seen: "is a child of 0"},
	{name: "names the container's init", module: `
def answer(order, child):
    text = open("/dev/null").read()
    return init
def ordered(order):
    global init
    init = max(pid for pid in range(2, 200) if pid != os.getpid() and call("pidfd_send_signal", pidfd(pid), 0, 0, 0) == 0)
def pidfd(pid): return call("pidfd_open", pid, 0) if pid else -1
`, seen: "is the container's init"},
	{name: "names all", module: "def answer(order, child): return -1\n", seen: "could not fork"},
	{name: "names none", module: "def answer(order, child): return 0\n", seen: "could not fork"},
	{name: "names a process that is none", module: "def answer(order, child): return 1 << 30\n", seen: "no such file"},
	{name: "answers nonsense", module: `
def answer(order, child): os.write(CONTROL, b"x")
`, seen: "the template has ended"},
	{name: "answers before it is asked", module: `
os.write(CONTROL, struct.pack("i", 1))
`, seen: "no process has joined"},
	{name: "makes no process", always: true, module: `
def make(order): return os.getpid()
`, seen: "no process has joined"},
	{name: "ends", module: `
def ordered(order): os._exit(0)
`, seen: "the template"},
}
