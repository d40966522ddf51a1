package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	ran "github.com/scidex-ai/scidex-oci/outputs/result"
)

// surfer is a caller whose analyses may send requests to hosts: root, or an ordinary user without ids of their own.
type surfer struct {
	*internet
	h       *harness
	command func(args ...string) *exec.Cmd
}

// surfers are both kinds, on one internet.
func surfers(t *testing.T) map[string]surfer {
	t.Helper()
	i := newInternet(t)
	h, a := newHarness(t), newAccount(t)
	if out, err := exec.Command("cp", theHost.bin+"-net", a.home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return map[string]surfer{
		"root": {i, h, func(args ...string) *exec.Cmd { return i.join(h.command(theHost.bin, args...)) }},
		"user": {i, a.harness, func(args ...string) *exec.Cmd { return i.join(a.command(args...)) }},
	}
}

// permit writes a config file.
func (s surfer) permit(lines string) string { return s.readable("c.yaml", []byte(lines+"\n")) }

// trust is the flag that shows the certificate of the authority.
func (s surfer) trust() string {
	s.h.t.Helper()
	certificate, err := os.ReadFile(s.authority.File)
	if err != nil {
		s.h.t.Fatal(err)
	}
	return "--input=" + s.readable("ca.crt", certificate) + ":/inputs/ca.crt"
}

// readable writes a file that all users can read.
func (s surfer) readable(name string, content []byte) string {
	s.h.t.Helper()
	path := filepath.Join("/tmp", newPrefix()+"-"+name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		s.h.t.Fatal(err)
	}
	s.h.t.Cleanup(func() { os.Remove(path) })
	return path
}

// ask runs a shell script as an analysis that may send requests to api.example.org.
func (s surfer) ask(t *testing.T, config, script string, more ...string) (ran.Result, outcome) {
	t.Helper()
	args := append([]string{"--config", config, "run", "--id", s.h.newID(), "--json", "--limits", "best-effort", "--data=none", "--docs=none", "--allow-host", "api.example.org"}, more...)
	in := s.h.in(t)
	out := in.finish(s.command(append(args, "--", "sh", "-c", script)...))
	var r ran.Result
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out.stdout, out.stderr)
	}
	return r, out
}

// TestRequests: programs reach the host that is permitted, by http and https, and no other.
func TestRequests(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]")
			ca := s.trust()
			s.requests()
			const script = "curl -sSf http://api.example.org/one && curl -sSf --cacert /inputs/ca.crt https://api.example.org/two"
			r, out := s.ask(t, config, script, ca)
			if seen := s.requests(); r.State != "complete" || seen != "GET api.example.org /one\nGET api.example.org /two" {
				t.Errorf("%s, servers saw %q\n%s", r.Message, seen, out.stderr)
			}
			if r.Requests == nil || r.Requests.Total != 2 || r.Requests.Refused != 0 || r.Requests.ReceivedBytes == 0 || r.Requests.List[0].Address != publicAddress {
				t.Errorf("%+v", r.Requests)
			}
			if r.ActionID != nil || r.Sandbox.Network != "none" {
				t.Errorf("action %v, network %s", r.ActionID, r.Sandbox.Network)
			}
			s.name("api.example.org", publicAddress6)
			if r, out = s.ask(t, config, script, ca); r.State != "complete" || s.requests() == "" || r.Requests.List[1].Address != publicAddress6 {
				t.Errorf("by IPv6: %s %+v\n%s", r.Message, r.Requests, out.stderr)
			}
			s.name("api.example.org", publicAddress)
		})
	}
}

// TestRequestsRefused: each attack works through a proxy without checks in the same network; through scidex-oci's no
// server sees anything.
func TestRequestsRefused(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]\ndeny_addresses: [151.101.1.0/24]")
			for _, address := range append([]string{hereAddress, hereAddress6, secondAddress}, inside...) {
				s.name("api.example.org", address)
				if address != hereAddress && address != hereAddress6 {
					s.worksOutside(t, "http://api.example.org/secret")
				}
				r, _ := s.ask(t, config, "curl -sS http://api.example.org/secret; curl -ksS https://api.example.org/secret")
				if seen := s.requests(); seen != "" {
					t.Errorf("%s: servers saw %q", address, seen)
				}
				if r.Requests.Refused != 2 || !strings.Contains(r.Requests.List[0].Why, "which no analysis may reach") {
					t.Errorf("%s: %+v", address, r.Requests)
				}
			}
			s.name("api.example.org", publicAddress)
			for title, script := range map[string]string{
				"another host":    "curl -sS http://other.example.org/x",
				"an address":      "curl -sS http://151.101.1.6/x",
				"by name in TLS":  "curl -ksS --connect-to other.example.org:443:api.example.org:443 https://other.example.org/x",
				"another port":    "curl -sS http://api.example.org:8080/x",
				"without a proxy": "curl -sS --noproxy '*' http://93.184.215.14/x; curl -sS --noproxy '*' http://93.184.216.1/x; false",
				"by its own DNS":  "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"93.184.216.1\", 53))'",
			} {
				r, out := s.ask(t, config, script)
				if seen := s.requests(); seen != "" {
					t.Errorf("%s: servers saw %q", title, seen)
				}
				if r.State == "complete" && r.Requests.Refused == 0 {
					t.Errorf("%s: %s %+v\n%s", title, r.Message, r.Requests, out.stderr)
				}
			}
			if strings.Contains(strings.Join(s.asked, " "), "internal.example") {
				t.Errorf("names were completed by the search domain: %q", s.asked)
			}
		})
	}
}

