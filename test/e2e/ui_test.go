package e2e

import (
	"bufio"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestUI: the command shows the runs of the catalog, an active run with the counters of its control group, stops it as
// `stop` does, and ends by a signal.
func TestUI(t *testing.T) {
	h := newHarness(t)
	h.mustRefuse([]string{"ui", "--listen", "0.0.0.0:0"}, "--listen", "0.0.0.0:0", "of the loopback")
	h.mustRefuse([]string{"ui", "now"}, "1 argument")
	made := h.start("--", "sh", "-c", "printf '<script>' >page.html")
	id := h.newID()
	h.detach(id, "--", "sh", "-c", "echo begun; sleep 1000")
	h.logged(id, "begun")

	cmd := h.command(theHost.bin, "ui")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	root := strings.TrimSpace(line)
	if err != nil || !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[A-Za-z0-9_-]{43}/$`).MatchString(root) {
		t.Fatalf("it prints %q, %v", line, err)
	}
	h.sees(root, made.ID+"@1", id+"@1")
	h.sees(root+"live", "One run goes on.", id+"@1")
	h.sees(root+"run?id="+id, "begun", "What was asked for")
	h.sees(root+"run?id="+made.ID, "complete: exit 0", `href="/`)
	download := regexp.MustCompile(`href="(/[^"]*/download[^"]*)"`).FindStringSubmatch(h.sees(root + "run?id=" + made.ID))
	if download == nil {
		t.Fatal("the page has no download")
	}
	if _, body := asked(t, origin(root)+strings.ReplaceAll(download[1], "&amp;", "&")); body != "<script>" {
		t.Errorf("the download has %q", body)
	}
	proof := regexp.MustCompile(`name="proof" value="([^"]*)"`).FindStringSubmatch(h.sees(root + "run?id=" + id))
	if proof == nil {
		t.Fatal("the page has no form")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+"stop", strings.NewReader(url.Values{"id": {id + "@1"}, "proof": {proof[1]}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", origin(root))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Request.URL.RequestURI() != strings.TrimPrefix(root, origin(root))+"run?id="+id+"%401" {
		t.Errorf("%s at %s", answer.Status, answer.Request.URL)
	}
	h.mustRun("show", "--wait", id)
	if r := h.show(id); r.State != "canceled" || r.Reason != "stopped" || !strings.Contains(r.Message, "scidex-oci stop") {
		t.Errorf("%s, %s: %s", r.State, r.Reason, r.Message)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// sees requests a page, which must have some words.
func (h *harness) sees(address string, words ...string) string {
	h.t.Helper()
	code, body := asked(h.t, address)
	for _, word := range words {
		if code != http.StatusOK || !strings.Contains(body, word) {
			h.t.Errorf("%s: %d, without %q", address, code, word)
		}
	}
	return body
}

// origin is that of an address.
func origin(address string) string {
	parsed, _ := url.Parse(address) // it was requested before
	return parsed.Scheme + "://" + parsed.Host
}
