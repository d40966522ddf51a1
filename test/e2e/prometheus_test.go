package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// prometheus is a real one, of Debian's package, with its data in the directory of the test.
type prometheus struct {
	*harness
	url     string
	targets []string // HOST:PORT
}

// scraping is its configuration: short intervals, the rules, and targets that a test adds to.
const scraping = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: scidex-oci
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
`

// startPrometheus starts one with rules, which is killed at the end of the test.
func (h *harness) startPrometheus(rules string) *prometheus {
	h.t.Helper()
	p := &prometheus{harness: h}
	h.write("prometheus/rules.yaml", rules, 0o644)
	config := h.write("prometheus/prometheus.yml", scraping, 0o644)
	p.scrape()
	log := h.path("prometheus/log")
	out, err := os.Create(log)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+h.path("prometheus/data"), "--web.listen-address=127.0.0.1:0")
	cmd.Stderr = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		h.t.Fatalf("%v; scripts/setup test installs it", err)
	}
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if h.t.Failed() {
			h.t.Logf("Prometheus said:\n%s", readFile(h.t, log))
		}
	})
	listening := regexp.MustCompile(`Listening on" address=(127\.0\.0\.1:\d+)`)
	until(h.t, hangTimeout, "Prometheus listens", func() bool {
		found := listening.FindStringSubmatch(readFile(h.t, log))
		if found != nil {
			p.url = "http://" + found[1]
		}
		return found != nil && strings.Contains(readFile(h.t, log), "ready to receive web requests")
	})
	return p
}

