package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is what `run --json` and `show --json` print, as the documents promise it: an independent reader, so that a
// renamed or lost field is noticed.
type result struct {
	V        int     `json:"v"`
	ID       string  `json:"id"`
	Attempt  int     `json:"attempt"`
	State    string  `json:"state"`
	Reason   string  `json:"reason"`
	Message  string  `json:"message"`
	ExitCode int     `json:"exit_code"`
	Signal   *string `json:"signal"`

	CreatedAt  *time.Time `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`

	Usage struct {
		WallMS          int64 `json:"wall_ms"`
		SuspendedMS     int64 `json:"suspended_ms,omitempty"`
		CPUMS           int64 `json:"cpu_ms"`
		MemoryPeakBytes int64 `json:"memory_peak_bytes"`
		PidsPeak        int64 `json:"pids_peak"`
		WorkBytes       int64 `json:"work_bytes"`
		WorkFiles       int64 `json:"work_files"`

		Sampled []string `json:"sampled,omitempty"`
	} `json:"usage"`
	Evidence struct {
		OOMKills         int64 `json:"oom_kills"`
		PidsDenied       int64 `json:"pids_denied"`
		ThrottledMS      int64 `json:"throttled_ms"`
		ThrottledPeriods int64 `json:"throttled_periods"`
		Periods          int64 `json:"periods"`
		WorkBytes        int64 `json:"work_bytes,omitempty"`
		WorkFiles        int64 `json:"work_files,omitempty"`
		HostFree         int64 `json:"host_free_bytes,omitempty"`
		HostFloor        int64 `json:"host_floor_bytes,omitempty"`
		OOMLimit         *struct {
			By    string `json:"by"`
			Bytes int64  `json:"bytes"`
		} `json:"oom_limit,omitempty"`
	} `json:"evidence"`
	Series   *series       `json:"series,omitempty"`
	Enforced []enforcement `json:"enforced"`
	Sandbox  struct {
		UserNamespace bool    `json:"user_namespace"`
		Network       string  `json:"network"`
		Seccomp       string  `json:"seccomp"`
		Landlock      int     `json:"landlock"`
		Rootfs        string  `json:"rootfs"`
		RootfsDigest  *string `json:"rootfs_digest"`
		Reference     *string `json:"rootfs_reference"`
		Packages      *string `json:"packages_digest"`
		UIDOnHost     int     `json:"uid_on_host"`
		IDs           string  `json:"ids"`
		Groups        []int   `json:"groups,omitempty"`
		SocketWall    string  `json:"socket_wall,omitempty"`
		Audit         string  `json:"audit"`
		Addresses     string  `json:"address_randomization,omitempty"`
	} `json:"sandbox"`

	Outputs          []output   `json:"outputs"`
	Rejected         []rejected `json:"rejected"`
	OutputsTotal     int64      `json:"outputs_total"`
	RejectedTotal    int64      `json:"rejected_total"`
	ListingTruncated bool       `json:"listing_truncated"`

	Logs struct {
		Stdout log `json:"stdout"`
		Stderr log `json:"stderr"`
	} `json:"logs"`
	Script *struct {
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
	} `json:"script,omitempty"`
	Stdin *struct {
		Bytes  int64  `json:"bytes"`
		SHA256 string `json:"sha256"`
	} `json:"stdin,omitempty"`
	Statement *struct {
		SHA256       string `json:"sha256"`
		ResultSHA256 string `json:"result_sha256"`
		KeyID        string `json:"key_id"`
	} `json:"statement,omitempty"`
	Start *struct {
		Kind        string            `json:"kind"`
		Reason      string            `json:"reason,omitempty"`
		Modules     map[string]string `json:"modules,omitempty"`
		SharedBytes int64             `json:"shared_bytes,omitempty"`
	} `json:"start,omitempty"`
	ActionID *string `json:"action_id"`
	Inputs   []struct {
		Flag        string  `json:"flag"`
		Source      string  `json:"source"`
		Destination string  `json:"destination"`
		Digested    string  `json:"digested"`
		SHA256      *string `json:"sha256"`
		Files       int64   `json:"files"`
		Bytes       int64   `json:"bytes"`
		Changed     bool    `json:"changed,omitempty"`
		Message     string  `json:"message,omitempty"`
	} `json:"inputs,omitempty"`
	Kept       string       `json:"kept,omitempty"`
	Warnings   []string     `json:"warnings,omitempty"`
	Hints      []hint       `json:"hints,omitempty"`
	Audit      []auditEvent `json:"audit"`
	AuditTotal int          `json:"audit_total"`

	Pinned           bool       `json:"pinned"`
	OutputsRemovedAt *time.Time `json:"outputs_removed_at,omitempty"`

	ReusedFrom string `json:"reused_from,omitempty"`

	PostProcess *postProcess      `json:"post_process"`
	Labels      map[string]string `json:"labels,omitempty"`
	Host        string            `json:"host"`
	BootID      string            `json:"boot_id"`
	ToolVersion string            `json:"tool_version"`
	Analysis    request           `json:"analysis"`
	Line        int               `json:"line,omitempty"`
	Ran         string            `json:"ran,omitempty"`
}

