package egress

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// hostile are proxies, as scripts, that do not do what they should, and what their launcher reports.
var hostile = []struct {
	title, script string
	least         int // records
	why           string
}{
	{"records without end", `echo ready; exec yes '{"host": "x", "verdict": "allowed"}'`, 2 * MaxRequests, "killed"},
	{"a line without end", `echo ready; echo '{"host": "x"}'; exec tr '\0' x </dev/zero`, 1, "killed"},
	{"no JSON", `echo ready; echo no; exec sleep 1000`, 0, "killed"},
	{"its stacks", `echo ready; printf 'fatal error: out of memory\n\nstacks\n' >&2; exit 2`, 0, "fatal error: out of memory"},
	{"complaints without end", `echo ready; yes complaint | head -c 10000000 >&2; exec yes complaint >&2 1>&2`, 0, "complaint"},
	{"escape sequences", `echo ready; printf '\033[2Jcleared\n' >&2; exit 2`, 0, "cleared"},
	{"another word", `echo hello; exec sleep 1000`, -1, `it said "hello"`},
	{"nothing", `exit 1`, -1, "unexpected EOF"},
	{"a reason", `echo scidex-oci: no filter >&2; exit 1`, -1, "the proxy of requests: no filter"},
	{"no first line", `exec tr '\0' x </dev/zero`, -1, "token too long"},
}

// TestMain is also the proxy, started by this test's own binary: Config.Upload says which.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != Command {
		os.Exit(m.Run())
	}
	var config Config
	if err := json.NewDecoder(os.Stdin).Decode(&config); err != nil {
		panic(err)
	}
	panic(syscall.Exec("/bin/sh", []string{"sh", "-c", hostile[config.Upload].script}, nil))
}

// TestProcess: a proxy that was taken over and reports whatever it likes gives its launcher a bounded number of records and one
// line of error, and ends. A process that never serves is an error at the start.
func TestProcess(t *testing.T) {
	for index, c := range hostile {
		t.Run(c.title, func(t *testing.T) {
			n := 0
			x, err := start(t, Config{Hosts: []string{"api.example.org"}, Upload: int64(index)}, func(result.Request) { n++ })
			if started := err == nil; started != (c.least >= 0) {
				t.Fatal(err)
			} else if started {
				<-x.done
				err = x.Stop()
			}
			if n < c.least || n > 2*MaxRequests || err == nil || !strings.HasSuffix(err.Error(), c.why) {
				t.Errorf("%d records, %v, want %s", n, err, c.why)
			}
		})
	}
}

func start(t *testing.T, config Config, each func(result.Request)) (*Process, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	listener, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := Policy{Program: func() (*os.File, error) { return os.Open("/proc/self/exe") }}
	return p.Start(listener, config, each)
}