// worksOutside sends the request from the network namespace of scidex-oci.
func (s surfer) worksOutside(t *testing.T, url string) {
	t.Helper()
	in := s.h.in(t)
	out := in.finish(s.join(in.command("/usr/bin/curl", "-sS", url)))
	if seen := s.requests(); out.code != 0 || seen == "" {
		t.Fatalf("%s cannot be reached outside, which proves nothing: %s", url, out.stderr)
	}
}

// TestRequestsNotPermitted: nothing is run if not every config file permits the host.
func TestRequestsNotPermitted(t *testing.T) {
	h := newHarness(t)
	run := func(config string, more ...string) []string {
		args := append([]string{"run", "--id", h.newID(), "--limits", "best-effort"}, more...)
		if config != "" {
			args = append([]string{"--config", h.write("c.yaml", config, 0o644)}, args...)
		}
		return append(args, "--", "true")
	}
	h.mustRefuse(run("", "--allow-host", "api.example.org"), "api.example.org", "no config file permits", "allow_hosts: [api.example.org]")
	h.mustRefuse(run("allow_hosts: []", "--allow-host", "api.example.org"), "permits no host")
	h.mustRefuse(run("allow_hosts: ['*.example.org:443']", "--allow-host", "api.example.org"), "is not among the hosts", "*.example.org:443")
	h.mustRefuse(run("allow_hosts: ['https://x.example.org']"), "is a URL")
	h.mustRefuse(run("deny_addresses: [here]"), "deny_addresses", `"here"`)
	h.mustRefuse(run("allow_host: api.example.org"), `unknown key "allow_host"`)
	h.mustRefuse(run("allow_hosts: [api.example.org]", "--allow-host", "127.0.0.1"), "127.0.0.1", "full DNS name")
	h.mustRefuse(run("allow_hosts: [api.example.org]", "--allow-upload", "2MiB"), "allow_upload", "allow_hosts names none")
	h.setenv("https_proxy", "http://proxy.example.org:3128")
	h.mustRefuse(run("allow_hosts: [api.example.org]", "--allow-host", "api.example.org"), "https_proxy names a proxy", "unset it for this command")
	h.mustRun(run("allow_hosts: [api.example.org]")...)
	h.setenv("https_proxy", "")
	h.setenv("SCIDEX_OCI_ALLOW_HOST", "api.example.org")
	if out := h.mustRun("run", "--limits", "best-effort", "--", "env"); strings.Contains(strings.ToLower(out.stdout), "proxy") {
		t.Errorf("a variable opened a way out: %s", out.stdout)
	}
}

// asking starts an analysis that sends a request, prints "asked", waits for the file go in /work, and sends another.
func (s surfer) asking(t *testing.T, config string) (l *launch, proxy int) {
	t.Helper()
	return s.askingThen(t, config, "curl -sS -m 5 http://api.example.org/two; exit 0")
}

// askingThen starts one that then does something else.
func (s surfer) askingThen(t *testing.T, config, then string) (l *launch, proxy int) {
	t.Helper()
	in := s.h.in(t)
	id := in.newID()
	script := "curl -sS http://api.example.org/one; echo asked >&2; while ! [ -e go ]; do sleep 0.05; done\n" + then
	l = in.follow(id, s.command("--config", config, "run", "--id", id, "--json", "--limits", "best-effort", "--data=none", "--docs=none",
		"--allow-host", "api.example.org", "--", "sh", "-c", script))
	l.await("asked")
	for _, child := range children(l.cmd.Process.Pid) {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child), "cmdline"))
		if string(line) == "scidex-oci-net\x00proxy\x00" {
			return l, child
		}
	}
	t.Fatal("the launcher has no proxy")
	return l, 0
}