// scrape adds workers to the targets.
func (p *prometheus) scrape(workers ...*hosted) {
	p.t.Helper()
	for _, w := range workers {
		p.targets = append(p.targets, strings.TrimPrefix(w.serving(), "http://"))
	}
	text, err := json.Marshal([]map[string][]string{{"targets": append([]string{}, p.targets...)}})
	if err != nil {
		p.t.Fatal(err)
	}
	fresh := p.write("prometheus/targets.new", string(text), 0o644)
	if err := os.Rename(fresh, p.path("prometheus/targets.json")); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends a request to its API; an answer that is no success fails the test.
func (p *prometheus) ask(path string, into any) {
	p.t.Helper()
	_, body := asked(p.t, p.url+path)
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Status != "success" {
		p.t.Fatalf("%s: %v, %s", path, err, body)
	}
}

// query is how many series a query has now.
func (p *prometheus) query(expr string) int {
	p.t.Helper()
	var data struct{ Result []any }
	p.ask("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result)
}

// firing are the alerts that fire, with their class.
func (p *prometheus) firing() (all []string) {
	p.t.Helper()
	var data struct {
		Alerts []struct {
			State       string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
	p.ask("/api/v1/alerts", &data)
	for _, a := range data.Alerts {
		if strings.Contains(a.Annotations["summary"]+a.Annotations["description"], "{{") || a.Annotations["summary"] == "" {
			p.t.Errorf("%s says %q", a.Labels["alertname"], a.Annotations)
		}
		if a.State == "firing" {
			all = append(all, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["class"]))
		}
	}
	return all
}

// fires waits until each of these alerts fires; clears until no alert does.
func (p *prometheus) fires(want ...string) {
	p.t.Helper()
	var got []string
	defer func() {
		if p.t.Failed() {
			p.t.Logf("firing: %q", got)
		}
	}()
	until(p.t, hangTimeout, fmt.Sprintf("%q fire", want), func() bool {
		got = p.firing()
		for _, one := range want {
			if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+one+"\n") {
				return false
			}
		}
		return true
	})
}

func (p *prometheus) clears() {
	p.t.Helper()
	until(p.t, hangTimeout, "no alert fires", func() bool { return len(p.firing()) == 0 })
}

// soon are the rules with times that a test can wait for.
func soon(t *testing.T) string {
	t.Helper()
	rules := readFile(t, "../../docs/prometheus/rules.yaml")
	for pattern, replacement := range map[string]string{`for: \d+m`: "for: 1s", `\[(30m|15m)\]`: "[20s]", `\[2m\]`: "[5s]", `> 1800`: "> 0"} {
		changed := regexp.MustCompile(pattern).ReplaceAllString(rules, replacement)
		if changed == rules {
			t.Fatalf("the rules have no %s", pattern)
		}
		rules = changed
	}
	return rules
}

// TestRules: promtool accepts the rules, and their own tests with made-up series pass.
func TestRules(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = "../../docs/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

// TestPrometheus has a real Prometheus scrape real workers: each alert about a queue fires with its cause and clears
// with it, and each query of the dashboard has data.
func TestPrometheus(t *testing.T) {
	h, db := inQueue(t)
	first := h.worker("--metrics", "127.0.0.1:0", "--log-format", "json", "--jobs", "2")
	p := h.startPrometheus(soon(t))
	p.fires("NoWorkerAnswers")
	p.scrape(first)
	p.clears()
	end := h.flag()
	h.comes(db, h.submit("good", "echo hello >out"), "complete")
	h.comes(db, h.submit("bad", "exit 3"), "failed")
	h.comes(db, h.submit("runs", awaited, "--input", end.input()), "running")
	alone := h.submit("alone", "true", "--class", "gpu")
	placed := h.submit("placed", "true", "--require", "site=b")
	dies := h.worker("--class", "idle", "--lease", "3s") // the other's lease is longer: it does not judge
	silent := dies.holder()
	dies.killed()
	p.fires("ClassHasNoWorker gpu", "AnalysesWaitAndNoneEnds gpu", "NoWorkerCanRunAnAnalysis default", "SilentWorkerIsNotJudged")
	until(t, hangTimeout, "both ends are scraped", func() bool {
		return p.query(`scidex_oci_worker_runs_total{state="complete",reason="exit"} == 1 and on () scidex_oci_worker_runs_total{state="failed",reason="exit"} == 1`) == 1
	})
	p.dashboard()

	h.comes(db, h.submit("fills", awaited, "--input", end.input()), "running") // the first worker has no place left: it returns nothing for 30 s
	second := h.worker("--metrics", "127.0.0.1:0", "--log-format", "json", "--class", "gpu", "--class", "default", "--labels", "site=b")
	p.scrape(second)
	h.comes(db, alone, "complete")
	h.comes(db, placed, "complete")
	h.mustRun("queue", "rescue", silent)
	p.clears()
	end.raise()
	first.end()
	second.end()
	p.fires("NoWorkerAnswers")
}

// holder waits for the lease of a worker, and is the worker's name in the queue.
func (w *hosted) holder() (name string) {
	w.t.Helper()
	pid := fmt.Sprintf("/%d/", w.cmd.Process.Pid)
	until(w.t, hangTimeout, "it has a lease", func() bool {
		for line := range strings.Lines(w.mustRun("queue", "workers").stdout) {
			if fields := strings.Fields(line); strings.Contains(fields[0], pid) {
				name = fields[0]
			}
		}
		return name != ""
	})
	return name
}

// dashboard runs each query of the dashboard. Two have no data in this test.
func (p *prometheus) dashboard() {
	p.t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readFile(p.t, "../../docs/prometheus/dashboard.json")), &board); err != nil {
		p.t.Fatal(err)
	}
	variables := strings.NewReplacer("$class", ".*", "$instance", ".*", "$__rate_interval", "5m")
	empty := map[string]int{"scidex_oci_worker_draining{instance=~\".*\"} == 1": 0, "scidex_oci_queue_up{instance=~\".*\"} == 0": 0}
	queries := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expr := variables.Replace(target.Expr)
			queries++
			got := p.query(expr)
			if _, may := empty[expr]; (got == 0) != may {
				p.t.Errorf("panel %q: %d series of %s", panel.Title, got, expr)
			}
		}
	}
	if queries < 20 {
		p.t.Errorf("the dashboard has %d queries", queries)
	}
}
