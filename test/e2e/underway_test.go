package e2e

import (
	"slices"
	"testing"
)

// underWay sends descriptors that nobody receives until the kernel accepts no more.
const underWay = `import array, socket, time
there, here = socket.socketpair()
here.setblocking(False)
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))]
pairs = []
while True:
    try:
        here.sendmsg([b"x"], rights)
    except BlockingIOError:
        pairs.append((there, here))
        there, here = socket.socketpair()
        here.setblocking(False)
    except OSError as problem:
        print(problem.strerror, flush=True)
        break
print("ready", flush=True)
time.sleep(1000)
`

// TestDescriptorsUnderWay: while a run with the caller's own id has as many descriptors in transit in sockets as it
// can, the next run starts, and the first one is listed and stopped.
func TestDescriptorsUnderWay(t *testing.T) {
	if theHost.root {
		t.Log("not covered here: root has no --ids self (TestSelfIsTheCaller); the tests as other users have")
		return
	}
	h := newHarness(t)
	single := slices.Clip(flags("--ids=self", "--limits=best-effort", "--data=none", "--docs=none"))
	l := h.launch(h.id("holds"), append(single, "--grace=10m", "--", "python3", "-c", underWay)...)
	l.await("Too many references: cannot splice")
	l.await("ready")
	h.start(append([]string{"--id", h.id("next")}, append(single, "--", "true")...)...).expect(t, "complete", "exit", 0)
	h.mustRun("ls")
	h.mustRun("stop", "--now", l.id)
	l.wait().expect(t, "canceled", "stopped", 143)
}