// resume lets it send the next request.
func (s surfer) resume(t *testing.T, l *launch) ran.Result {
	t.Helper()
	s.say(t, l, "go")
	return l.result(t)
}

// say makes a file in its /work.
func (s surfer) say(t *testing.T, l *launch, word string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("/tmp", "scidex-analysis-"+l.id, "work", word), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// result waits for the end.
func (l *launch) result(t *testing.T) (r ran.Result) {
	t.Helper()
	<-l.ended
	if err := json.Unmarshal(l.stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, l.stdout.String())
	}
	return r
}

// TestRequestsProxyLost: an analysis whose proxy is killed or stopped sends no second request, and the result warns. The control,
// whose proxy lives, sends both.
func TestRequestsProxyLost(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]")
			for signal, want := range map[syscall.Signal]int{0: 2, syscall.SIGKILL: 1, syscall.SIGSTOP: 1} {
				s.requests()
				l, proxy := s.asking(t, config)
				if err := syscall.Kill(proxy, signal); err != nil {
					t.Fatal(err)
				}
				r := s.resume(t, l)
				if seen := strings.Fields(strings.ReplaceAll(s.requests(), "GET api.example.org ", "")); len(seen) != want {
					t.Errorf("%v: servers saw %q", signal, seen)
				}
				warned := map[syscall.Signal]string{syscall.SIGKILL: "the proxy of requests ended before", syscall.SIGSTOP: "the proxy of requests did not end"}[signal]
				if got := strings.Join(r.Warnings, " "); !strings.Contains(got, warned) || strings.Contains(got, "the proxy of requests") != (warned != "") {
					t.Errorf("%v: warnings %q", signal, r.Warnings)
				}
				if r.State != "complete" || r.Requests == nil { // a proxy that is killed may not have recorded the first
					t.Errorf("%v: %s, %+v", signal, r.State, r.Requests)
				}
			}
		})
	}
}

// TestRequestsProxyAlone: the proxy has nothing of its launcher but its socket and streams, and nothing of the host but its network.
func TestRequestsProxyAlone(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			l, proxy := s.asking(t, s.permit("allow_hosts: [api.example.org]"))
			of := func(name string) string { return filepath.Join("/proc", strconv.Itoa(proxy), name) }
			status, err := os.ReadFile(of("status"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(status), "Seccomp:\t2\n") || !strings.Contains(string(status), "NoNewPrivs:\t1\n") {
				t.Errorf("it has no filter: %s", status)
			}
			if environ, err := os.ReadFile(of("environ")); err != nil || len(environ) > 0 {
				t.Errorf("its environment is %q, %v", environ, err)
			}
			names, err := os.ReadDir(of("root"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if name.Name() != "etc" && name.Name() != "usr" {
					t.Errorf("it sees /%s", name.Name())
				}
			}
			for _, file := range []string{"root/etc/passwd", "root/usr/bin", "root" + s.h.root} {
				if _, err := os.Stat(of(file)); err == nil {
					t.Errorf("it sees %s", file)
				}
			}
			for _, link := range matches(of("fd/*")) {
				to, _ := os.Readlink(link)
				if own := strings.HasPrefix(filepath.Base(to), "cpu."); own || to == os.DevNull { // Go reads the limit of its control group
					continue
				}
				if !strings.HasPrefix(to, "socket:") && !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:") {
					t.Errorf("%s is %s", link, to)
				}
			}
			s.resume(t, l)
		})
	}
}

// TestRequestsLauncherKilled: the proxy ends with its launcher.
func TestRequestsLauncherKilled(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			l, proxy := s.asking(t, s.permit("allow_hosts: [api.example.org]"))
			waiting, err := unix.PidfdOpen(proxy, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(waiting)
			if err := l.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-l.ended
			polled := []unix.PollFd{{Fd: int32(waiting), Events: unix.POLLIN}}
			if n, err := unix.Poll(polled, int(hangTimeout.Milliseconds())); n != 1 || err != nil {
				_ = unix.PidfdSendSignal(waiting, unix.SIGKILL, nil, 0)
				t.Errorf("it lives on: %d, %v", n, err)
			}
			s.h.in(t).finish(s.command("gc"))
		})
	}
}

