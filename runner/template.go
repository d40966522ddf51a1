package runner

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/fontlist"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

// templateOf is the analysis of a template for others: what they share, and neither inputs nor outputs.
func templateOf(a spec.Analysis) spec.Analysis {
	return spec.Analysis{
		Rootfs: a.Rootfs, Runtime: a.Runtime, Script: a.Script, Env: a.Env, Secrets: a.Secrets, Preload: a.Preload,
		IDs: a.IDs, Limits: a.Limits, Memory: a.Memory, CPUs: a.CPUs, Pids: a.Pids, Deterministic: a.Deterministic,
		Data: spec.None, Docs: spec.None,
	}
}

// mayFork reports whether analyses like this one could be forked from a template, as far as the request says.
func mayFork(a spec.Analysis) bool {
	return a.Script != "" && a.Project == "" && a.Warm != spec.None && a.Preload != spec.None && a.Limits != spec.LimitsOuter && a.Workdir == "" && !a.Requests()
}

// TemplateKind is the same for analyses that one template may serve, as far as their requests say; empty where none can. A script that only
// its first line makes one of Python is not known here.
func TemplateKind(a spec.Analysis) string {
	command, err := spec.Interpreter(a.Script, "")
	if err != nil || len(command) != 1 || preload.Python(command) == "" || !mayFork(a) {
		return ""
	}
	return kindName("", a)
}

// likeTemplate reports whether the template of the run's supervisor is one for it.
func (r *run) likeTemplate() bool {
	want := r.task.Request.Template
	if want == "" || r.task.Request.Terminal != nil {
		return false
	}
	got, err := r.templateKey()
	return err == nil && got == want
}

// templateKey is what a template was made for: two runs with the same key may be forked from one. Of the script it has the content
// as it was when the run opened it.
func (r *run) templateKey() (string, error) {
	p := r.task.Plan
	if p.Inputs.Script == nil || p.Inputs.Script.Alone == nil {
		return "", errors.New("a project may have modules of its own")
	}
	script := sha256.New()
	if _, err := io.Copy(script, io.NewSectionReader(p.Inputs.Script.File, 0, 1<<40)); err != nil {
		return "", err
	}
	a := templateOf(p.Analysis)
	a.Script = p.Inputs.Script.Inside
	text, err := json.Marshal(struct {
		Analysis spec.Analysis
		Places   fontlist.Places
		Script   string
		Audit    bool
	}{a, placesOf(p), hex.EncodeToString(script.Sum(nil)), p.Audit})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// serveTemplate runs a template until stop says so or it ends by itself. ready is called when analyses with a key can be forked from it,
// or with an empty key when none can.
func serveTemplate(ctx context.Context, host *phase.Host, req request.Request, pool *standby.Pool, ready func(key string)) error {
	req.Analysis.ID = "template-" + strings.ToLower(rand.Text()[:12])
	launched, err := pool.Begin(req.Analysis.Limits)
	if err != nil {
		return err
	}
	_, err = aside(ctx, host, req, launched, func(r *run) error { return r.becomeTemplate(ctx, ready) })
	return err
}

// becomeTemplate makes the template of a plan.
func (r *run) becomeTemplate(ctx context.Context, ready func(key string)) error {
	p := r.task.Plan
	key, err := r.templateKey()
	if err != nil {
		return err
	}
	env, err := p.Environment()
	if err != nil {
		return err
	}
	if why := preload.Obstacle(p.Analysis, p.Command, p.Inputs.Script.Inside, p.Inputs.Script.File, env); why != "" {
		return errors.New(why)
	}
	files, err := preload.TemplateFiles()
	if err != nil {
		return err
	}
	r.addFonts(ctx)
	p.Extra.Template, p.Extra.Ahead, p.Extra.Script = true, preload.TemplateVariables(p.Analysis.Preload), preload.Script
	p.Tree.Files = slices.Concat(p.Tree.Files, files)
	r.task.Serve = func(start result.Start) {
		if start.Kind != result.StartReady {
			r.host.Log.Debug("nothing is forked from a template", "reason", start.Reason)
			key = ""
		}
		ready(key)
	}
	return nil
}