// series is the use of a run over its time.
type series struct {
	Source      string  `json:"source"`
	TMS         []int64 `json:"t_ms"`
	MemoryBytes []int64 `json:"memory_bytes"`
	CPUMS       []int64 `json:"cpu_ms"`
	Pids        []int64 `json:"pids"`
}

type enforcement struct {
	Limit     string `json:"limit"`
	Asked     string `json:"asked"`
	Effective string `json:"effective"`
	By        string `json:"by"`
}

type output struct {
	Path      string `json:"path"`
	PathB64   []byte `json:"path_b64,omitempty"` // the exact bytes
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"`
	Mode      string `json:"mode"`
	Partial   bool   `json:"partial"`
}

type rejected struct {
	Path    string `json:"path"`
	PathB64 []byte `json:"path_b64,omitempty"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty"`
}

type auditEvent struct {
	At         time.Time `json:"at"`
	Kind       string    `json:"kind"`
	Address    string    `json:"address"`
	AddressB64 []byte    `json:"address_b64,omitempty"`
	Severity   string    `json:"severity"`
	Allowed    bool      `json:"allowed"`
	Blocked    bool      `json:"blocked"`
	Count      int64     `json:"count"`
}

type log struct {
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"`
	SHA256    string `json:"sha256"`
}

type postProcess struct {
	Command   []string   `json:"command"`
	ExitCode  *int       `json:"exit_code"`
	Signal    *string    `json:"signal"`
	TimedOut  bool       `json:"timed_out"`
	StartedAt *time.Time `json:"started_at"`
	WallMS    int64      `json:"wall_ms"`
	Stderr    string     `json:"stderr"`
}

// request is the `analysis` of a result: the manifest as it was run.
type request struct {
	ID      string            `json:"id,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Command []string          `json:"command,omitempty"`
	Script  string            `json:"script,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Secrets []string          `json:"secrets,omitempty"`
	Data    string            `json:"data,omitempty"`
	Docs    string            `json:"docs,omitempty"`
	Project string            `json:"project,omitempty"`
	Inputs  []string          `json:"inputs,omitempty"`
	Stage   string            `json:"stage,omitempty"`
	Export  string            `json:"export,omitempty"`
	Outputs []string          `json:"outputs,omitempty"`
	Exclude []string          `json:"exclude,omitempty"`
	Workdir string            `json:"workdir,omitempty"`
	Rootfs  string            `json:"rootfs,omitempty"`
	Runtime string            `json:"runtime,omitempty"`
	IDs     string            `json:"ids,omitempty"`
	Memory  int64             `json:"memory,omitempty"`
	CPUs    float64           `json:"cpus,omitempty"`
	Pids    int64             `json:"pids,omitempty"`
	Timeout string            `json:"timeout,omitempty"`
	Grace   string            `json:"grace,omitempty"`
	LogSize int64             `json:"log_size,omitempty"`

	WorkSize    int64  `json:"work_size,omitempty"`
	WorkFiles   int64  `json:"work_files,omitempty"`
	WorkStorage string `json:"work_storage,omitempty"`

	DigestInputs  string `json:"digest_inputs,omitempty"`
	Deterministic *bool  `json:"deterministic,omitempty"`

	Limits  string `json:"limits,omitempty"`
	Keep    string `json:"keep,omitempty"`
	Preload string `json:"preload,omitempty"`
}