// TestRequestsUpload: an analysis sends no more than it may, in all requests together.
func TestRequestsUpload(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]")
			const script = `head -c 200000 /dev/zero >part; for n in 1 2 3; do curl -ksS -T part https://api.example.org/take; done; true`
			r, _ := s.ask(t, config, script, "--allow-upload", "500KiB")
			if r.Requests.SentBytes > 500<<10 || r.Requests.SentBytes < 400_000 || r.Requests.Refused != 1 || r.Requests.UploadBytes != 500<<10 {
				t.Errorf("%+v", r.Requests)
			}
			if r, _ = s.ask(t, config, script, "--allow-upload", "1GiB"); r.Requests.SentBytes < 600_000 || r.Requests.Refused != 0 {
				t.Errorf("%+v", r.Requests)
			}
		})
	}
}

// TestRequestsBatch: each line of a batch has a proxy of its own, which no other line uses.
func TestRequestsBatch(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: ['*.example.org']")
			const script = "curl -sS http://$1.example.org/x; curl -sS -m 5 -x http://127.0.0.1:3128 http://$2.example.org/x; exit 0"
			var lines []string
			for _, pair := range [][2]string{{"api", "other"}, {"other", "api"}, {"api", "other"}} {
				line, err := json.Marshal(map[string]any{
					"id": s.h.newID(), "command": []string{"sh", "-c", script, "sh", pair[0], pair[1]}, "limits": "best-effort",
					"data": "none", "docs": "none", "allow_hosts": []string{pair[0] + ".example.org"},
				})
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, string(line))
			}
			file := s.readable("lines.jsonl", []byte(strings.Join(lines, "\n")+"\n"))
			out := s.h.in(t).finish(s.command("--config", config, "batch", "--json", "--jobs", "3", file))
			for line := range strings.Lines(out.stdout) {
				var r ran.Result
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				if r.State != "complete" || r.Requests.Total != 2 || r.Requests.Refused != 1 {
					t.Errorf("%s %s: %+v", r.State, r.Message, r.Requests)
				}
			}
			if seen := strings.Split(s.requests(), "\n"); len(seen) != 3 {
				t.Errorf("%s\nservers saw %q\n%s", out.stdout, seen, out.stderr)
			}
		})
	}
}

// TestRequestsInject: the server gets the header, and the analysis finds its value nowhere.
func TestRequestsInject(t *testing.T) {
	const token = "Bearer-of-the-platform"
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]")
			const flag = "--inject=GET api.example.org/v1/=Authorization:env:E2E_TOKEN"
			s.h.mustRefuse([]string{"--config", config, "run", "--limits", "best-effort", flag, "--allow-host", "api.example.org", "--", "true"}, "no variable E2E_TOKEN")
			s.h.mustRefuse([]string{"run", "--limits", "best-effort", "--inject", "api.example.org", "--", "true"}, "--inject", "HEADER:env:VARIABLE")
			asks := s
			asks.command = func(args ...string) *exec.Cmd {
				cmd := s.command(args...)
				cmd.Env = append(cmd.Env, "E2E_TOKEN="+token)
				return cmd
			}
			s.requests()
			const script = "curl -sSf http://api.example.org/v1/a; curl -sSf http://api.example.org/v2/a; curl -sS --path-as-is http://api.example.org/v1/../v2/a; env; grep -rs Bearer-of-the /proc/*/environ /proc/*/cmdline /work /tmp; true"
			r, out := asks.ask(t, config, script, flag)
			if seen := s.requests(); seen != "GET api.example.org /v1/a "+token+"\nGET api.example.org /v2/a" {
				t.Errorf("servers saw %q\n%s", seen, out.stderr)
			}
			logs := s.h.in(t).finish(s.command("--config", config, "logs", r.ID))
			if all := logs.stdout + logs.stderr + out.stdout + out.stderr; strings.Contains(all, token) || !strings.Contains(all, "api.example.org: /v1/a") {
				t.Errorf("the token is in %s", all)
			}
			if r.Requests.Refused != 1 || r.Requests.List[0].Port != 443 {
				t.Errorf("%+v", r.Requests)
			}
		})
	}
}

// TestRequestsSelftest: targets out of reach are so through the proxy too, and the report names it.
func TestRequestsSelftest(t *testing.T) {
	s := surfers(t)["root"]
	db := s.listen(publicAddress + ":5432")
	defer db.Close()
	config := s.permit("allow_hosts: [api.example.org]")
	in := s.h.in(t)
	out := in.finish(s.command("--config", config, "selftest", "--limits", "best-effort", "--allow-host", "api.example.org", "--target", publicAddress+":5432"))
	for _, want := range []string{"proxy        " + publicAddress + ":5432: refused (control: reached outside)", "proxy        169.254.169.254:80: refused", "proxy        selftest.invalid:443: refused"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("it lacks %q:\n%s%s", want, out.stdout, out.stderr)
		}
	}
	if strings.Contains(out.stdout, "FAIL") {
		t.Errorf("%s", out.stdout)
	}
}