// parseResult reads standard output that must hold exactly one result, on one line.
func parseResult(stdout []byte) (result, error) {
	var r result
	line, rest, ended := bytes.Cut(stdout, []byte("\n"))
	if !ended || len(rest) > 0 {
		return r, fmt.Errorf("standard output is not one line: %q", stdout)
	}
	if err := r.read(line); err != nil {
		return r, fmt.Errorf("%w in %s", err, line)
	}
	return r, nil
}

// read reads a result that says neither more nor less than the documents and their schemas promise.
func (r *result) read(line []byte) error {
	if err := errors.Join(validate("result.json", line), strict(line, r)); err != nil {
		return err
	}
	wrong := r.check()
	if r.Attempt > 0 {
		var raw struct {
			Analysis json.RawMessage `json:"analysis"`
		}
		wrong = append(wrong, json.Unmarshal(line, &raw), validate("manifest.json", raw.Analysis))
	}
	return errors.Join(wrong...)
}

// strict decodes one JSON value that has all fields of v that are not omitempty, and no others.
func strict(line []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	var loose any
	if err := json.Unmarshal(line, &loose); err != nil {
		return err
	}
	return complete(loose, reflect.TypeOf(v), "")
}

// complete returns an error for a field of t that the decoded value lacks.
func complete(value any, t reflect.Type, at string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if t.Kind() != reflect.Slice {
				break
			}
			if err := complete(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return nil
		}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			item, there := value[name]
			if !there && options == "" {
				return fmt.Errorf("field %s.%s is missing", at, name)
			}
			if err := complete(item, t.Field(i).Type, at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	modeForm   = regexp.MustCompile(`^0[0-7]{3}$`)
)

var reasonsOf = map[string][]string{
	"complete": {"exit"},
	"failed":   {"exit", "signal", "timeout", "out_of_memory", "pids_limit", "work_full", "host_full", "output_missing", "not_found", "not_invocable"},
	"canceled": {"stopped"},
	"error":    {"harvest", "commit", "export", "post_process", "sandbox", "request"},
	"lost":     {"supervisor_lost"},
	"running":  {""},
	"queued":   {""},
}

// check returns contradictions of a result with itself or with the documents.
func (r result) check() (wrong []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	live := r.State == "running" || r.State == "queued"
	must(r.V == 1, "v is %d", r.V)
	must(slices.Contains(reasonsOf[r.State], r.Reason), "state %q with reason %q", r.State, r.Reason)
	must(live || r.Message != "" && !strings.ContainsAny(r.Message, "\n\x1b"), "message %q", r.Message)
	must((r.ExitCode == 0) == (live || r.State == "complete"), "state %q with exit code %d", r.State, r.ExitCode)
	must(r.State != "error" && r.State != "lost" || r.ExitCode == 125, "state %q with exit code %d", r.State, r.ExitCode)
	must(r.Signal == nil || strings.HasPrefix(*r.Signal, "SIG"), "signal %v", r.Signal)
	must(r.CreatedAt != nil, "no created_at")
	must(r.FinishedAt == nil == live, "finished_at %v in state %q", r.FinishedAt, r.State)
	for _, pair := range [][2]*time.Time{{r.CreatedAt, r.StartedAt}, {r.StartedAt, r.FinishedAt}, {r.CreatedAt, r.FinishedAt}} {
		must(pair[0] == nil || pair[1] == nil || !pair[1].Before(*pair[0]), "times run backwards: %v, %v", pair[0], pair[1])
	}
	must(int64(len(r.Outputs)) == r.OutputsTotal || r.ListingTruncated, "%d outputs of %d", len(r.Outputs), r.OutputsTotal)
	must(int64(len(r.Rejected)) == r.RejectedTotal || r.ListingTruncated, "%d rejected of %d", len(r.Rejected), r.RejectedTotal)
	for _, o := range r.Outputs {
		must(o.Path != "" && digestForm.MatchString(o.SHA256) && modeForm.MatchString(o.Mode) && o.MediaType != "", "output %+v", o)
	}
	for _, l := range []log{r.Logs.Stdout, r.Logs.Stderr} {
		unkept := l.Bytes > 0 && l.SHA256 == "" // a log that could not be made durable
		must(l.Bytes > 0 || l.SHA256 == "", "log %+v", l)
		must(unkept && r.State == "error" || (l.Bytes == 0) == (l.SHA256 == ""), "log %+v", l)
		must(l.SHA256 == "" || digestForm.MatchString(l.SHA256), "log %+v", l)
	}
	refused := r.Attempt == 0 && r.StartedAt == nil && (r.Reason == "sandbox" || r.Reason == "commit") // by a host or catalog that could not be reached
	if r.Reason == "request" || refused || live {
		return wrong
	}
	must(r.ID != "" && r.Attempt > 0 && r.Analysis.ID == r.ID, "id %q, attempt %d, of the request %q", r.ID, r.Attempt, r.Analysis.ID)
	must(r.Host != "" && r.BootID != "" && r.ToolVersion != "", "host %q, boot %q, version %q", r.Host, r.BootID, r.ToolVersion)
	if r.StartedAt != nil && (r.State != "lost" || len(r.Enforced) > 0) { // of a killed launcher's nothing else is known
		wrong = append(wrong, r.checkSandbox()...)
	}
	return wrong
}

// checkRootfs checks the fields about the root filesystem: only an image has digests.
func (r result) checkRootfs() (wrong []error) {
	s := r.Sandbox
	image := s.Rootfs != "host" && !strings.HasPrefix(s.Rootfs, "/")
	if (s.Reference != nil) != image || s.Reference != nil && *s.Reference == "" {
		wrong = append(wrong, fmt.Errorf("rootfs_reference of the root filesystem %q: %v", s.Rootfs, s.Reference))
	}
	// The root of a run that ended before the check of its root is not verified.
	if vouched := s.RootfsDigest != nil; vouched && !image || !vouched && image && (r.State == "complete" || r.State == "failed") {
		wrong = append(wrong, fmt.Errorf("%s on the root filesystem %q: rootfs_digest %v", r.State, s.Rootfs, s.RootfsDigest))
	}
	for name, value := range map[string]*string{"rootfs_digest": s.RootfsDigest, "packages_digest": s.Packages} {
		if value != nil && !digestForm.MatchString(strings.TrimPrefix(*value, "sha256:")) {
			wrong = append(wrong, fmt.Errorf("%s %q is no digest", name, *value))
		}
	}
	return wrong
}

// checkSandbox checks the promises about every run that executed its first instruction.
func (r result) checkSandbox() (wrong []error) {
	s := r.Sandbox
	if !s.UserNamespace || s.Network != "none" || s.Seccomp != "enforced" || s.Rootfs != r.Analysis.Rootfs || s.UIDOnHost <= 0 {
		wrong = append(wrong, fmt.Errorf("sandbox %+v", s))
	}
	wrong = append(wrong, r.checkRootfs()...)
	if theHost.bin != "" && (s.IDs == "range") != theHost.ranged && r.Analysis.IDs != "self" {
		wrong = append(wrong, fmt.Errorf("ids %q", s.IDs))
	}
	if s.Landlock != 0 && s.Landlock != kernelLandlock() { // 0: also of earlier versions
		wrong = append(wrong, fmt.Errorf("landlock %d", s.Landlock))
	}
	if s.SocketWall != "" && s.SocketWall != "overlay" && s.SocketWall != "scan" {
		wrong = append(wrong, fmt.Errorf("socket_wall %q", s.SocketWall))
	}
	wrong = append(wrong, r.checkSeries()...)
	if limit := r.Evidence.OOMLimit; (limit != nil) != (r.Evidence.OOMKills > 0) ||
		limit != nil && (!slices.Contains([]string{"cgroup", "outer", "either", "unknown"}, limit.By) || (limit.Bytes > 0) != (limit.By == "cgroup" || limit.By == "outer")) {
		wrong = append(wrong, fmt.Errorf("%d kills, oom_limit %+v", r.Evidence.OOMKills, limit))
	}
	for _, name := range []string{"memory", "cpus", "pids", "timeout", "log_size", "tmp", "work_size", "work_files"} {
		if !slices.ContainsFunc(r.Enforced, func(e enforcement) bool { return e.Limit == name && e.Asked != "" && e.By != "" }) {
			wrong = append(wrong, fmt.Errorf("enforced says nothing about %s", name))
		}
	}
	return wrong
}

// checkSeries checks the promises about the series: bounded, in order, ended by the end, with the peaks in it.
func (r result) checkSeries() (wrong []error) {
	s, u := r.Series, r.Usage
	if s == nil || len(s.TMS) == 0 {
		return []error{errors.New("a run that began has no series")}
	}
	n := len(s.TMS)
	if n > 241 || len(s.MemoryBytes) != n || len(s.CPUMS) != n || len(s.Pids) != n || !slices.IsSorted(s.TMS) || !slices.IsSorted(s.CPUMS) {
		wrong = append(wrong, fmt.Errorf("series %+v", s))
	}
	if s.Source != "cgroup" && (s.Source != "processes" || r.enforcement("memory").By == "cgroup" || len(u.Sampled) < 2) {
		wrong = append(wrong, fmt.Errorf("series from %q, sampled %q", s.Source, u.Sampled))
	}
	if slices.Max(s.MemoryBytes) != u.MemoryPeakBytes || slices.Max(s.Pids) != u.PidsPeak || s.TMS[n-1] != u.WallMS {
		wrong = append(wrong, fmt.Errorf("series %+v with usage %+v", s, u))
	}
	return wrong
}

// enforcement returns what held a limit.
func (r result) enforcement(limit string) enforcement {
	i := slices.IndexFunc(r.Enforced, func(e enforcement) bool { return e.Limit == limit })
	if i < 0 {
		return enforcement{}
	}
	return r.Enforced[i]
}

// output returns the output of that path, or the zero output.
func (r result) output(path string) output {
	i := slices.IndexFunc(r.Outputs, func(o output) bool { return o.Path == path })
	if i < 0 {
		return output{}
	}
	return r.Outputs[i]
}

// paths are the paths of the outputs.
func (r result) paths() []string {
	list := []string{}
	for _, o := range r.Outputs {
		list = append(list, o.Path)
	}
	return list
}

// lookUp returns the value at a path such as outputs.0.path, text as it is and all else as JSON.
func lookUp(document []byte, path string) (string, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	for key := range strings.SplitSeq(path, ".") {
		switch at := value.(type) {
		case map[string]any:
			item, ok := at[key]
			if !ok {
				return "", fmt.Errorf("%s: there is no %q", path, key)
			}
			value = item
		case []any:
			if key == "len" {
				value = len(at)
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return "", fmt.Errorf("%s: there is no item %q among %d", path, key, len(at))
			}
			value = at[i]
		default:
			return "", fmt.Errorf("%s: nothing is below %v", path, at)
		}
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	raw, err := json.Marshal(value)
	return string(raw), err
}
